// A process of its own that asks for short texts at both doors, one after the other, until it is told to end, and says
// how long each pair of requests took; whatever is not as it should be ends it with an error:
//     node steady-caller.ts URL GRPC-TARGET KEY
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { openGrpcClient } from '../rpc/grpc-client.ts';

const [url, target, key] = process.argv.slice(2) as [string, string, string];
const client = openGrpcClient(SpeechService, target);
const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
for (let n = 0; ; n++) {
  const since = performance.now();
  const text = `Good morning, number ${n}.`;
  const body = JSON.stringify({ voice_id: 'arthur', text, return_format: 'buffer' });
  const answer = await fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body });
  const { byteLength } = await answer.arrayBuffer();
  if (answer.status !== 200 || byteLength < 10_000) throw new Error(`${answer.status}, ${byteLength} bytes`);
  const metadata = { 'x-api-key': key };
  const reply = await client.unary('synthesizeSpeech', { voiceId: 'arthur', text: `${text} Again.` }, { metadata });
  if (reply.audio.case !== 'audioUrl') throw new Error('no link');
  writeSync(1, `${performance.now() - since}\n`);
  await sleep(50);
}

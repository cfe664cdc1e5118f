// Runs as a process that requests short texts over HTTP and gRPC, one after the other, until it is stopped, and /healthz
// ten times a second. Reports how long each pair of requests took, how often it was refused for overload, and the
// longest wait for /healthz since the previous pair. Any other failure stops the process with an error:
// node steady-caller.ts URL GRPC-TARGET KEY
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { openGrpcClient } from '../transports/rpc/grpc-client.ts';

const [url, target, key] = process.argv.slice(2) as [string, string, string];
const client = openGrpcClient(SpeechService, target);
/** Each request over HTTP opens a connection, as that of a new client does. */
const connection = { connection: 'close' };
const headers = { ...connection, 'X-API-Key': key, 'Content-Type': 'application/json' };
/** Retries after the requested wait if the service is overloaded. */
async function untilServed<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const served = await ask();
    if (served !== undefined) return served;
    refused++;
    await sleep(1000);
  }
}

let healthMs = 0;
async function probeHealth(): Promise<never> {
  for (;;) {
    const since = performance.now();
    await (await fetch(`${url}/healthz`, { headers: connection })).arrayBuffer();
    healthMs = Math.max(healthMs, performance.now() - since);
    await sleep(100);
  }
}
void probeHealth();

let refused = 0;
for (let n = 0; ; n++) {
  refused = 0;
  const since = performance.now();
  const text = `Good morning, number ${n}.`;
  const body = JSON.stringify({ voice_id: 'arthur', text, return_format: 'buffer' });
  await untilServed(async () => {
    const answer = await fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body });
    const { byteLength } = await answer.arrayBuffer();
    if (answer.status === 503) return undefined;
    if (answer.status !== 200 || byteLength < 10_000) throw new Error(`${answer.status}, ${byteLength} bytes`);
    return byteLength;
  });
  const metadata = { 'x-api-key': key };
  const wanted = { voiceId: 'arthur', text: `${text} Again.` };
  const reply = await untilServed(() =>
    client.unary('synthesizeSpeech', wanted, { metadata }).catch((error: unknown) => {
      if ((error as { code?: unknown }).code === status.UNAVAILABLE) return undefined;
      throw error;
    }),
  );
  if (reply.audio.case !== 'audioUrl') throw new Error('no link');
  writeSync(1, `${performance.now() - since} ${refused} ${healthMs}\n`);
  healthMs = 0;
  // Stays below the usual limit of 600 requests a minute, however fast the service answers.
  await sleep(250);
}

// Tests a key that is revoked while its streams run: each of them is cut within moments, with the reason if its
// protocol can state it.
import { expect, test } from 'vitest';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { explain, failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';
import { readEvents } from './event-reader.ts';
import { openTestGateway } from './open-gateway.ts';

const sse = '/api/audio/speech/sse';
/** Minutes of audio, one piece at a time. */
const chunks = { text_chunks: Array(50).fill('one two three four five six seven eight'), voice_id: 'tone-low' };

test('revoking a key ends every stream of that key, over REST, SSE and gRPC, and no other stream', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 20 } });
  const { key, apiKey } = await gateway.keyVerifier.create({});
  const headers = { 'X-API-Key': key };
  const client = (await openCore(gateway)).clientOf(SpeechService);

  const rest = await gateway.speak({ ...chunks, method: 'streaming' }, { headers });
  const events = await gateway.send(sse, { body: chunks, headers });
  const ticket = (await (await gateway.send(`${sse}/tickets`, { body: chunks, headers })).json()) as {
    sse_url: string;
  };
  const ticketed = await fetch(gateway.here(ticket.sse_url));
  const others = await gateway.speak({ ...chunks, method: 'streaming' });
  const request = { voiceId: 'tone-low', textChunks: chunks.text_chunks };
  const stream = client.stream('streamSpeech', request, { metadata: { 'x-api-key': key } });
  const grpcEnd = failureOf(new Promise((_, reject) => stream.on('data', () => {}).on('error', reject)));

  await gateway.keyVerifier.revoke(apiKey.keyId);
  await expect(rest.arrayBuffer()).rejects.toThrow();
  for (const answer of [events, ticketed]) {
    expect((await readEvents(answer)).at(-1)).toMatchObject({
      event: 'error',
      data: { error: 'invalid_api_key', status: 401, retryable: false },
    });
  }
  expect(explain(await grpcEnd)).toMatchObject({ code: 'UNAUTHENTICATED', info: { reason: 'INVALID_API_KEY' } });
  expect(gateway.schedule.state.speaking).toBe(1);
  const resumed = await fetch(gateway.here(ticket.sse_url), {
    headers: { 'Last-Event-ID': `${ticketed.headers.get('X-Audio-Id')}:0` },
  });
  expect([resumed.status, await resumed.json()]).toMatchObject([401, { error: 'invalid_api_key' }]);
  await others.body!.cancel();
});

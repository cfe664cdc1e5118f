// Tests the caller's own deadline: a call that would not begin in time is refused at once with a retry time; a call
// without a deadline waits.
import { expect, test } from 'vitest';
import { openTestGateway } from './open-gateway.ts';

const path = '/sonant.v1.SpeechService/SynthesizeSpeech';
const body = { voiceId: 'tone-low', text: 'Soon.' };

test('a call that cannot begin by its deadline is refused at once, others wait', async () => {
  const gateway = await openTestGateway({ speakingMax: 1, trouble: { pieceDelayMs: 20 } });
  const chunks = Array(3).fill('a text that takes its time to be spoken to the end ');
  const first = await gateway.speak({ text_chunks: chunks, method: 'streaming' });
  expect(gateway.schedule.state.speaking).toBe(1);
  const headers = { 'connect-timeout-ms': '600' };
  const refused = await gateway.send(path, { body, headers });
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await refused.json()).toMatchObject({ code: 'unavailable' });
  expect(gateway.calls.at(-1)).toMatchObject({ failure: { reason: 'overloaded' } });
  const patient = gateway.send(path, { body, headers: { 'connect-timeout-ms': '60000' } });
  const plain = gateway.send(path, { body });
  await expect.poll(() => gateway.schedule.state.waiting.interactive).toBe(2);
  await first.arrayBuffer();
  expect([(await patient).status, (await plain).status]).toEqual([200, 200]);
});

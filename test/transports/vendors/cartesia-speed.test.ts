// Tests the speeds that Cartesia clients send: a factor, or the older scale from -1 to 1 with its five names.
import { afterAll, expect, test } from 'vitest';
import { openTestGateway } from '../http/open-gateway.ts';

const gateway = await openTestGateway({}, afterAll);

const speak = (controls: object | undefined, more: object = {}) =>
  fetch(`${gateway.url}/tts/bytes`, {
    method: 'POST',
    headers: { 'X-API-Key': gateway.key, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      transcript: 'One and the same.',
      voice: { mode: 'id', id: 'tone-low', ...(controls && { __experimental_controls: controls }) },
      output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 },
      ...more,
    }),
  });

const soundOf = async (answer: Response) => {
  expect(answer.status, await answer.clone().text()).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
};

test.each<[unknown, number]>([
  [-1, 0.6],
  [-0.5, 0.8],
  [0, 1],
  [0.25, 1.1],
  [1, 1.4],
  [-3, 0.6],
  [2, 1.4],
  ['slowest', 0.6],
  ['slow', 0.8],
  ['normal', 1],
  ['fast', 1.2],
  ['fastest', 1.4],
  [null, 1],
])('the experimental speed %j is %d times the normal one', async (speed, factor) => {
  const asked = await soundOf(await speak({ speed }));
  const exact = await soundOf(await speak(undefined, { generation_config: { speed: factor } }));
  expect(asked.equals(exact)).toBe(true);
});

test.each([['quick'], ['toString'], [[0]], [true]])(
  'the experimental speed %j is refused by its name',
  async (speed) => {
    const answer = await speak({ speed });
    const message = expect.stringMatching(
      /^voice\.__experimental_controls\.speed must be a number, or one of slowest, /,
    );
    expect([answer.status, await answer.json()]).toMatchObject([400, { error_code: 'invalid_request', message }]);
  },
);

test.each(['speed', 'generation_config'])('the words of LiveKit’s plugin are speeds in %s too', async (member) => {
  for (const [word, factor] of Object.entries({ slowest: 0.6, fast: 1.2, fastest: 1.4 })) {
    const named = await soundOf(await speak(undefined, { [member]: member === 'speed' ? word : { speed: word } }));
    const exact = await soundOf(await speak(undefined, { generation_config: { speed: factor } }));
    expect(named.equals(exact), word).toBe(true);
  }
});

test('newer speeds keep their scale and go before the experimental one', async () => {
  const fast = await soundOf(await speak({ speed: -1 }, { speed: 'fast' }));
  const factor = await soundOf(await speak({ speed: -1 }, { speed: 1.2 }));
  const exact = await soundOf(await speak(undefined, { generation_config: { speed: 1.2 } }));
  expect([fast.equals(exact), factor.equals(exact)]).toEqual([true, true]);
});

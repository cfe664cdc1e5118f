// Tests the tags that texts for Cartesia's and ElevenLabs' APIs contain.
import { afterAll, expect, test } from 'vitest';
import { bytesOf, openTestGateway } from '../http/open-gateway.ts';

const gateway = await openTestGateway({}, afterAll);
const samplesPerSecond = 16_000;

const ask = (path: string, body: object) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'X-API-Key': gateway.key, 'xi-api-key': gateway.key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const vendors = {
  Cartesia: (transcript: string) =>
    ask('/tts/bytes', {
      transcript,
      voice: { mode: 'id', id: 'tone-low' },
      output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: samplesPerSecond },
    }),
  ElevenLabs: (text: string) => ask('/v1/text-to-speech/tone-low?output_format=pcm_16000', { text }),
};

test.each(Object.entries(vendors))('%s: a break is silence, and is not spoken', async (_, speak) => {
  const secondsOf = async (text: string) => {
    const answer = await speak(text);
    expect(answer.status, await answer.clone().text()).toBe(200);
    return (await bytesOf(answer)).length / 2 / samplesPerSecond;
  };
  const plain = await secondsOf('One two three. Four.');
  const paused = await secondsOf('One two three.<break time="1.5s" /> Four.');
  expect(paused - plain).toBeGreaterThan(0.9);
  expect(paused - plain).toBeLessThan(1.6);
});

test.each(Object.entries(vendors))('%s: a break that is too long is refused', async (_, speak) => {
  const answer = await speak('One.<break time="21s"/> Two.');
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('at most 20 s')]);
});

test('Cartesia: the words of spelled and pronounced text are words', async () => {
  const answer = await ask('/tts/sse', {
    transcript: 'Gate <spell>A4</spell>, I <<m|ɛ|t>> her.',
    voice: { mode: 'id', id: 'tone-low' },
    output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: samplesPerSecond },
    add_timestamps: true,
  });
  const events = (await answer.text()).matchAll(/^data: (.*)$/gm);
  const words = [...events].flatMap(([, data]) => JSON.parse(data!).word_timestamps?.words ?? []);
  expect(words).toEqual(['Gate', 'A4,', 'I', 'mɛt', 'her.']);
});

test.each(Object.entries(vendors))(
  '%s: tags for how to speak are not spoken; other words in brackets are',
  async (_, speak) => {
    const [plain, tagged, bracketed] = await Promise.all(
      ['Two words.', '[Whispers] Two [clears throat] words.', 'Two [more] words.'].map(
        async (text) => (await bytesOf(await speak(text))).length,
      ),
    );
    expect(Math.abs(tagged! - plain!)).toBeLessThan(0.2 * plain!);
    expect(bracketed!).toBeGreaterThan(1.2 * plain!);
  },
);

// Tests that the longest possible texts, in scripts of three and four bytes per letter and as one endless word, reach
// Google within its input limit of 5000 bytes, and that no text is lost.
import { afterAll, expect, test } from 'vitest';
import { segmentText } from '../../src/text/segment.ts';
import { openMisbehaving } from './open-misbehaving.ts';

const codePoints = 5_000;
const [english, mandarin] = ['en-US-Chirp3-HD-Charon', 'cmn-CN-Chirp3-HD-Kore'];
const count = <T>(each: (n: number) => T): T[] => Array.from({ length: codePoints }, (_, n) => each(n));
const emoji = ['😀', '🚀', '👋🏽', '👩‍👩‍👧‍👦', '🇪🇺'];
const letter = (n: number) => String.fromCharCode(97 + (n % 26));
const between = count((n) => `${letter(n)}${letter(n + 1)}${emoji[n % emoji.length]}`);

const service = await openMisbehaving(afterAll);
// A hum of the expected length; its content does not matter here.
const bytesPerChar = 0.08 * 24_000 * 2;
service.misbehave({ google: { sound: (text) => Buffer.alloc([...text].length * bytesPerChar, 50) } });
const send = async (voice_id: string, language_code: string, text: string) => {
  expect([...text].length).toBe(codePoints);
  service.cloud.calls.length = 0;
  const answer = await service.post('/api/audio/speech', { voice_id, language_code, text, return_format: 'buffer' });
  expect([answer.status, answer.headers.get('X-Chars')]).toEqual([200, `${codePoints}`]);
  await answer.arrayBuffer();
  return { warnings: answer.headers.get('X-Warnings'), inputs: service.cloud.calls.map(({ texts }) => texts) };
};

test.each([
  ['CJK', mandarin, 'zh-CN', count((n) => String.fromCodePoint(0x4e00 + n)).join('')],
  ['CJK of four bytes each', mandarin, 'zh-CN', count((n) => String.fromCodePoint(0x20000 + n)).join('')],
  ['emoji with letters between', english, 'en-US', [...between.join('')].slice(0, codePoints).join('')],
  ['one word', english, 'en-US', count(letter).join('')],
])('%s', async (_, voice, languageCode, text) => {
  const { inputs } = await send(voice!, languageCode, text);
  for (const input of inputs.flat()) expect(Buffer.byteLength(input)).toBeLessThanOrEqual(5_000);
  const { capabilities } = service.engines.find(({ name }) => name === 'google')!;
  const { segmentCharsMax, firstSegmentCharsMax: firstCharsMax = 0, readsNumbers } = capabilities;
  const cuts = segmentText(text, { languageCode, spellOut: !readsNumbers, segmentCharsMax, firstCharsMax });
  const meant = [...cuts].map((cut) => cut.text);
  // A hum is suspect as speech, so some segments are spoken again.
  expect([...new Set(inputs.map((pieces) => pieces.join('')))]).toEqual(meant);
  // The planned segments also contain every letter.
  const lettersOf = (said: string) => said.replace(/[^\p{L}]/gu, '');
  expect(lettersOf(meant.join(''))).toBe(lettersOf(text));
});

test('a text of only emoji is silence, without a request to Google', async () => {
  expect(await send(english!, 'en-US', '😀'.repeat(codePoints))).toEqual({ warnings: 'nothing_spoken', inputs: [] });
});

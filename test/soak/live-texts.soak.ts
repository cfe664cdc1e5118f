// Tests texts by language models; the embedded engine speaks up to 200 English texts, the tone engine the rest. Audio
// is the same in pieces as whole, and pauses lose, repeat or cut no word. Reports how much sooner audio starts.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LiveEvent } from '../../src/api/live-session.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { openLive, soundOf, speakPieces, wordsOf } from '../api/open-live.ts';
import { openTone } from '../engines/tone-engine.ts';
import { modelTexts, toPieces } from '../model-texts.ts';
import { canRecognize, recognize, toWords, wordErrorRate } from '../recognizer.ts';
import { createRandom } from '../text/random-text.ts';
import { medianAndWorst } from './open-service.ts';

/** Characters that a fast language model writes per second. */
const charsPerSecond = 250;
const pauseMs = 120;
const bufferMs = 40;
const sampleCount = 20;

const languageCodes = [...new Set(modelTexts.map((text) => text.languageCode))];
const { COUNT = '200' } = process.env;
/** Texts for the embedded engine; the tone engine speaks the other texts. */
const own = new Set(modelTexts.filter(({ languageCode }) => languageCode === 'en').slice(0, Number(COUNT)));
const tone = openTone({ sampleRateHz: 8_000, languageCodes, capabilities: { readsNumbers: false } });
const start = { sample_rate: 16_000, timestamps: 'word', buffer_ms: 10_000 };

let engine: Engine;
let spokenBy: (text: (typeof modelTexts)[number]) => { live: ReturnType<typeof openLive>; fields: object };
beforeAll(async () => {
  engine = await openFlite({ threads: 2 });
  const [embedded, other] = [openLive(engine), openLive(tone)];
  spokenBy = (text) =>
    own.has(text)
      ? { live: embedded, fields: { ...start, voice_id: 'clara' } }
      : { live: other, fields: { ...start, voice_id: 'tone-low', language_code: text.languageCode } };
});
afterAll(async () => {
  await engine.close();
  await tone.close();
});

test('in pieces without pauses', async () => {
  const random = createRandom(11);
  let equal = 0;
  for (const given of modelTexts) {
    const { live, fields } = spokenBy(given);
    const whole = soundOf(await speakPieces(live, fields, [given.text]));
    if (soundOf(await speakPieces(live, fields, toPieces(given.text, random))).equals(whole)) equal++;
  }
  console.log(
    `${equal} of ${modelTexts.length} texts sound in pieces of 1 to 40 characters as they do whole, byte for byte ` +
      `(${own.size} by the embedded engine, ${modelTexts.length - own.size} by the tone engine)`,
  );
  expect(equal).toBe(modelTexts.length);
});

interface Said {
  isOwn: boolean;
  text: string;
  whole: readonly LiveEvent[];
  paused: readonly LiveEvent[];
  earlierMs: number;
  firstMs: number;
}

test('with pauses', async () => {
  const random = createRandom(12);
  const said: Said[] = [];
  const queue = [...modelTexts];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) said.push(await speakPaused(next, random));
  };
  await Promise.all(Array.from({ length: 8 }, work));
  const wrong = said.filter(({ whole, paused }) => placesOf(paused).join('\n') !== placesOf(whole).join('\n'));
  const early = said.filter(({ whole, paused }) => !soundOf(paused).equals(soundOf(whole)));
  const earlier = medianAndWorst(said.map(({ earlierMs }) => earlierMs));
  console.log(
    `${said.length - wrong.length} of ${said.length} texts with pauses have every word once, whole and in its place; ` +
      `${early.length} of them were spoken before their end in other parts than whole. Written at ${charsPerSecond} characters ` +
      `a second, the first sound came ${Math.round(earlier.median)} ms (median) before that of a client which waits for the ` +
      `end, at most ${Math.round(earlier.worst)} ms; ${Math.round(medianAndWorst(said.map(({ firstMs }) => firstMs)).median)} ms ` +
      'after the first character',
  );
  for (const { text, whole, paused } of wrong)
    console.log(text, '\n', placesOf(whole).join(', '), '\n', placesOf(paused).join(', '));
  // In xe.com, a letter follows the full stop; a pause after the stop ends a sentence, so such texts may differ.
  expect(wrong.filter(({ text }) => !/[.!]\p{L}/u.test(text))).toEqual([]);
  if (!canRecognize()) return;
  const heardBest = said.filter(({ isOwn, text }) => isOwn && /^[A-Za-z ,.;:!?'"-]+$/.test(text) && text.length > 60);
  const sample = heardBest.filter((each) => early.includes(each)).slice(0, sampleCount);
  const toSound = (events: readonly LiveEvent[]) =>
    ({ format: 'pcm', sampleRateHz: 16_000, bytes: soundOf(events) }) as const;
  const heard = await recognize(sample.flatMap(({ whole, paused }) => [toSound(whole), toSound(paused)]));
  const texts = sample.map(({ text }) => text);
  const rate = (n: number) =>
    wordErrorRate(
      texts,
      heard.filter((_, i) => i % 2 === n),
    );
  const count = texts.flatMap(toWords).length;
  console.log(
    `${sample.length} texts, ${count} words, to a recognizer: ${(100 * rate(0)).toFixed(1)} % of the words are missed whole, ` +
      `${(100 * rate(1)).toFixed(1)} % with pauses`,
  );
  expect(rate(1)).toBeLessThan(rate(0) + 0.15);
});

/**
 * A word that is split across segments is reported once for each segment. A final full stop is dropped, because an
 * abbreviation and the end of a sentence sound alike.
 */
const placesOf = (events: readonly LiveEvent[]) => [
  ...new Set(wordsOf(events).map(({ offset, text }) => `${offset} ${text.replace(/\.$/, '')}`)),
];

async function speakPaused(given: (typeof modelTexts)[number], random: () => number): Promise<Said> {
  const { text } = given;
  const { live, fields } = spokenBy(given);
  const first = async (speaking: (begun: number) => Promise<[LiveEvent[], number]>) => speaking(performance.now());
  const [whole, wholeFirstMs] = await first((begun) => readTimed(live, fields, [text], begun));
  let writtenMs = 0;
  const [paused, firstMs] = await first((begun) =>
    readTimed(live, { ...fields, buffer_ms: bufferMs }, toPieces(text, random), begun, async (piece) => {
      await sleep((1000 * piece.length) / charsPerSecond);
      if (random() < 0.3) await sleep(pauseMs);
      writtenMs = performance.now() - begun;
    }),
  );
  return { isOwn: own.has(given), text, whole, paused, firstMs, earlierMs: writtenMs + wholeFirstMs - firstMs };
}

/** The events, and the delay of the first audio. */
async function readTimed(
  live: ReturnType<typeof openLive>,
  fields: object,
  pieces: readonly string[],
  begunMs: number,
  pause?: (piece: string) => Promise<void>,
): Promise<[LiveEvent[], number]> {
  const { inputs, events, say } = live.begin(fields);
  let firstMs: number | undefined;
  const seen: LiveEvent[] = [];
  const read = async () => {
    for await (const event of events) {
      if (event.type === 'audio') firstMs ??= performance.now() - begunMs;
      seen.push(event);
    }
  };
  const write = async () => {
    for (const piece of pieces) {
      say(piece);
      await pause?.(piece);
    }
    inputs.push({ type: 'end' });
  };
  await Promise.all([read(), write()]);
  return [seen, firstMs ?? 0];
}

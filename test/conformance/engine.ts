// Tests any engine, in its guard, against the contract in src/engines/engine.ts. The whole test of an engine is
// engineConformance('tone', async () => openTone()). If `open` returns undefined because the engine is not installed,
// the tests are skipped. Time limits only stop hanging tests; they do not test speed.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { gainDbMax, measureLoudness, targetLoudnessLufs } from '../../src/audio/loudness.ts';
import type { Engine, Segment, SpokenPcm, Voice, WordTime } from '../../src/engines/engine.ts';
import { Failure } from '../../src/platform/errors.ts';
import { join, type Pcm, secondsOf } from '../../src/platform/pcm.ts';
import { type OpenedGuard, openGuard } from '../engines/open-guard.ts';
import { blendingConformance } from './blending.ts';
import { oddTexts } from './odd-texts.ts';

export interface EngineConformanceOptions {
  /** Name of the missing requirement, printed if `open` finds nothing. */
  needs?: string;
}

/** Longest time between an abort and its effect. The contract allows 50 ms; a busy machine takes longer. */
const abortMsMax = 2_000;
const testMsMax = 60_000;
/** No text may produce more audio than this. */
const soundSecondsMax = 240;
const engineReasons = ['engine_error', 'engine_timeout', 'engine_unavailable'];

const shortText = 'Good morning.';
const longText = 'The boat left the harbour early, long before the sun came up. Nobody on the quay had seen it go.';

/** A sentence for each tested language. An engine must speak at least one of these languages. */
const sentences: Readonly<Record<string, string>> = {
  de: 'Das Schiff verließ den Hafen früh am Morgen, lange bevor die Sonne aufging.',
  en: 'The boat left the harbour early in the morning, long before the sun came up.',
  es: 'El barco salió del puerto muy temprano, mucho antes de que saliera el sol.',
  fr: 'Le bateau a quitté le port tôt le matin, bien avant le lever du soleil.',
  it: 'La barca lasciò il porto la mattina presto, molto prima che sorgesse il sole.',
  ja: 'ふねは、ひがのぼるずっとまえに、みなとをでました。',
  nl: 'De boot verliet de haven vroeg in de ochtend, lang voordat de zon opkwam.',
  pl: 'Łódź opuściła port wcześnie rano, na długo przed wschodem słońca.',
  pt: 'O barco deixou o porto de manhã cedo, muito antes do nascer do sol.',
  ru: 'Лодка вышла из гавани рано утром, задолго до восхода солнца.',
  zh: '天还没亮，那条船就早早地离开了港口。',
};

const bareLanguage = (languageCode: string): string => new Intl.Locale(languageCode).language;

interface Heard extends Pcm {
  words: readonly WordTime[];
}

/** Collects the audio of a segment, and checks each piece as it arrives. */
async function hear(pieces: AsyncIterable<SpokenPcm>): Promise<Heard> {
  const heard: Int16Array[] = [];
  const words: WordTime[] = [];
  let sampleRateHz: number | undefined;
  let seconds = 0;
  for await (const piece of pieces) {
    expect(piece.samples).toBeInstanceOf(Int16Array);
    expect(piece.sampleRateHz).toBe(sampleRateHz ?? piece.sampleRateHz);
    sampleRateHz = piece.sampleRateHz;
    heard.push(piece.samples.slice());
    words.push(...(piece.words ?? []));
    seconds += secondsOf(piece);
    expect(seconds, 'seconds of sound').toBeLessThan(soundSecondsMax);
  }
  return { samples: join(Int16Array, heard), sampleRateHz: sampleRateHz ?? 0, words };
}

/** Opens the engine in its guard, as in the service, but without vendor limits. */
function guardOf(engine: Engine): OpenedGuard {
  const { segmentsPerMinute: _, cloneSegmentsPerMinute: __, ...capabilities } = engine.capabilities;
  return openGuard({ ...engine, capabilities });
}

const peakOf = (pcm: Pcm): number => pcm.samples.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0);

/** Reads until the audio is complete or fails. Returns the error, or undefined. */
async function refusalOf(pieces: AsyncIterable<SpokenPcm>): Promise<unknown> {
  try {
    for await (const _ of pieces);
    return undefined;
  } catch (error) {
    return error;
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing happened within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** The slowest, the fastest and some rates in between, including 1. */
const ratesOf = ({ min, max }: { min: number; max: number }): number[] => {
  const between = [0.4, 0.5, 0.75, 0.9, 1, 1.15, 1.4, 1.7, 2.2, 3].filter((rate) => rate > min && rate < max);
  return [...new Set([min, ...between, 1, max])];
};

export function engineConformance(
  name: string,
  open: () => Promise<Engine | undefined>,
  { needs = 'the engine' }: EngineConformanceOptions = {},
): void {
  describe(`the ${name} engine meets the contract`, { timeout: testMsMax }, () => {
    let engine: Engine;
    let guard: OpenedGuard;
    let voice: Voice;

    beforeAll(async () => {
      const opened = await open();
      if (!opened) return;
      engine = opened;
      guard = guardOf(engine);
      voice = engine.voices.find(({ languageCodes }) => languageCodes.includes('en')) ?? engine.voices[0]!;
    });
    beforeEach((context) => context.skip(engine === undefined, `${needs} was not found`));
    afterAll(() => guard?.close());

    const segment = (text: string, asked: Partial<Segment> = {}): Segment => {
      const speaker = asked.voice ?? voice;
      const languageCode = speaker.languageCodes[0]!;
      return { voice: speaker, text, languageCode, speakingRate: 1, timings: false, urgent: false, ...asked };
    };
    const speak = (text: string, asked?: Partial<Segment>, signal = new AbortController().signal) =>
      guard.speak(segment(text, asked), 'conformance', signal);
    const say = async (text: string, asked?: Partial<Segment>) => hear(speak(text, asked));

    const expectSame = (heard: Heard, before: Heard) => {
      expect(Buffer.from(heard.samples.buffer).equals(Buffer.from(before.samples.buffer))).toBe(true);
    };

    test('declares what it is, what it can do and who speaks', () => {
      const { speakingRates, segmentCharsMax, segmentsAtOnce } = engine.capabilities;
      expect(engine.name).toMatch(/^[a-z][a-z0-9-]*$/);
      expect(speakingRates.min).toBeGreaterThan(0);
      expect(speakingRates.min).toBeLessThanOrEqual(1);
      expect(speakingRates.max).toBeGreaterThanOrEqual(1);
      expect(Number.isInteger(segmentCharsMax) && segmentCharsMax >= 40).toBe(true);
      expect(Number.isInteger(segmentsAtOnce) && segmentsAtOnce >= 1).toBe(true);
      expect(engine.voices.length).toBeGreaterThan(0);
      expect(new Set(engine.voices.map(({ voiceId }) => voiceId)).size).toBe(engine.voices.length);
      for (const { voiceId, name: spokenOf, languageCodes, ...rest } of engine.voices) {
        expect(voiceId).toMatch(/^[\x21-\x7e]{1,128}$/);
        expect(spokenOf.trim()).not.toBe('');
        expect(rest.engine).toBe(engine.name);
        expect(languageCodes.length).toBeGreaterThan(0);
        expect(Intl.getCanonicalLocales(languageCodes), 'each once, in canonical form').toEqual(languageCodes);
        expect(Math.abs(rest.gainDb)).toBeLessThanOrEqual(gainDbMax);
        for (const label of Object.values(rest.labels)) expect(label).toEqual(expect.any(String));
      }
    });

    test('says short and long text, as long as it wants, each in a plausible time', async () => {
      const longest = `${longText} `.repeat(9).slice(0, engine.capabilities.segmentCharsMax).trim();
      for (const text of [shortText, longText, longest]) {
        const heard = await say(text);
        const secondsPerWord = secondsOf(heard) / text.split(' ').length;
        expect(heard.sampleRateHz).toBeGreaterThanOrEqual(8_000);
        expect(secondsPerWord).toBeGreaterThan(0.15);
        expect(secondsPerWord).toBeLessThan(1.2);
      }
      expect(secondsOf(await say(longText))).toBeGreaterThan(2 * secondsOf(await say(shortText)));
    });

    test('every voice is audible, unclipped and at the target loudness after its gain', async () => {
      const sentenceFor = (each: Voice) => sentences[bareLanguage(each.languageCodes[0]!)];
      const voices = engine.voices.filter(sentenceFor);
      expect(voices.length, 'voices that speak a language of `sentences`').toBeGreaterThan(0);
      for (const each of voices) {
        const heard = await say(sentenceFor(each)!, { voice: each });
        expect(peakOf(heard), each.voiceId).toBeGreaterThan(1_000);
        expect(peakOf(heard), each.voiceId).toBeLessThan(32_767);
        const distance = measureLoudness(heard) + each.gainDb - targetLoudnessLufs;
        expect(Math.abs(distance), `${each.voiceId} is ${distance.toFixed(1)} LU off`).toBeLessThan(3);
      }
    });

    test('speaks at the requested rate, within 3 %', async () => {
      const atRateOne = secondsOf(await say(longText));
      for (const speakingRate of ratesOf(engine.capabilities.speakingRates)) {
        const seconds = secondsOf(await say(longText, { speakingRate }));
        const real = atRateOne / seconds;
        expect(Math.abs(real / speakingRate - 1), `asked ${speakingRate}, got ${real.toFixed(3)}`).toBeLessThan(0.03);
      }
    });

    test('reports word times only where they are requested and supported', async () => {
      expect((await say(longText)).words).toEqual([]);
      const { words, ...pcm } = await say(longText, { timings: true });
      if (!engine.capabilities.timings) return expect(words).toEqual([]);
      let before: WordTime = { from: 0, to: 0, startSeconds: 0, endSeconds: 0 };
      const covered = new Set<number>();
      for (const word of words) {
        expect(word.from).toBeGreaterThanOrEqual(before.to);
        expect(word.to).toBeGreaterThan(word.from);
        expect(word.startSeconds).toBeGreaterThanOrEqual(before.startSeconds);
        expect(word.endSeconds).toBeGreaterThan(word.startSeconds);
        for (let index = word.from; index < word.to; index++) covered.add(index);
        before = word;
      }
      expect(before.endSeconds).toBeLessThanOrEqual(secondsOf(pcm) + 0.001);
      const missed = [...longText.matchAll(/[\p{L}\p{N}]/gu)].filter(({ index }) => !covered.has(index));
      expect(missed.map(({ index }) => longText.slice(index - 5, index + 5))).toEqual([]);
    });

    test('a segment sounds the same twice, and each of twenty at once as it does alone', async () => {
      const texts = Array.from({ length: 20 }, (_, n) => `Boat number ${n} left ${'very '.repeat(n % 4)}early.`);
      const alone: Heard[] = [];
      for (const text of texts) alone.push(await say(text));
      const together = await Promise.all(texts.map((text, n) => say(text, { urgent: n % 3 === 0 })));
      for (const [n, heard] of together.entries()) expectSame(heard, alone[n]!);
    });

    test('an abort before the start, at work and between pieces throws its reason, and the next is right', async () => {
      const before = await say(longText);
      const reason = new Error('the caller left');
      const early = speak(longText, {}, AbortSignal.abort(reason));
      expect(await within(abortMsMax, refusalOf(early))).toBe(reason);

      const midway = new AbortController();
      const refusal = refusalOf(speak(longText, {}, midway.signal));
      midway.abort(reason);
      expect(await within(abortMsMax, refusal)).toBe(reason);

      const between = new AbortController();
      const pieces = speak(longText, {}, between.signal)[Symbol.asyncIterator]();
      expect((await pieces.next()).done).toBe(false);
      between.abort(reason);
      expect(await within(abortMsMax, refusalOf({ [Symbol.asyncIterator]: () => pieces }))).toBe(reason);
      expectSame(await say(longText), before);
    });

    test('aborting some of many leaves the others complete', async () => {
      const before = await say(longText);
      const leaving = new AbortController();
      const left = Array.from({ length: 6 }, () => refusalOf(speak(longText, {}, leaving.signal)));
      const stayed = Array.from({ length: 6 }, () => say(longText));
      setTimeout(() => leaving.abort('left'), 2);
      for (const heard of await Promise.all(stayed)) expectSame(heard, before);
      // A quick engine may have finished some segments before they were aborted.
      for (const refusal of await Promise.all(left)) expect(['left', undefined]).toContain(refusal);
    });

    test('a reader may leave early, or never begin', async () => {
      const before = await say(longText);
      for (let n = 0; n < 5; n++) {
        speak(longText);
        for await (const _ of speak(longText)) break;
      }
      expectSame(await within(testMsMax / 2, say(longText)), before);
    });

    blendingConformance(() => ({ engine, voice, say: (each) => say(longText, { voice: each }) }));

    describe('does no harm with odd text', () => {
      let before: Heard;
      beforeAll(async () => {
        if (engine) before = await say(shortText);
      });

      test.each(oddTexts)('%s', async (_, text) => {
        const failure = await say(text, { timings: true }).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure !== undefined && !(failure instanceof Failure)) throw failure;
        if (failure) expect(engineReasons).toContain(failure.reason);
      });

      test('and speaks on afterwards as before', async () => {
        expectSame(await say(shortText), before);
      });
    });

    test('closing ends running speech, may be repeated, and leaves the engine unavailable', async () => {
      const closing = guardOf((await open())!);
      const signal = new AbortController().signal;
      const running = Array.from({ length: 4 }, () =>
        refusalOf(closing.speak(segment(longText), 'conformance', signal)),
      );
      await within(testMsMax / 2, closing.close());
      await within(abortMsMax, closing.close());
      for (const refusal of await within(abortMsMax, Promise.all(running))) {
        if (refusal !== undefined) expect(refusal).toMatchObject({ reason: 'engine_unavailable' });
      }
      const refusal = await within(abortMsMax, refusalOf(closing.speak(segment(shortText), 'conformance', signal)));
      expect(refusal).toBeInstanceOf(Failure);
      expect(refusal).toMatchObject({ reason: 'engine_unavailable' });
    });
  });
}

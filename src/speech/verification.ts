// Has a recognizer hear whether speech says its text (`verify`). The recognizer is not trusted: it may be slow, dead or
// full, or answer with the words of another recording. Then a segment counts as not checked. Words that differ count
// only if the recognizer hears them twice in the same audio; repeated words also count if it hears them in two parts.
import { toFloat } from '../audio.ts';
import type { Listen, SpokenPcm } from '../engines.ts';
import { Failure } from '../platform/errors.ts';
import { joinPcm, secondsOf } from '../platform/pcm.ts';
import { CircuitBreaker } from '../platform/runtime/circuit-breaker.ts';
import { SlotQueue } from '../platform/runtime/slot-queue.ts';
import { compareWords } from '../text.ts';
import type { Transcribe } from './transcription.ts';

/** Returns a function that has segments heard for an account. */
export type Verifier = (owner: string) => Listen;

interface VerifierOptions {
  /** Largest number of transcriptions at once; an account gets at most half of them. */
  atOnceMax: number;
  /** Longest wait for a slot, and for an answer in addition to the length of the audio. Default: 10 s. */
  waitMsMax?: number;
}

/** The audio of waiting segments is kept in memory, as the engine gave it. */
const waitingMax = 64;
/** Longest pause that a recognizer gets when it asks for one. */
const restSecondsMax = 60;
/** Words beyond this length are not compared: a recognizer may repeat itself without end. */
const heardCharsMax = { start: 200, perChar: 2 };

export function createVerifier(transcribe: Transcribe, { atOnceMax, waitMsMax = 10_000 }: VerifierOptions): Verifier {
  const slots = new SlotQueue({ slotsMax: atOnceMax, waitingMax, isShared: true });
  /** One for each account, because a caller who sets short deadlines makes the recognizer fail. */
  const breakers = new Map<string, CircuitBreaker>();
  /** Time until which the recognizer asked not to be called. */
  let restUntilMs = 0;

  /** A part of a take, from one second to another. */
  type Part = { pieces: readonly SpokenPcm[]; languageCode: string; from: number; to: number };
  async function ask({ pieces, languageCode, from, to }: Part, owner: string, signal: AbortSignal, untilMs: number) {
    if (pieces.length === 0) throw new Error('nothing was spoken');
    const breaker = breakers.get(owner) ?? new CircuitBreaker();
    breakers.set(owner, breaker);
    // Waiting is useless while the breaker is open.
    breaker.check();
    if (performance.now() < restUntilMs) throw new Failure('overloaded');
    const leftMs = (ms: number) => Math.max(0, Math.min(ms, untilMs - performance.now()));
    using slot = new DisposableStack();
    slot.defer(await slots.take({ owner, signal, waitMsMax: leftMs(waitMsMax) }));
    const trial = breaker.begin();
    const { samples, sampleRateHz } = joinPcm(pieces)!;
    const sound = { samples: samples.subarray(from * sampleRateHz, to * sampleRateHz), sampleRateHz };
    const lengthMs = 1000 * secondsOf(sound);
    const limitMs = leftMs(waitMsMax + lengthMs);
    const limit = AbortSignal.timeout(Math.round(limitMs));
    try {
      const recorded = { ...sound, samples: toFloat(sound.samples, 0), languageCode };
      const { text } = await transcribe(recorded, AbortSignal.any([signal, limit]));
      trial.succeeded();
      return text;
    } catch (error) {
      const waitSeconds = error instanceof Failure ? error.facts.retryAfterSeconds : 0;
      // A server that refuses one recording, for example because of its language, still works.
      const isTooShort = limit.aborted && limitMs < lengthMs;
      if (signal.aborted || isTooShort || waitSeconds === undefined) trial.cancelled();
      else trial.failed(1000 * waitSeconds);
      restUntilMs = Math.max(restUntilMs, performance.now() + 1000 * Math.min(waitSeconds ?? 0, restSecondsMax));
      throw error;
    }
  }

  return (owner) => (segment, pieces, signal, untilMs) => {
    const { text, languageCode } = segment;
    const charsMax = heardCharsMax.start + heardCharsMax.perChar * text.length;
    const hear = async (from = 0, to = Infinity) => {
      const heard = await ask({ pieces, languageCode, from, to }, owner, signal, untilMs);
      return heard.slice(0, charsMax).toWellFormed();
    };
    return judge(segment, hear).catch(() => undefined);
  };
}

/** Judges a take by the words that a recognizer hears in it, and in parts of it. */
async function judge(
  { text, languageCode, phonemes = [], likelyRepeat }: Parameters<Listen>[0],
  hear: (fromSeconds?: number, toSeconds?: number) => Promise<string>,
): ReturnType<Listen> {
  // A recognizer cannot know how words with an unusual pronunciation are written.
  const names = phonemes.map(({ from, to }) => text.slice(from, to));
  const options = { languageCode, names };
  const compare = (heard: string) => {
    const { differences, isSuspect } = compareWords(text, heard, options);
    const counts = differences.map(({ words }) => words);
    const wordErrors = counts.reduce((sum, count) => sum + count, 0);
    return { text: heard, wordErrors, longestRun: Math.max(0, ...counts), isSuspect };
  };
  const silence = compare('');
  if (silence.wordErrors === 0) return silence;
  /**
   * Hears the parts before and after a place, because a recognizer may write a word once that it hears twice. Returns
   * both if the second begins with the last words of the first.
   */
  const hearParts = async (at: number): Promise<string | undefined> => {
    const before = /^.*[^\s\p{P}]/su.exec(await hear(0, at))?.[0] ?? '';
    const parts = `${before} ${(await hear(at)).replace(/^[\s\p{P}]+/u, '')}`;
    const { words: wordCount, differences } = compareWords(text, parts, options);
    const isAgain = differences.some(({ kind, heard: added, heardFrom, words }) => {
      const isHere = heardFrom <= before.length + 1 && heardFrom + added.length >= before.length;
      // A recognizer may hear a short text as a whole in either part.
      if (kind !== 'added' || !isHere || words >= wordCount) return false;
      const last = before.split(/\s+/).slice(-words).join(' ');
      // In languages without spaces, the last word may have more words before it.
      const beside = compareWords(last, added, options).differences;
      return beside.every(({ kind: fault, to }) => fault === 'missing' && to < last.length);
    });
    return isAgain ? parts : undefined;
  };
  const first = await hear();
  const heard = compare(first);
  if (!heard.isSuspect && likelyRepeat !== undefined) {
    const parts = await hearParts(likelyRepeat).catch(() => undefined);
    return parts ? { ...compare(parts), isSuspect: true } : heard;
  }
  if (!heard.isSuspect) return heard;
  const second = await hear();
  const isSame = compare(second).isSuspect && !compareWords(first, second, { languageCode }).isSuspect;
  return isSame ? heard : undefined;
}

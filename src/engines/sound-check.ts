// Finds faults in a segment's audio before it is sent: clipping, silence instead of text, and far too much or too
// little audio for the text. Clipping and length are checked with each piece. Silence is held back until something is
// audible. The first audible piece is held back until the next piece or the end, unless it is long enough for the whole
// text together with what the engine says will follow. So a streaming engine is delayed by at most one piece.
import anyAscii from 'any-ascii';
import { inspectPcm } from '../audio.ts';
import { Failure } from '../platform/errors.ts';
import { secondsOf } from '../platform/pcm.ts';
import type { Segment, SpokenPcm } from './engine.ts';

/** Audio is faulty if more than `share` of at least `secondsMin` is clipped. */
const clipped = { share: 0.01, secondsMin: 0.5 };
/** Longest plausible audio at normal speed. Characters other than small letters may be read by name and take longer. */
const secondsMax = { start: 4, perSmallLetter: 0.3, perOther: 1.2 };
/** Fastest plausible speech. Texts of fewer than `lettersMin` letters, such as one quick word, are not checked. */
const lettersPerSecondMax = 45;
const lettersMin = 12;
const wordLettersMax = 30;
/** Scripts in which a character is a syllable. */
const denseScripts = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/gu;
const denseLetters = 3;

/** The cause of an `engine_error` for faulty audio. The guard repeats the segment once if no audio was sent. */
class SoundFault extends Error {}

export const soundFault = (message: string): Failure => new Failure('engine_error', {}, new SoundFault(message));

export const isSoundFault = (error: unknown): boolean => error instanceof Failure && error.cause instanceof SoundFault;

export function createSoundCheck({ text, speakingRate }: Segment) {
  const longest = longestSeconds(text) / speakingRate;
  const shortest = shortestSeconds(text) / speakingRate;
  const mayBeSilent = !/[A-Za-z0-9]/.test(anyAscii((text.match(/[\p{L}\p{N}]/gu) ?? []).join('')));
  let seconds = 0;
  let audibleSeconds = 0;
  let clippedCount = 0;
  let sampleCount = 0;
  let rateHz: number | undefined;
  let held: SpokenPcm[] | undefined = mayBeSilent ? undefined : [];
  let isAudibleHeld = false;

  return {
    /** Returns the pieces that may be sent now. Throws if the piece is faulty. */
    add(piece: SpokenPcm): SpokenPcm[] {
      rateHz ??= piece.sampleRateHz;
      if (piece.sampleRateHz !== rateHz) {
        throw new Failure('engine_error', {}, new Error('the sample rate changed within a segment'));
      }
      const { audibleSeconds: audible, clipped: found } = inspectPcm(piece);
      seconds += secondsOf(piece);
      audibleSeconds += audible;
      clippedCount += found;
      sampleCount += piece.samples.length;
      if (seconds > longest) throw soundFault('the audio is far longer than the text can be');
      if (clippedCount > clipped.share * Math.max(sampleCount, clipped.secondsMin * rateHz)) {
        throw soundFault('the audio is clipped');
      }
      if (!held) return [piece];
      held.push(piece);
      const wasAudibleHeld = isAudibleHeld;
      isAudibleHeld = audibleSeconds > 0;
      const isEnough = isAudibleHeld && audibleSeconds + (piece.secondsLeft ?? 0) >= shortest;
      if (!isEnough && !wasAudibleHeld) return [];
      const passed = held;
      held = undefined;
      return passed;
    },
    /** Returns the remaining pieces at the end of the segment. Throws if the whole segment is faulty. */
    end(): SpokenPcm[] {
      if (audibleSeconds === 0 && !mayBeSilent) throw soundFault('the audio of the text is silence');
      if (audibleSeconds < shortest && !mayBeSilent) throw soundFault('the audio is far shorter than the text can be');
      return held ?? [];
    },
  };
}

function longestSeconds(text: string): number {
  const small = text.match(/[\p{Ll}\s]/gu)?.length ?? 0;
  return secondsMax.start + secondsMax.perSmallLetter * small + secondsMax.perOther * (text.length - small);
}

/**
 * Shortest plausible audio of a text. A letter repeated three or more times counts once: voices may not draw it out.
 */
function shortestSeconds(text: string): number {
  const plain = text.replace(/(\p{L})\1{2,}/gu, '$1');
  const dense = plain.match(denseScripts)?.length ?? 0;
  const words = plain.replace(denseScripts, ' ').match(/[\p{L}\p{N}]+/gu) ?? [];
  const letters = words.reduce((sum, word) => sum + Math.min(word.length, wordLettersMax), denseLetters * dense);
  return letters < lettersMin ? 0 : letters / lettersPerSecondMax;
}

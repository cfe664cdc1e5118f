// Finds faults in the sound of a segment before it is heard: clipping, silence in place of text, and far too much or too
// little sound for the text. With each piece, clipping and length are checked. Too little is known at the end only: silence
// is held back until something is audible, and the first audible piece until the next or the end, unless it is enough sound
// for the whole text already. So an engine that sends a segment in one piece is checked whole, and one that sends many is
// delayed by one piece at most.
import anyAscii from 'any-ascii';
import { blockSamplesMax, blocksOf, countAbove, countAudible } from '../audio/kernels.ts';
import { secondsOf } from '../audio/pcm.ts';
import { Failure } from '../errors.ts';
import type { Segment, SpokenPcm } from './engine.ts';

const audiblePeak = 64;
const frameSeconds = 0.01;
/** Samples at full scale are clipped: so large a share of at least so much sound is a fault. */
const clippedPeak = 32_766;
const clipped = { share: 0.01, secondsMin: 0.5 };
/**
 * The longest that text may sound at normal speed. Small letters are words; all else may be read out: a capital or a digit
 * by its name, a sign by several words.
 */
const secondsMax = { start: 4, perSmallLetter: 0.3, perOther: 1.2 };
/** Nobody speaks so many letters in a second. Short texts may be a word that is said quickly. */
const lettersPerSecondMax = 45;
const lettersMin = 12;
const wordLettersMax = 30;
/** A character of these scripts is a syllable. */
const denseScripts = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/gu;
const denseLetters = 3;

/** As the cause of an `engine_error`, it has the guard speak the segment once more if nothing of it was heard. */
class SoundFault extends Error {}

export const soundFault = (message: string): Failure => new Failure('engine_error', {}, new SoundFault(message));

export const isSoundFault = (error: unknown): boolean => error instanceof Failure && error.cause instanceof SoundFault;

interface SoundCheck {
  /** The pieces that may be heard now that this one has come. Throws where it is faulty. */
  add(piece: SpokenPcm): SpokenPcm[];
  /** The rest, at the end of the segment. Throws where the whole is faulty. */
  end(): SpokenPcm[];
}

export function createSoundCheck({ text, speakingRate }: Segment): SoundCheck {
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
    add(piece) {
      rateHz ??= piece.sampleRateHz;
      if (piece.sampleRateHz !== rateHz) {
        throw new Failure('engine_error', {}, new Error('the sample rate changed within a segment'));
      }
      const { audible, clipped: found } = inspect(piece);
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
      const isEnough = isAudibleHeld && audibleSeconds >= shortest;
      if (!isEnough && !wasAudibleHeld) return [];
      const passed = held;
      held = undefined;
      return passed;
    },
    end() {
      if (audibleSeconds === 0 && !mayBeSilent) throw soundFault('the audio of the text is silence');
      if (audibleSeconds < shortest && !mayBeSilent) throw soundFault('the audio is far shorter than the text can be');
      return held ?? [];
    },
  };
}

function inspect({ samples, sampleRateHz }: SpokenPcm): { audible: number; clipped: number } {
  const frame = Math.min(Math.max(1, Math.round(frameSeconds * sampleRateHz)), blockSamplesMax);
  const blockSamples = blockSamplesMax - (blockSamplesMax % frame);
  let audible = 0;
  let clippedCount = 0;
  for (const [block] of blocksOf(samples, blockSamples)) {
    audible += countAudible(block, frame, audiblePeak);
    clippedCount += countAbove(block, clippedPeak);
  }
  return { audible: audible / sampleRateHz, clipped: clippedCount };
}

function longestSeconds(text: string): number {
  const small = text.match(/[\p{Ll}\s]/gu)?.length ?? 0;
  return secondsMax.start + secondsMax.perSmallLetter * small + secondsMax.perOther * (text.length - small);
}

/** A letter that is written many times is drawn out, or said once; nobody knows how a word without end is said. */
function shortestSeconds(text: string): number {
  const plain = text.replace(/(\p{L})\1{2,}/gu, '$1');
  const dense = plain.match(denseScripts)?.length ?? 0;
  const words = plain.replace(denseScripts, ' ').match(/[\p{L}\p{N}]+/gu) ?? [];
  const letters = words.reduce((sum, word) => sum + Math.min(word.length, wordLettersMax), denseLetters * dense);
  return letters < lettersMin ? 0 : letters / lettersPerSecondMax;
}

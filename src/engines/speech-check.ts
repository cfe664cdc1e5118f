// Finds faults that models of speech make: speech that is cut off, a held sound, repeated words, a long silence, and a
// duration that the voice does not need for the text. They are judged when the segment is complete. A false alarm is
// possible (docs/reliability.md states how often), so a suspect segment is spoken again but never refused.

import type { Segment, SpokenPcm } from './engine.ts';
import { measureSpeech, type Repeat } from './speech-faults.ts';
import { SpeechFrames } from './speech-frames.ts';
import type { VoiceDurations } from './voice-durations.ts';

export type SpeechFault =
  | ('cut_off' | 'held_sound' | 'repeated' | 'silence' | 'too_long' | 'too_short')
  // Only a recognizer finds this.
  | 'words_differ';

/** What a recognizer heard in a take. */
export interface Heard {
  text: string;
  /** Number of words that differ from the text, and of those in the longest run. */
  wordErrors: number;
  longestRun: number;
  /** Whether words were probably skipped, added or replaced, rather than misheard. */
  isSuspect: boolean;
}

/** Measured with 2,000 good segments of five engines. */
const endLevelMax = 0.02;
const heldSecondsMax = 0.7;
const silenceSecondsMax = 1;
const repeatScoreMax = 9.5;
/** Words spoken twice often score between this and `repeatScoreMax`, but so does one good segment in ten. */
const likelyScoreMin = 3.5;
/** Limits for figures that differ from what is usual for the voice. */
const surprising = {
  longer: { deviations: 6, share: 1.4 },
  shorter: { deviations: -4, share: 0.8 },
  end: { deviations: -2.5, share: 0.5 },
  repeated: { deviations: 5, scoreMin: 5 },
};
/** Less speech is not judged. */
const speechSecondsMin = 0.3;
/**
 * The text of a repeat is searched for letters that recur. `share` is their least share of the letters between the
 * stretches, and `secondsPerScore` the least time in which they are spoken, for each point of the repeat's score.
 */
const recurring = {
  lettersMin: 3,
  share: 0.35,
  secondsPerScore: 0.0175,
  margin: 6,
  tolerance: 0.3,
  toleranceLetters: 2,
};

/**
 * An engine that always makes the same samples cannot hold a sound or repeat a word by chance. Only the levels of its
 * sound are checked, which costs a quarter.
 */
export function createSpeechCheck(
  segment: Segment,
  durations: VoiceDurations,
  { isRepeatable = false }: { isRepeatable?: boolean | undefined } = {},
) {
  const { text, speakingRate, voice, languageCode } = segment;
  let frames: SpeechFrames | undefined;
  let likelyRepeat: number | undefined;
  return {
    add({ samples, sampleRateHz }: SpokenPcm): void {
      frames ??= new SpeechFrames(sampleRateHz, { hasSpectra: !isRepeatable });
      frames.add(samples);
    },
    /** Returns the faults of the complete segment; undefined if it cannot be judged. */
    end(): SpeechFault[] | undefined {
      if (!frames || !/[\p{L}\p{N}]/u.test(text)) return undefined;
      const { speechSeconds, endLevel, endSeconds, silenceSeconds, heldSeconds, repeat } = measureSpeech(frames);
      if (speechSeconds < speechSecondsMin) return undefined;
      const slow = Math.max(1, 1 / speakingRate);
      const faults: SpeechFault[] = [];
      if (endLevel > endLevelMax) faults.push('cut_off');
      if (heldSeconds !== undefined && heldSeconds > heldSecondsMax * slow) faults.push('held_sound');
      if (silenceSeconds > silenceSecondsMax * slow) faults.push('silence');
      let repeatScore = repeat?.score ?? 0;
      if (repeat && repeatScore > likelyScoreMin) {
        if (isInText(text, repeat, speechSeconds)) repeatScore = 0;
        else if (repeatScore > repeatScoreMax) faults.push('repeated');
        else likelyRepeat = repeat.againSeconds;
      }
      if (faults.length > 0 || isRepeatable) return faults;
      const { engine, voiceId, version } = voice;
      const name = [engine, voiceId, version, languageCode, segment.clone ? 'clone' : ''].join(' ');
      const surprise = durations.learn(name, voiceId, text, {
        speech: speechSeconds * speakingRate,
        end: endSeconds * speakingRate,
        repeat: repeatScore,
      });
      if (!surprise) return faults;
      const { longer, shorter, end, repeated } = surprising;
      const { deviations, share } = surprise.speech;
      if (surprise.end.deviations < end.deviations && surprise.end.share < end.share) faults.push('cut_off');
      if (surprise.repeat.deviations > repeated.deviations && repeatScore > repeated.scoreMin) faults.push('repeated');
      if (deviations > longer.deviations && share > longer.share) faults.push('too_long');
      if (deviations < shorter.deviations && share < shorter.share) faults.push('too_short');
      return faults;
    },
    /** The place, in seconds, where words may begin a second time. Only a recognizer can tell. Set by `end`. */
    get likelyRepeat(): number | undefined {
      return likelyRepeat;
    },
  };
}

/** Whether the text itself repeats letters, or has several digits, near the repeat. */
function isInText(text: string, { score, atSeconds, lagSeconds }: Repeat, speechSeconds: number): boolean {
  const letters =
    text
      .toLowerCase()
      .normalize('NFD')
      .match(/[\p{L}\p{N}]/gu) ?? [];
  const perSecond = letters.length / speechSeconds;
  const { lettersMin, share, secondsPerScore, margin, tolerance, toleranceLetters } = recurring;
  const start = Math.max(0, Math.floor(atSeconds * perSecond - margin));
  const part = letters.slice(start, Math.ceil((atSeconds + 2 * lagSeconds) * perSecond + margin));
  if (part.filter((letter) => /\p{N}/u.test(letter)).length > 1) return true;
  const lag = lagSeconds * perSecond;
  // The better the stretches agree, the more letters must recur.
  const runMin = Math.max(lettersMin, Math.round(share * lag), Math.round(secondsPerScore * score * perSecond));
  const lagMax = lag * (1 + tolerance) + toleranceLetters;
  for (let by = Math.max(2, Math.floor(lag * (1 - tolerance) - toleranceLetters)); by <= lagMax; by++) {
    let run = 0;
    for (let i = 0; i + by < part.length; i++) {
      run = part[i] === part[i + by] ? run + 1 : 0;
      if (run >= runMin) return true;
    }
  }
  return false;
}

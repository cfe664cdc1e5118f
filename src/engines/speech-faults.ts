// Measures what may be wrong with speech: how abruptly it ends, its longest silence, the longest held sound, and the
// stretch that most resembles the stretch after it. What counts as a fault depends on the text and the voice.
import { bandCount, frameSeconds, type SpeechFrames } from './speech-frames.ts';

export interface SpeechMeasures {
  /** From the first to the last sound; 0 if the sound is no speech but, for example, a tone. */
  speechSeconds: number;
  /** Level of the last samples, as a share of the level of loud frames. */
  endLevel: number;
  /** Time after the last loud sound. */
  endSeconds: number;
  silenceSeconds: number;
  /** Absent if the frames have no spectra. */
  heldSeconds?: number;
  repeat?: Repeat;
}

/** A stretch that is followed by a similar one. Natural speech scores 0 to 8, a repeated phrase 10 to 60. */
export interface Repeat {
  score: number;
  /** Start of the stretch after the first sound, and the distance to the similar stretch. */
  atSeconds: number;
  lagSeconds: number;
  /** Start of the similar stretch in the audio. */
  againSeconds: number;
}

const framesOf = (seconds: number): number => Math.round(seconds / frameSeconds);

/** Levels as shares of the level of loud frames, which a tenth of the frames exceed. */
const loudRank = 0.9;
const share = { audible: 0.01, voiced: 0.05, held: 0.1 };
/** Mean squared distance of the bands of a held sound from their moving mean, and the weight of a frame in it. */
const held = { distanceMax: 0.8, weight: 0.15 };
/** Two frames are alike below `alike`. `skip` is the cost of a frame of one stretch that the other does not have. */
const distance = { alike: 1.1, max: 3, skip: 1, ofSilence: 0.01, ofOneSilent: 1.5 };
/** If the sum over all bands reaches this value, two frames have the greatest distance. */
const sumMax = distance.max * bandCount;
/** Usual logarithm of the strongest band above the mean of all: 3 to 6 in speech, 12 in tones. */
const tonePeakMin = 9;
const stretch = {
  framesMin: framesOf(0.15),
  lagMax: framesOf(2.4),
  overlapMax: framesOf(0.1),
  pauseMax: framesOf(0.3),
};

export function measureSpeech(frames: SpeechFrames): SpeechMeasures {
  const { levels } = frames;
  const loud = Float32Array.from(levels).sort()[Math.floor(loudRank * levels.length)] ?? 0;
  const isAudible = (level: number) => level > share.audible * loud;
  const from = Math.max(0, levels.findIndex(isAudible));
  const to = levels.findLastIndex(isAudible) + 1;
  const silent = longestRun(levels.slice(from, to), (level) => !isAudible(level));
  const seconds = (to - from) * frameSeconds;
  const ofLevels = {
    endLevel: loud > 0 ? frames.tailLevel / loud : 0,
    endSeconds: (levels.length - 1 - levels.findLastIndex((level) => level > share.voiced * loud)) * frameSeconds,
    silenceSeconds: silent * frameSeconds,
  };
  if (!frames.hasSpectra) return { ...ofLevels, speechSeconds: seconds };
  return {
    ...ofLevels,
    speechSeconds: isSpeech(frames, share.held * loud) ? seconds : 0,
    heldSeconds: longestHeld(frames, share.held * loud) * frameSeconds,
    repeat: findRepeat(frames, from, to, share.voiced * loud),
  };
}

/** Tones have their power in one band. */
function isSpeech({ levels, bands }: SpeechFrames, levelMin: number): boolean {
  const peaks = levels.flatMap((level, t) =>
    level < levelMin ? [] : Math.max(...bands.slice(t * bandCount, (t + 1) * bandCount)),
  );
  return (peaks.sort((a, b) => a - b)[peaks.length >> 1] ?? Infinity) < tonePeakMin;
}

function longestRun(levels: readonly number[], is: (level: number) => boolean): number {
  let [run, longest] = [0, 0];
  for (const level of levels) {
    run = is(level) ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

function longestHeld({ levels, bands }: SpeechFrames, levelMin: number): number {
  const mean = new Float32Array(bandCount);
  let [run, longest] = [0, 0];
  for (let t = 0; t < levels.length; t++) {
    let far = 0;
    for (let b = 0; b < bandCount; b++) far += (bands[t * bandCount + b]! - mean[b]!) ** 2;
    const isHeld = run > 0 && far < held.distanceMax * bandCount;
    run = levels[t]! < levelMin ? 0 : isHeld ? run + 1 : 1;
    const weight = isHeld ? held.weight : 1;
    for (let b = 0; b < bandCount; b++) mean[b]! += weight * (bands[t * bandCount + b]! - mean[b]!);
    longest = Math.max(longest, run);
  }
  return longest;
}

/** Scores, and starts of both stretches, of the paths that end in a frame and the frames after it, by their distance. */
const createRow = () => ({
  scores: new Float32Array(stretch.lagMax + 2),
  firsts: new Int32Array(stretch.lagMax + 2),
  seconds: new Int32Array(stretch.lagMax + 2),
});

/**
 * Aligns the speech with itself (Smith and Waterman), and returns the best pair of stretches of which the second begins
 * where the first ends.
 */
function findRepeat({ levels, bands }: SpeechFrames, from: number, to: number, voicedMin: number): Repeat {
  const best: Repeat = { score: 0, atSeconds: 0, lagSeconds: 0, againSeconds: 0 };
  let [above, row] = [createRow(), createRow()];
  for (let i = from; i < to; i++) {
    row.scores.fill(0);
    for (let lag = 1; lag <= stretch.lagMax && i + lag < to; lag++) {
      const j = i + lag;
      const gain = likeness(levels, bands, i, j, voicedMin);
      let score = above.scores[lag]!;
      let [first, second] = [above.firsts[lag]!, above.seconds[lag]!];
      const [down, right] = [above.scores[lag + 1]! - distance.skip, row.scores[lag - 1]! - distance.skip];
      if (down > score) [score, first, second] = [down, above.firsts[lag + 1]!, above.seconds[lag + 1]!];
      if (right > score) [score, first, second] = [right, row.firsts[lag - 1]!, row.seconds[lag - 1]!];
      // A stretch that has reached the similar one cannot be the first of the two.
      if (score <= 0 || second - i < -stretch.overlapMax) [score, first, second] = [0, i, j];
      score = Math.max(0, score + gain);
      row.scores[lag] = score;
      row.firsts[lag] = first;
      row.seconds[lag] = second;
      if (score <= best.score || i - first < stretch.framesMin || second - i > stretch.pauseMax) continue;
      const [atSeconds, lagSeconds] = [(first - from) * frameSeconds, lag * frameSeconds];
      Object.assign(best, { score, atSeconds, lagSeconds, againSeconds: second * frameSeconds });
    }
    [above, row] = [row, above];
  }
  return best;
}

function likeness(levels: readonly number[], bands: readonly number[], i: number, j: number, voicedMin: number) {
  const voiced = Number(levels[i]! > voicedMin) + Number(levels[j]! > voicedMin);
  if (voiced === 0) return -distance.ofSilence;
  if (voiced === 1) return -distance.ofOneSilent;
  let sum = 0;
  for (let b = 0; b < bandCount && sum < sumMax; b++)
    sum += (bands[i * bandCount + b]! - bands[j * bandCount + b]!) ** 2;
  return distance.alike - Math.min(distance.max, sum / bandCount);
}

// Checks whether a recording is good enough for a clone: length, clipping, noise, silence, tones. The thresholds were
// determined with 150 recordings of people and synthetic voices, clean and gradually degraded. No clean recording is
// rejected, and the faults of rejected recordings are audible.

import { toInt16 } from '../../audio/level.ts';
import { gainDbMax, measureLoudness, targetLoudnessLufs } from '../../audio/loudness.ts';
import type { Recording } from '../../audio/recording/track.ts';

export interface SampleFault {
  reason: 'audio_decode' | 'audio_too_short' | 'audio_too_long' | 'audio_quality';
  /** A predicate about the recording, such as "is silent". */
  message: string;
}

interface CheckedSample {
  faults: readonly SampleFault[];
  /** The recording from shortly before the first word to shortly after the last word. */
  trimmed: Recording;
}

/** Minimum sample rate. Lower rates lose the hiss of s and f, which distinguishes speakers. */
const sampleRateHzMin = 16_000;
/** Level of a quiet room that is recorded with a good microphone. A recording below this level is silent. */
const silentDbfs = -60;
/** Decibels by which the loudest frames of a voice (95th percentile) exceed the voice's average. */
const loudestOverVoiceDb = 3;
/**
 * Minimum level of the voice above the quietest frames. Clean recordings have at least 22 dB, even without a pause.
 * With white noise 15 dB below the voice, recordings have about 15 dB, and every clone has that noise.
 */
const voiceOverNoiseDbMin = 15;
/** Minimum range between loud and quiet frames. A smaller range means noise alone, or noise as loud as the speech. */
const speechSwingDbMin = 6;
/** Frames below this level are digital silence, which does not show the noise of the room. */
const digitalSilenceDbfs = -90;
/** Minimum ratio between zero-crossing rates of frames. The ratio is at least 2 in speech, and near 1 in a tone. */
const crossingsRatioMin = 1.5;
/** Full scale, and the maximum share of samples at it. Clean recordings have at most one such sample in 8 000. */
const fullScale = 0.99;
const fullScaleShareMax = 0.002;
/**
 * Maximum share of samples near the peak level (see `measurePeaks`). Peaks that were clipped before the recording was
 * scaled or encoded increase this share. Clean recordings have at most 0.5 %; 6 dB of clipping gives at least 3 %.
 */
const flattenedShareMax = 0.01;
/** Minimum share of speech, which allows pauses. Speech fills at least half of a clean recording. */
const voicedShareMin = 0.3;
const voicedUnderLoudestDb = 25;
/** Limits for audible frames: maximum distance below the loudest frames, and minimum distance above the noise. */
const audibleUnderLoudestDb = 35;
const aboveNoiseDb = 6;
const marginSeconds = 0.2;
/** Length of the shortest sound, in frames. A shorter sound is a click. */
const soundFramesMin = 3;
/** Number of loud frames that any audible speech has, regardless of the silence around the speech. */
const loudFrames = 15;

export function checkSample(recording: Recording, seconds: { min: number; max: number }): CheckedSample {
  const centred = withoutOffset(recording);
  const { sampleRateHz } = centred;
  const faults: SampleFault[] = [];
  const poor = (message: string) => faults.push({ reason: 'audio_quality', message });
  if (sampleRateHz < sampleRateHzMin)
    poor(`has a sample rate of ${sampleRateHz} Hz; at least ${sampleRateHzMin} Hz are needed`);

  const { levels, crossingsHz } = measureFrames(centred);
  // A recording with fewer frames can only be checked for its length.
  if (levels.length < loudFrames) return { faults: [...faults, ...lengthFaults(centred, seconds)], trimmed: centred };
  const loudest = levels.toSorted((a, b) => b - a)[loudFrames - 1]!;
  if (loudest < silentDbfs) {
    poor('is silent');
    return { faults, trimmed: centred };
  }
  const audible = levels.filter((level) => level > digitalSilenceDbfs);
  const noise = quantile(audible, 0.05);
  const { from, to } = soundIn(levels, thresholdOf(loudest, noise, audibleUnderLoudestDb));
  const trimmed = cut(centred, from, to);
  faults.push(...lengthFaults(trimmed, seconds));
  const fault = speechFault({ levels: levels.slice(from, to), crossingsHz: crossingsHz.slice(from, to) }, noise);
  for (const message of fault ? [fault] : levelFaults(trimmed)) poor(message);
  return { faults, trimmed };
}

/** Removes the DC offset, which would be audible as a click at the start. */
function withoutOffset({ samples, sampleRateHz }: Recording): Recording {
  const offset = samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
  return { samples: samples.map((sample) => sample - offset), sampleRateHz };
}

function lengthFaults({ samples, sampleRateHz }: Recording, { min, max }: { min: number; max: number }): SampleFault[] {
  const seconds = samples.length / sampleRateHz;
  const message = `lasts ${seconds.toFixed(1)} seconds without the silence around it; ${min} to ${max} seconds are needed`;
  if (seconds < min) return [{ reason: 'audio_too_short', message }];
  return seconds > max ? [{ reason: 'audio_too_long', message }] : [];
}

/** Returns the reason why the recording is not clear speech. */
function speechFault({ levels, crossingsHz }: SampleFrames, noise: number): string | undefined {
  const loudest = quantile(levels, 0.95);
  const overNoise = loudest - loudestOverVoiceDb - noise;
  if (loudest - noise < speechSwingDbMin) return 'has a constant loudness, like noise or a tone; record speech';
  const threshold = thresholdOf(loudest, noise, voicedUnderLoudestDb);
  const voiced = crossingsHz.filter((_, n) => levels[n]! >= threshold);
  const ratio = quantile(voiced, 0.9) / Math.max(framesPerSecond / 2, quantile(voiced, 0.1));
  if (ratio < crossingsRatioMin) return 'is a constant tone; record speech';
  if (overNoise < voiceOverNoiseDbMin)
    return `is noisy: the voice is ${Math.floor(overNoise)} dB above the noise; at least ${voiceOverNoiseDbMin} dB are needed`;
  const share = voiced.length / levels.length;
  if (share < voicedShareMin)
    return `is mostly silent: ${percent(share)} of it is speech; at least ${percent(voicedShareMin)} is needed`;
  return undefined;
}

function levelFaults(recording: Recording): string[] {
  const faults: string[] = [];
  const { above, flattened } = measurePeaks(recording);
  if (above > fullScaleShareMax) faults.push(`is too loud: ${percent(above)} of it is at full scale and distorted`);
  else if (flattened > flattenedShareMax)
    faults.push(`is distorted: the peaks of ${percent(flattened)} of it are clipped; record with less gain`);
  const loudness = measureLoudness({ samples: toInt16(recording.samples), sampleRateHz: recording.sampleRateHz });
  // A voice needs more than the maximum gain only if the recording is faulty.
  const loudnessMin = targetLoudnessLufs - gainDbMax;
  if (loudness < loudnessMin)
    faults.push(
      `is too quiet: ${Math.floor(loudness)} LUFS; at least ${loudnessMin} LUFS are needed, and ${targetLoudnessLufs} LUFS is best`,
    );
  return faults;
}

const percent = (share: number): string => `${Number((100 * share).toPrecision(2))} %`;

/** Level from which a frame counts as sound. It is above the noise unless the noise is nearly as loud. */
const thresholdOf = (loudest: number, noise: number, underLoudestDb: number): number =>
  Math.max(loudest - underLoudestDb, Math.min(noise + aboveNoiseDb, loudest - aboveNoiseDb));

/** Returns the range of frames from the first to the last sound, with a margin on both sides. */
function soundIn(levels: readonly number[], threshold: number): { from: number; to: number } {
  const isSound = (at: number) => levels.slice(at, at + soundFramesMin).every((level) => level >= threshold);
  const starts = levels.flatMap((_, at) => (at + soundFramesMin <= levels.length && isSound(at) ? [at] : []));
  const margin = marginSeconds * framesPerSecond;
  const first = starts[0] ?? 0;
  const last = (starts.at(-1) ?? levels.length) + soundFramesMin;
  return { from: Math.max(0, first - margin), to: Math.min(levels.length, last + margin) };
}

function cut({ samples, sampleRateHz }: Recording, from: number, to: number): Recording {
  const length = Math.round(sampleRateHz / framesPerSecond);
  return { samples: samples.subarray(from * length, to * length), sampleRateHz };
}

interface SampleFrames {
  /** The level of each frame. */
  levels: readonly number[];
  /** Rate of sign changes in each frame, in hertz. The rate is the pitch of a tone, and is high for hiss. */
  crossingsHz: readonly number[];
}

const framesPerSecond = 50;
/** The level of digital silence. */
const lowestDb = -120;

function measureFrames({ samples, sampleRateHz }: Recording): SampleFrames {
  const length = Math.round(sampleRateHz / framesPerSecond);
  const levels: number[] = [];
  const crossingsHz: number[] = [];
  for (let from = 0; from + length <= samples.length; from += length) {
    let power = 0;
    let crossings = 0;
    let before = samples[from]!;
    for (let i = from; i < from + length; i++) {
      const sample = samples[i]!;
      power += sample * sample;
      if (sample >= 0 !== before >= 0) crossings++;
      before = sample;
    }
    levels.push(Math.max(lowestDb, 10 * Math.log10(power / length)));
    crossingsHz.push((crossings / 2) * framesPerSecond);
  }
  return { levels, crossingsHz };
}

/** Returns the value below which this share (at least 0, less than 1) of the values lies. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * sorted.length)] ?? lowestDb;
}

const bins = 4_096;

/**
 * Measures two shares of samples (0 to 1): at full scale, and near the peak level. The peak level is exceeded by one
 * sample in a thousand; "near" means at least nine tenths of the peak level. Clipping makes the second share large.
 */
function measurePeaks({ samples }: Recording): { above: number; flattened: number } {
  const counts = new Uint32Array(bins);
  const peak = samples.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0);
  let above = 0;
  for (const sample of samples) {
    const size = Math.abs(sample);
    if (size >= fullScale) above++;
    counts[Math.min(bins - 1, Math.floor((size / peak) * bins))]!++;
  }
  // Counts the loudest samples: first those above the peak level, then those above nine tenths of the peak level.
  let passed = 0;
  let top = bins;
  while (top > 0 && passed < samples.length / 1_000) passed += counts[--top]!;
  for (let bin = Math.floor(0.9 * top); bin < top; bin++) passed += counts[bin]!;
  return { above: above / samples.length, flattened: passed / samples.length };
}

// Whether a recording is good enough to clone a person from: long enough, neither cut flat nor buried in noise, neither
// silence nor a tone; every fault is named, with its figure and what is wanted. The bounds were found on 150 recordings of
// people and of synthetic voices, clean and spoiled step by step: no clean one is refused, and what is refused one hears.

import { toInt16 } from '../audio/level.ts';
import { gainDbMax, targetLoudnessLufs, measureLoudness } from '../audio/loudness.ts';
import type { Recording } from '../audio/recording/track.ts';
import { framesPerSecond, measureFrames, measurePeaks, quantile, type SampleFrames } from './sample-frames.ts';

export interface SampleFault {
  reason: 'audio_decode' | 'audio_too_short' | 'audio_too_long' | 'audio_quality';
  /** Said of the recording: "lasts ...", "is ...". */
  message: string;
}

export interface CheckedSample {
  faults: readonly SampleFault[];
  /** From a breath before the first word to a breath after the last. */
  trimmed: Recording;
}

/** Below it there is no room for the hiss of s and f, by which people are told apart, and no engine wants less. */
const sampleRateHzMin = 16_000;
/** Nothing louder than this, and there is nothing: a quiet room through a good microphone. */
const silentDbfs = -60;
/** The loudest frames of a voice, its 95th percentile, are so much louder than the voice as a whole. */
const loudestOverVoiceDb = 3;
/**
 * The voice above the quietest frames. Clean recordings have 22 dB and more even without a pause. White noise 20 dB below
 * the voice leaves 18 to 20 of them, 15 dB below about 15, and is then heard in every clone.
 */
const voiceOverNoiseDbMin = 15;
/** With less than this between its loud and its quiet moments sound is no speech, or as much noise as speech. */
const speechSwingDbMin = 6;
/** Frames of digital silence say nothing of the noise of the room. */
const digitalSilenceDbfs = -90;
/** How often the sign changes differs between the frames of a person's speech twofold and more; in a tone it does not. */
const crossingsRatioMin = 1.5;
/** In clean recordings at most one sample in 8 000 is at full scale; a peak that is cut off now and then is no harm. */
const fullScale = 0.99;
const fullScaleShareMax = 0.002;
/**
 * Peaks cut off before they came here, at whatever level, and then perhaps made an MP3: samples within a tenth of the
 * level that only a thousandth is above. At most 0.5 % in clean recordings, 3 % and more where 6 dB are cut off.
 */
const flattenedShareMax = 0.01;
/** Pauses between sentences are fine: speech fills half of a clean recording or more. */
const voicedShareMin = 0.3;
const voicedUnderLoudestDb = 25;
/** What is worth hearing lies less than this under the loudest, and above the noise. */
const audibleUnderLoudestDb = 35;
const aboveNoiseDb = 6;
const breathSeconds = 0.2;
/** A sound is so many frames; less is a click. */
const soundFramesMin = 3;
/** As many frames are loud in whatever is heard at all, however much silence there is around it. */
const loudFrames = 15;

export function checkSample(recording: Recording, seconds: { min: number; max: number }): CheckedSample {
  const centred = withoutOffset(recording);
  const { sampleRateHz } = centred;
  const faults: SampleFault[] = [];
  const poor = (message: string) => faults.push({ reason: 'audio_quality', message });
  if (sampleRateHz < sampleRateHzMin)
    poor(`was recorded at ${sampleRateHz} samples a second; at least ${sampleRateHzMin} are wanted`);

  const { levels, crossingsHz } = measureFrames(centred);
  // Of so little nothing can be said but that it is too short.
  if (levels.length < loudFrames) return { faults: [...faults, ...lengthFaults(centred, seconds)], trimmed: centred };
  const loudest = levels.toSorted((a, b) => b - a)[loudFrames - 1]!;
  if (loudest < silentDbfs) {
    poor('is silent');
    return { faults, trimmed: centred };
  }
  const heard = levels.filter((level) => level > digitalSilenceDbfs);
  const noise = quantile(heard, 0.05);
  const { from, to } = soundIn(levels, thresholdOf(loudest, noise, audibleUnderLoudestDb));
  const trimmed = cut(centred, from, to);
  faults.push(...lengthFaults(trimmed, seconds));
  const fault = speechFault({ levels: levels.slice(from, to), crossingsHz: crossingsHz.slice(from, to) }, noise);
  for (const message of fault ? [fault] : levelFaults(trimmed)) poor(message);
  return { faults, trimmed };
}

/** A steady offset is no sound, and would be heard as a click where the voice begins. */
function withoutOffset({ samples, sampleRateHz }: Recording): Recording {
  const offset = samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
  return { samples: samples.map((sample) => sample - offset), sampleRateHz };
}

function lengthFaults({ samples, sampleRateHz }: Recording, { min, max }: { min: number; max: number }): SampleFault[] {
  const seconds = samples.length / sampleRateHz;
  const message = `lasts ${seconds.toFixed(1)} seconds without the silence around it; ${min} to ${max} are wanted`;
  if (seconds < min) return [{ reason: 'audio_too_short', message }];
  return seconds > max ? [{ reason: 'audio_too_long', message }] : [];
}

/** Why it is no speech, or none that stands out. */
function speechFault({ levels, crossingsHz }: SampleFrames, noise: number): string | undefined {
  const loudest = quantile(levels, 0.95);
  const overNoise = loudest - loudestOverVoiceDb - noise;
  if (loudest - noise < speechSwingDbMin) return 'is as loud at every moment, like noise or a tone; speech is wanted';
  const threshold = thresholdOf(loudest, noise, voicedUnderLoudestDb);
  const voiced = crossingsHz.filter((_, n) => levels[n]! >= threshold);
  const ratio = quantile(voiced, 0.9) / Math.max(framesPerSecond / 2, quantile(voiced, 0.1));
  if (ratio < crossingsRatioMin) return 'is the same tone throughout; speech is wanted';
  if (overNoise < voiceOverNoiseDbMin)
    return `is noisy: the voice is ${Math.floor(overNoise)} dB above the noise; at least ${voiceOverNoiseDbMin} are wanted`;
  const share = voiced.length / levels.length;
  if (share < voicedShareMin)
    return `is mostly silent: there is speech in ${percent(share)} of it; at least ${percent(voicedShareMin)} is wanted`;
  return undefined;
}

function levelFaults(recording: Recording): string[] {
  const faults: string[] = [];
  const { above, flattened } = measurePeaks(recording, fullScale);
  if (above > fullScaleShareMax) faults.push(`is too loud: ${percent(above)} of it is at full scale and distorted`);
  else if (flattened > flattenedShareMax)
    faults.push(`is distorted: its peaks are cut off, in ${percent(flattened)} of it`);
  const loudness = measureLoudness({ samples: toInt16(recording.samples), sampleRateHz: recording.sampleRateHz });
  // What would need more gain than any voice is given is faulty, not quiet.
  const loudnessMin = targetLoudnessLufs - gainDbMax;
  if (loudness < loudnessMin)
    faults.push(
      `is too quiet: ${Math.floor(loudness)} LUFS; at least ${loudnessMin} are wanted, ${targetLoudnessLufs} is best`,
    );
  return faults;
}

const percent = (share: number): string => `${Number((100 * share).toPrecision(2))} %`;

/** Above it is sound: not far below the loudest, and more than the noise, where that is not nearly as loud itself. */
const thresholdOf = (loudest: number, noise: number, underLoudestDb: number): number =>
  Math.max(loudest - underLoudestDb, Math.min(noise + aboveNoiseDb, loudest - aboveNoiseDb));

/** The frames from the first sound to the last, with a breath on either side. */
function soundIn(levels: readonly number[], threshold: number): { from: number; to: number } {
  const isSound = (at: number) => levels.slice(at, at + soundFramesMin).every((level) => level >= threshold);
  const starts = levels.flatMap((_, at) => (at + soundFramesMin <= levels.length && isSound(at) ? [at] : []));
  const breath = breathSeconds * framesPerSecond;
  const first = starts[0] ?? 0;
  const last = (starts.at(-1) ?? levels.length) + soundFramesMin;
  return { from: Math.max(0, first - breath), to: Math.min(levels.length, last + breath) };
}

function cut({ samples, sampleRateHz }: Recording, from: number, to: number): Recording {
  const length = Math.round(sampleRateHz / framesPerSecond);
  return { samples: samples.subarray(from * length, to * length), sampleRateHz };
}

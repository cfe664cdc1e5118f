// Provides an engine for tests, and an example of how to write one: one tone per word, with a pitch that depends on the
// word. It is small, fast, deterministic, and exact in its sample rate and word times. It misbehaves on demand
// (`trouble`, which a test may change between segments) and counts its work.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Blending,
  type CloneSample,
  type Cloning,
  defineEngine,
  type Engine,
  type EngineCapabilities,
  type EngineDefinition,
  type Segment,
  type SpokenPcm,
  type Voice,
} from '../../src/engines/engine.ts';
import { toSamples } from '../../src/engines/float-samples.ts';
import { soundFault } from '../../src/engines/sound-check.ts';
import { Failure } from '../../src/platform/errors.ts';
import { join as joinSamples } from '../../src/platform/pcm.ts';

export interface ToneTrouble {
  /** The error to fail with; default `engine_error`. */
  failure?: Error;
  /** Fails before any audio in every segment after this many segments. */
  failsAfterSegments?: number;
  /** Fails in every segment after this many pieces. */
  failsAfterPieces?: number;
  /** Hangs in every segment after this many pieces, until aborted. */
  hangsAfterPieces?: number;
  /** Waits before each piece. */
  pieceDelayMs?: number;
  /** A fault in the audio of every segment, or only of `faultySegments` segments. */
  fault?: ToneFault;
  faultySegments?: number;
  /** Sends each segment in one piece. */
  sendsWhole?: boolean;
}

/** Clipped or NaN from the middle on; silent; cut short; endless. */
export type ToneFault = 'clipped' | 'NaN' | 'silent' | 'short' | 'endless';

export interface ToneOptions {
  name?: string;
  sampleRateHz?: number;
  /** Languages of the engine's two voices; they do not change the audio. */
  languageCodes?: readonly string[];
  capabilities?: Partial<EngineCapabilities>;
  /** Whether the engine clones voices: tones with the pitch of the first sample. */
  clones?: boolean;
  /** Whether the engine blends its voices: a blend's tones lie between those of its parts. */
  blends?: boolean;
  trouble?: ToneTrouble;
}

export interface ToneCounts {
  begun: number;
  finished: number;
  /** Number of segments aborted by their signal or by a reader that stopped. */
  aborted: number;
  failed: number;
  /** Number of segments in progress. */
  running: number;
  pieces: number;
}

export interface ToneEngine extends Engine {
  trouble: ToneTrouble;
  readonly counts: Readonly<ToneCounts>;
  /** All segments that were begun, oldest first. */
  readonly segments: readonly Segment[];
}

const gapSeconds = 0.06;
const wordSecondsMax = 1;
const rampSeconds = 0.005;
/** Amplitude that was measured to give -21 LUFS. */
const level = 0.15 * 32_768;

/** Words, or in scripts without spaces several characters, which are syllables. */
const wordPattern =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]{1,4}|(?:(?![\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}])[\p{L}\p{N}\p{M}'’])+/gu;
const wordsOf = (text: string): RegExpExecArray[] => [...text.matchAll(wordPattern)];

/** About 14 letters per second, as people speak. */
const secondsOfWord = (word: string): number => Math.min(0.08 + 0.07 * word.length, wordSecondsMax);

/** The pitch of a word, from 200 to 500 Hz, raised by up to a fifth for the voice. */
const pitchOf = (word: string, transposition: number): number => {
  let hash = 7;
  for (let index = 0; index < word.length; index++) hash = (hash * 31 + word.charCodeAt(index)) % 1009;
  return transposition * (200 + (300 * hash) / 1009);
};

/**
 * A word that no text is likely to contain; a clone consists of it and the zero crossings per second of the reference.
 */
export const cloneMark = 'tone-clone-secret';

function makeClone({ reference: { samples, sampleRateHz } }: CloneSample): Uint8Array {
  const crossings = samples.filter((sample, i) => i > 0 && samples[i - 1]! < 0 !== sample < 0).length;
  return Buffer.from(`${cloneMark} ${Math.round((crossings * sampleRateHz) / samples.length)}`);
}

function clonePitchOf(clone: Uint8Array): number {
  const [mark, crossings] = Buffer.from(clone).toString().split(' ');
  if (mark !== cloneMark) throw new Failure('engine_error', {}, new Error('no clone of mine'));
  return 0.8 + (Number(crossings) % 1_000) / 2_000;
}

const cloning: Cloning = {
  sampleLanguageCodes: ['en', 'de'],
  languageCodesFor: () => ['en'],
  sampleRateHz: 24_000,
  sampleSeconds: { min: 2, max: 30 },
  needsReferenceText: false,
  consentScripts: { 'en-US': 'I agree that my voice becomes tones.' },
  make: async (sample, signal) => {
    signal.throwIfAborted();
    return makeClone(sample);
  },
};

const transpositions = { low: 1, high: 1.2 };

/** The factor of a voice's pitch, which for a blend is part of its id. */
const transpositionOf = ({ voiceId }: Voice): number =>
  voiceId.endsWith('low') ? transpositions.low : Number(/-blend-([\d.]+)$/.exec(voiceId)?.[1] ?? transpositions.high);

function createBlending(voices: readonly Voice[]): Blending {
  const find = (voiceId: string) => voices.find((voice) => voice.voiceId === voiceId);
  return {
    groupOf: (voiceId) => (find(voiceId) ? 'tones' : undefined),
    blend: (blends) =>
      blends.map((parts) => {
        const found = parts.map(({ voiceId }) => find(voiceId));
        const [first] = found;
        if (!first || found.includes(undefined)) return undefined;
        const pitch = parts.reduce((sum, { weight }, i) => sum + weight * transpositionOf(found[i]!), 0);
        return { ...first, voiceId: `${first.engine}-blend-${pitch}`, name: 'Tone, between', labels: {} };
      }),
  };
}

function writeTone(samples: Int16Array, sampleRateHz: number, frequencyHz: number): void {
  const ramp = Math.min(rampSeconds * sampleRateHz, samples.length / 2);
  for (let index = 0; index < samples.length; index++) {
    const edge = Math.min(1, (index + 1) / ramp, (samples.length - index) / ramp);
    samples[index] = Math.round(level * edge * Math.sin((2 * Math.PI * frequencyHz * index) / sampleRateHz));
  }
}

/** The pieces of a segment: each word's tone and the gap after it. */
function* tonesOf({ text, voice, speakingRate, timings, clone }: Segment, sampleRateHz: number): Generator<SpokenPcm> {
  const words = wordsOf(text);
  // Times are rounded from the segment's start, so that nothing drifts.
  const sampleAt = (seconds: number): number => Math.round((seconds / speakingRate) * sampleRateHz);
  let seconds = 0;
  for (const { 0: word, index: from } of words) {
    const start = sampleAt(seconds);
    const toneEnd = sampleAt(seconds + secondsOfWord(word));
    seconds += secondsOfWord(word) + gapSeconds;
    const samples = new Int16Array(sampleAt(seconds) - start);
    writeTone(
      samples.subarray(0, toneEnd - start),
      sampleRateHz,
      pitchOf(word, clone ? clonePitchOf(clone) : transpositionOf(voice)),
    );
    const time = {
      from,
      to: from + word.length,
      startSeconds: start / sampleRateHz,
      endSeconds: toneEnd / sampleRateHz,
    };
    yield timings ? { samples, sampleRateHz, words: [time] } : { samples, sampleRateHz };
  }
}

const endlessSeconds = 90;

function* faultyTones(segment: Segment, sampleRateHz: number, fault: ToneFault): Generator<SpokenPcm> {
  const pieces = [...tonesOf(segment, sampleRateHz)];
  if (fault === 'endless') {
    for (let seconds = 0; seconds < endlessSeconds; ) {
      const piece = pieces[Math.floor(seconds) % pieces.length]!;
      seconds += piece.samples.length / sampleRateHz;
      yield piece;
    }
  }
  // Sends a fifth of a word instead of the whole segment.
  if (fault === 'short') yield { sampleRateHz, samples: pieces[0]!.samples.subarray(0, sampleRateHz / 50) };
  for (const [n, { samples }] of pieces.entries()) {
    const isBad = n >= Math.floor(pieces.length / 2);
    const floats = Float32Array.from(samples, (sample) => sample / 32_768);
    if (isBad && fault === 'NaN') floats[floats.length >> 1] = Number.NaN;
    const changed = toSamples(fault === 'clipped' && isBad ? floats.map((value) => value * 50) : floats);
    if (!changed) throw soundFault('the model generated samples that are not numbers');
    if (fault === 'silent') yield { sampleRateHz, samples: changed.fill(0) };
    else if (fault === 'clipped' || fault === 'NaN') yield { sampleRateHz, samples: changed };
  }
}

function joined(pieces: Iterable<SpokenPcm>): SpokenPcm {
  const all = [...pieces];
  const parts = all.map(({ samples }) => samples);
  return { samples: joinSamples(Int16Array, parts), sampleRateHz: all[0]!.sampleRateHz };
}

export function openTone(options: ToneOptions = {}): ToneEngine {
  const { name = 'tone', sampleRateHz = 16_000, languageCodes = ['en', 'de'] } = options;
  const counts: ToneCounts = { begun: 0, finished: 0, aborted: 0, failed: 0, running: 0, pieces: 0 };
  const segments: Segment[] = [];

  const voice = (pitch: 'low' | 'high'): Voice => ({
    voiceId: `${name}-${pitch}`,
    name: `Tone, ${pitch}`,
    description: 'Says each word as a tone.',
    kind: 'stock',
    engine: name,
    languageCodes,
    labels: { pitch },
    version: '1',
    gainDb: 0,
  });

  let faultyBegun = 0;

  async function* tonesOrTrouble(segment: Segment, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const { failure = new Failure('engine_error'), ...trouble } = engine.trouble;
    if (counts.begun > (trouble.failsAfterSegments ?? Infinity)) throw failure;
    let pieces = 0;
    const { faultySegments = Infinity } = trouble;
    const isFaulty = trouble.fault !== undefined && faultyBegun++ < faultySegments;
    const tones = isFaulty ? faultyTones(segment, sampleRateHz, trouble.fault!) : tonesOf(segment, sampleRateHz);
    for (const piece of trouble.sendsWhole ? [joined(tones)] : tones) {
      if (pieces === trouble.failsAfterPieces) throw failure;
      if (pieces === trouble.hangsAfterPieces) await sleep(2 ** 31 - 1, undefined, { signal });
      if (trouble.pieceDelayMs) await sleep(trouble.pieceDelayMs, undefined, { signal });
      pieces++;
      counts.pieces++;
      yield piece;
      signal.throwIfAborted();
    }
  }

  async function* speak(segment: Segment, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    counts.begun++;
    counts.running++;
    segments.push(segment);
    let end: 'finished' | 'aborted' | 'failed' = 'aborted';
    try {
      yield* tonesOrTrouble(segment, signal);
      end = 'finished';
    } catch (error) {
      if (!signal.aborted) end = 'failed';
      throw error;
    } finally {
      counts.running--;
      counts[end]++;
    }
  }

  const voices = [voice('low'), voice('high')];
  const engine: ToneEngine = {
    name,
    voices,
    capabilities: {
      speakingRates: { min: 0.25, max: 4 },
      timings: true,
      readsNumbers: true,
      segmentCharsMax: 240,
      segmentsAtOnce: 2,
      ...options.capabilities,
    },
    ...(options.clones && { cloning }),
    ...(options.blends && { blending: createBlending(voices) }),
    trouble: options.trouble ?? {},
    counts,
    segments,
    speak,
    close: async () => {},
  };
  return engine;
}

/** The row for src/engines/registry.ts. */
export const defineTone = (options: ToneOptions = {}): EngineDefinition =>
  defineEngine({
    name: options.name ?? 'tone',
    settings: {},
    inspect: async () => ({ state: 'ready', message: 'always there' }),
    open: async () => openTone(options),
  });

/** The bytes of all samples that the engine speaks. */
export async function soundBytesOf(
  tone: Engine,
  text: string,
  voiceId = 'tone-low',
  speakingRate = 1,
): Promise<Buffer> {
  const voice = tone.voices.find((each) => each.voiceId === voiceId)!;
  const segment = { voice, text, languageCode: 'en', speakingRate, timings: false, urgent: true };
  const pieces = await Array.fromAsync(tone.speak(segment, new AbortController().signal));
  return Buffer.concat(
    pieces.map(({ samples: { buffer, byteOffset, byteLength } }) => Buffer.from(buffer, byteOffset, byteLength)),
  );
}

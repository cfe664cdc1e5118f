// The sound of one request, from the engine's pieces to encoded bytes: seams trimmed to the breath a reader would take,
// everything through one pipeline, and the time counted, so that chunks and words can be located in it.
import { type AudioPipeline, openAudioPipeline } from '../audio/audio-pipeline.ts';
import { audioFormats, type FormatName } from '../audio/formats.ts';
import { isLoud, SeamTrimmer } from '../audio/seam.ts';
import type { SpokenPcm, WordTime } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import type { Break } from '../text/segment.ts';
import type { PlannedCut, SpeechPlan } from './plan.ts';
import type { SpeechTimestamps } from './speech-events.ts';
import { estimateWords, type Stretch } from './word-estimate.ts';
import { createWordAt, engineWords, type Placement, type TimedWord, type WordAt } from './word-timing.ts';

/** The longest silence left on either side of a cut, at normal speed; after a sentence it is the engine's own. */
const pauseSecondsMax: Record<Break, number> = { paragraph: Infinity, sentence: Infinity, clause: 0.1, word: 0.02 };
/** How much sound is worked on before others get their turn of the event loop: what makes one event, or costs a few ms. */
const slice = { bytesMax: 30 * 1024, secondsMin: 0.25, secondsMax: 0.7 };
/** A quiet that is shorter is within a word. */
const pauseSecondsMin = 0.1;
/** What is heard where nothing can be spoken. */
const silenceSeconds = 0.25;

export class RequestSound {
  readonly #plan: SpeechPlan;
  /** Finds words in the chunk that was timed last. */
  #chunk: { index: number; wordAt: WordAt } | undefined;
  #pipeline: AudioPipeline | undefined;
  /** Of the segment, from its first piece on. */
  #trimmer: SeamTrimmer | undefined;
  /** What stands for a request that has no sound. */
  #silence = new Int16Array(0);
  #rateHz = 0;
  #sliceSamples = 1;
  /** Samples that went into the pipeline, at the engine's rate. */
  #sent = 0;
  #segmentStart = 0;
  #times: WordTime[] = [];
  /** Whether words are wanted whose times the engine does not report. */
  readonly #isEstimated: boolean;
  /** Where the segment is not quiet, in samples sent, if words are located by that. */
  #sounded: { from: number; to: number }[] = [];

  constructor(plan: SpeechPlan) {
    this.#plan = plan;
    this.#isEstimated = plan.request.timestamps && !plan.binding.engine.capabilities.timings;
  }

  /** How long the sound sent so far lasts for the listener. */
  get seconds(): number {
    return this.#sent === 0 ? 0 : this.#secondsAt(this.#sent);
  }

  #secondsAt(sample: number): number {
    return sample / this.#rateHz / this.#plan.tempo;
  }

  /** Begins a segment. Its pieces follow by `push`, each and then the end prepared before. */
  begin(): void {
    this.#segmentStart = this.seconds;
    this.#times = [];
    this.#sounded = [];
    this.#trimmer = undefined;
  }

  /** Opens the encoder when there is something to encode: the first piece, or silence where the request has no sound. */
  prepare({ endsRequest }: PlannedCut, piece: SpokenPcm | undefined): Promise<void> | undefined {
    if (this.#pipeline || (!piece && !endsRequest)) return undefined;
    const { sampleRateHz } = piece ?? this.#plan.request;
    if (!piece) this.#silence = new Int16Array(Math.round(sampleRateHz * silenceSeconds * this.#plan.tempo));
    return this.#open(sampleRateHz);
  }

  /** The bytes of a piece of the segment, a slice of sound at a time. */
  push(cut: PlannedCut, piece: SpokenPcm): Iterable<Uint8Array> {
    if (piece.sampleRateHz !== this.#rateHz)
      throw new Failure('engine_error', {}, new Error('the sample rate changed'));
    if (piece.words) this.#times.push(...piece.words);
    this.#trimmer ??= this.#trimmerFor(cut);
    return this.#slices(this.#trimmer.push(piece.samples));
  }

  /** The last bytes of the segment. */
  endSegment(): Iterable<Uint8Array> {
    if (!this.#trimmer) return this.#slices(this.#silence);
    return this.#slices(this.#trimmer.end());
  }

  /** When the words of the segment encoded last are heard by a player of the file. */
  timeWords({ chunkIndex, chunk, cut }: PlannedCut): SpeechTimestamps | undefined {
    if (!cut) return undefined;
    if (this.#chunk?.index !== chunkIndex) this.#chunk = { index: chunkIndex, wordAt: createWordAt(chunk) };
    const { wordAt } = this.#chunk;
    if (!this.#isEstimated) {
      const words = engineWords(cut, this.#times, this.#placement, wordAt);
      return { type: 'timestamps', chunkIndex, words, quality: 'engine' };
    }
    const delay = this.#delaySeconds;
    const segment = { startSeconds: this.#segmentStart + delay, endSeconds: this.seconds + delay };
    const sounded = this.#sounded.map(({ from, to }): Stretch => {
      return { startSeconds: this.#secondsAt(from) + delay, endSeconds: this.#secondsAt(to) + delay };
    });
    const words = estimateWords(cut, sounded.length > 0 ? sounded : [segment], wordAt);
    return { type: 'timestamps', chunkIndex, words, quality: 'estimated' };
  }

  /** The words of the segment being encoded that the engine has timed already; none where it gives no times. */
  wordsSoFar({ chunk, cut }: PlannedCut): readonly TimedWord[] {
    const timedTo = this.#times.at(-1)?.to ?? 0;
    const spans = cut?.spans.filter(({ from }) => from < timedTo) ?? [];
    if (!cut || spans.length === 0) return [];
    // What has been timed may not have been sent yet.
    const at = { ...this.#placement, endSeconds: Infinity };
    return engineWords({ ...cut, spans }, this.#times, at, createWordAt(chunk));
  }

  /** How much later a player hears what is encoded. */
  get #delaySeconds(): number {
    const { format, sampleRateHz } = this.#plan.request;
    return (audioFormats[format].delaySamples ?? 0) / sampleRateHz;
  }

  get #placement(): Placement {
    const delay = this.#delaySeconds;
    const { tempo } = this.#plan;
    const droppedSeconds = this.#trimmer ? this.#trimmer.droppedLeadSamples / this.#rateHz : 0;
    return { startSeconds: this.#segmentStart + delay, endSeconds: this.seconds + delay, droppedSeconds, tempo };
  }

  /** The last bytes. */
  end(): Uint8Array {
    return this.#pipeline!.end();
  }

  /** What a whole file begins with in place of what the stream began with; undefined where that is the same. */
  get head(): Uint8Array | undefined {
    return this.#pipeline!.head;
  }

  /** How long all of the sound is, as it was encoded. */
  get encodedSeconds(): number {
    return this.#pipeline!.seconds;
  }

  close(): void {
    this.#pipeline?.close();
  }

  *#slices(samples: Int16Array): Generator<Uint8Array> {
    for (let from = 0; from < samples.length; from += this.#sliceSamples) {
      const part = samples.subarray(from, from + this.#sliceSamples);
      if (this.#isEstimated) this.#noteSounded(part);
      this.#sent += part.length;
      yield this.#pipeline!.push(part);
    }
  }

  #noteSounded(samples: Int16Array): void {
    const pause = pauseSecondsMin * this.#rateHz;
    for (let i = 0; i < samples.length; i++) {
      if (!isLoud(samples[i]!)) continue;
      const at = this.#sent + i;
      const last = this.#sounded.at(-1);
      if (last && at - last.to < pause) last.to = at + 1;
      else this.#sounded.push({ from: at, to: at + 1 });
    }
  }

  async #open(inRateHz: number): Promise<void> {
    const { request, binding, tempo } = this.#plan;
    this.#rateHz = inRateHz;
    const { format, sampleRateHz: outRateHz } = request;
    const { gainDb } = binding.speaker;
    this.#sliceSamples = Math.floor(inRateHz * secondsOfSlice(format, outRateHz));
    this.#pipeline = await openAudioPipeline({ format: audioFormats[format], inRateHz, outRateHz, gainDb, tempo });
  }

  #trimmerFor({ breakBefore, cut, endsRequest }: PlannedCut): SeamTrimmer {
    const seconds = (at: Break | undefined) => (at ? pauseSecondsMax[at] / this.#plan.engineRate : Infinity);
    return new SeamTrimmer({
      sampleRateHz: this.#rateHz,
      leadSecondsMax: seconds(breakBefore),
      trailSecondsMax: endsRequest ? Infinity : seconds(cut?.breakAfter),
    });
  }
}

/** Compressing costs more the longer the sound, and leaves few bytes of it. */
function secondsOfSlice(format: FormatName, sampleRateHz: number): number {
  const { bytesPerSecond, isCompressed } = audioFormats[format];
  if (isCompressed) return slice.secondsMin;
  return Math.min(Math.max(slice.bytesMax / bytesPerSecond(sampleRateHz), slice.secondsMin), slice.secondsMax);
}

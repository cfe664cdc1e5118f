// Joins the engines' pieces of one request into encoded audio. Trims silence at seams, inserts the pauses of the
// markup, and tracks the times of chunks, words and marks in the audio.
import { type AudioPipeline, audioFormats, type FormatName, type Origin, openAudioPipeline } from '../audio.ts';
import type { SpokenPcm, WordTime } from '../engines.ts';
import { Failure } from '../platform/errors.ts';
import { join } from '../platform/pcm.ts';
import type { PlannedCut, Rendering } from './cast.ts';
import { autoLanguage } from './fields.ts';
import type { FileOfTurns } from './live-turn.ts';
import type { SpeechRequest } from './request.ts';
import { DcFilter, EmphasisEnvelope, SeamTrimmer } from './sample-filters.ts';
import type { SpeechMark, SpeechTimestamps } from './speech-events.ts';
import {
  createWordAt,
  engineWords,
  estimateWords,
  type Placement,
  roundToMs,
  type Stretch,
  type TimedWord,
  type WordAt,
} from './word-timing.ts';

/** Longest silence kept on either side of a cut, at normal speed. After a sentence, the engine's silence is kept. */
const pauseSecondsMax = { paragraph: Infinity, sentence: Infinity, clause: 0.1, word: 0.02 };
/** Longest silence before the first sound. More silence would delay the speech. */
const startSecondsMax = 0.025;
/** Silence after the last sound. */
const endSeconds = 0.135;
/** Audio processed between two yields to the event loop: one event, or a few milliseconds of work. */
const slice = { bytesMax: 30 * 1024, secondsMin: 0.25, secondsMax: 0.7 };
/** Shortest silence between words. A shorter silence is part of a word. */
const pauseSecondsMin = 0.1;
/** Length of the silence that is sent if nothing can be spoken. */
const silenceSeconds = 0.25;

export class RequestSound {
  readonly #request: SpeechRequest;
  readonly #origin: Origin | undefined;
  /** The chunk whose words were timed last, and the function that finds its words. */
  #chunk: { index: number; wordAt: WordAt } | undefined;
  #pipeline: AudioPipeline | undefined;
  readonly #file: FileOfTurns | undefined;
  /** Seconds of the file before this audio. */
  readonly #beforeSeconds: number;
  /** Whether the audio is complete, and its file is not. */
  #continues = false;
  /** Sample rate of the incoming audio. */
  #rateHz = 0;
  #tempo = 1;
  #sliceSamples = 1;
  /** Start time of the audio at the current rate and tempo, and the number of its samples sent so far. */
  #begunSeconds = 0;
  #sent = 0;
  /** Number of the segment's samples that have been sent. */
  #segmentSent = 0;
  #segmentStart = 0;
  /** End of the segment's sound. */
  #soundEnd = 0;
  /** Trimmer of the segment, set with its first piece. */
  #trimmer: SeamTrimmer | undefined;
  /** Trimmer that holds the silence after the last sound; undefined after a pause. */
  #trail: SeamTrimmer | undefined;
  #times: WordTime[] = [];
  /** Non-silent stretches of the segment, used to locate words if the engine gives no times. */
  #sounded: Stretch[] = [];
  #isLocated = false;
  /** Whether audio of the segment was sent, the sample rate of the segment, and its filter. */
  #isHeard = false;
  #segmentRateHz = 0;
  #filter: DcFilter | undefined;
  #emphasis: EmphasisEnvelope | undefined;

  constructor(request: SpeechRequest, origin: Origin | undefined, file?: FileOfTurns) {
    this.#request = request;
    this.#origin = origin;
    this.#file = file;
    this.#pipeline = file?.take();
    this.#beforeSeconds = this.#pipeline?.seconds ?? 0;
  }

  /** Duration of the audio sent so far, without the encoder's delay. */
  get seconds(): number {
    return this.#sent === 0 ? this.#begunSeconds : this.#secondsAt(this.#sent);
  }

  /** Start of the last segment in the encoded file, which includes the encoder's delay. */
  get segmentSeconds(): number {
    return this.#segmentStart + this.#delaySeconds;
  }

  /** Duration of the last segment, as far as it was sent. */
  get segmentDuration(): number {
    return this.seconds - this.#segmentStart;
  }

  #secondsAt(sample: number): number {
    return this.#begunSeconds + sample / this.#rateHz / this.#tempo;
  }

  get #delaySeconds(): number {
    const { format, sampleRateHz } = this.#request;
    return (audioFormats[format].delaySamples ?? 0) / sampleRateHz;
  }

  /** Opens the file, unless an earlier turn has. */
  async open(): Promise<void> {
    if (this.#pipeline) return;
    const { format, sampleRateHz: outRateHz } = this.#request;
    const input = { inRateHz: outRateHz, gainDb: 0, tempo: 1 };
    const options = { format: audioFormats[format], outRateHz, origin: this.#origin, ...input };
    this.#pipeline = await openAudioPipeline(options);
    this.#turnTo(input, outRateHz);
  }

  /** Begins a segment. */
  begin(planned: PlannedCut): void {
    this.#times = [];
    this.#sounded = [];
    this.#emphasis = undefined;
    this.#segmentStart = this.seconds;
    this.#isLocated = isTimed(planned, this.#request) && !planned.rendering?.binding.engine.capabilities.timings;
    this.#trimmer = undefined;
    this.#isHeard = false;
  }

  /** Yields the bytes of a piece of the segment, one slice of audio at a time. */
  *push(planned: PlannedCut, { samples: given, sampleRateHz, words }: SpokenPcm): Generator<Uint8Array> {
    if (!this.#trimmer || !this.#filter) {
      this.#segmentRateHz = sampleRateHz;
      this.#trimmer = this.#trimmerFor(planned, sampleRateHz);
      this.#filter = new DcFilter(sampleRateHz);
      const { emphasized } = planned;
      if (emphasized.length > 0) this.#emphasis = new EmphasisEnvelope(emphasized, sampleRateHz);
    }
    if (sampleRateHz !== this.#segmentRateHz)
      throw new Failure('engine_error', {}, new Error('the sample rate changed'));
    if (words) {
      this.#times.push(...words);
      this.#emphasis?.note(words);
    }
    const samples = this.#trimmer.push(this.#filter.process(given));
    if (samples.length === 0) return;
    if (!this.#isHeard) yield* this.#hear(planned, this.#trimmer, sampleRateHz);
    this.#isHeard = true;
    yield* this.#slices(samples, this.#trimmer.droppedLeadSamples);
  }

  /** Yields the bytes after the last piece of the segment. */
  *finish(planned: PlannedCut): Generator<Uint8Array> {
    if (this.#isHeard) this.#soundEnd = this.#secondsAt(this.#sent - this.#trimmer!.trailSamples);
    else if (planned.pauseBeforeMs > 0) yield* this.#pause(planned.pauseBeforeMs / 1000);
    if (!planned.endsRequest) return;
    if (this.#trail) yield* this.#slices(this.#trail.takeTrail(endSeconds * this.#tempo));
    if (this.#trail || this.seconds === 0) yield* this.#pause(this.#trail ? endSeconds : silenceSeconds);
  }

  /** Yields the audio before the first samples of a segment, and prepares the pipeline for the segment. */
  *#hear({ rendering, pauseBeforeMs }: PlannedCut, trimmer: SeamTrimmer, rateHz: number): Generator<Uint8Array> {
    // The segment begins after the pause, so that no word time lies in the silence before the segment.
    if (pauseBeforeMs > 0) {
      const seconds = pauseBeforeMs / 1000 - trimmer.leadSamples / rateHz / rendering!.tempo;
      this.#segmentStart += this.#lackingSeconds(seconds);
      yield* this.#pause(seconds);
    } else if (this.#trail) {
      const trail = this.#trail.takeTrail();
      this.#segmentStart += trail.length / this.#rateHz / this.#tempo;
      yield* this.#slices(trail);
    }
    const rest = this.#turnTo(rendering!, rateHz);
    this.#trail = trimmer;
    this.#segmentStart = this.seconds;
    this.#segmentSent = 0;
    // Every slice costs a turn of the event loop, so empty bytes are skipped.
    if (rest.length > 0) yield rest;
  }

  /** Yields the marks and word times of the last segment, as times in the encoded file. */
  *tell(planned: PlannedCut): Generator<SpeechTimestamps | SpeechMark> {
    const { chunkIndex, marks } = planned;
    const words = isTimed(planned, this.#request) ? this.#timeWords(planned) : [];
    for (const { name, before } of marks) {
      const word = before === undefined ? undefined : words[before];
      const seconds = word?.startSeconds ?? this.seconds + this.#delaySeconds;
      yield { type: 'mark', chunkIndex, kind: 'mark', name, seconds };
    }
    if (!planned.cut || !this.#request.timestamps) return;
    const told = { chunkIndex, words, quality: this.#isLocated ? 'estimated' : 'engine' } as const;
    const isAuto = this.#request.languageCode === autoLanguage;
    yield { type: 'timestamps', ...told, ...(isAuto && { languageCode: planned.rendering?.languageCode }) };
  }

  #timeWords({ chunkIndex, chunk, cut }: PlannedCut): TimedWord[] {
    if (!cut) return [];
    if (this.#chunk?.index !== chunkIndex) this.#chunk = { index: chunkIndex, wordAt: createWordAt(chunk) };
    const { wordAt } = this.#chunk;
    if (!this.#isLocated) {
      const words = engineWords(cut, this.#times, this.#placement, wordAt);
      // Engines end the last word before its sound has decayed, or after the silence that follows it.
      const last = words.at(-1);
      if (last) last.endSeconds = Math.max(last.startSeconds, roundToMs(this.#placement.endSeconds));
      return words;
    }
    const delay = this.#delaySeconds;
    const segment = { startSeconds: this.#segmentStart + delay, endSeconds: this.seconds + delay };
    const sounded = this.#sounded.map(({ startSeconds, endSeconds }): Stretch => {
      return { startSeconds: startSeconds + delay, endSeconds: endSeconds + delay };
    });
    return estimateWords(cut, sounded.length > 0 ? sounded : [segment], wordAt);
  }

  /** Words of the current segment that the engine has timed so far; empty if the engine gives no times. */
  wordsSoFar({ chunk, cut }: PlannedCut): readonly TimedWord[] {
    const timedTo = this.#times.at(-1)?.to ?? 0;
    const spans = cut?.spans.filter(({ from }) => from < timedTo) ?? [];
    if (!cut || spans.length === 0) return [];
    // Times are not limited to the audio sent so far, because timed words may be sent later.
    const at = { ...this.#placement, endSeconds: Infinity };
    return engineWords({ ...cut, spans }, this.#times, at, createWordAt(chunk));
  }

  get #placement(): Placement {
    const delay = this.#delaySeconds;
    const droppedSeconds = this.#trimmer ? this.#trimmer.droppedLeadSamples / this.#rateHz : 0;
    const segment = { startSeconds: this.#segmentStart + delay, endSeconds: this.#soundEnd + delay };
    return { ...segment, droppedSeconds, tempo: this.#tempo };
  }

  /** Ends the audio and returns the last bytes; those that end the file only if no other turn follows in it. */
  end(): Uint8Array {
    if (!this.#file || this.#file.isLastTurn()) return this.#pipeline!.end();
    this.#continues = true;
    const { format, sampleRateHz } = this.#request;
    // The audio ends with silence. If the encoder holds back more than that, it receives more.
    const heldSeconds = (audioFormats[format].heldSamples ?? 0) / sampleRateHz;
    const rest = this.#pipeline!.silence(Math.max(0, heldSeconds - endSeconds));
    return join(Uint8Array, [...rest, this.#pipeline!.flush()]);
  }

  /** Bytes to put in place of the file's start once the file is complete; undefined if the start does not change. */
  get head(): Uint8Array | undefined {
    return this.#pipeline!.head;
  }

  /** Duration of all encoded audio. */
  get encodedSeconds(): number {
    return this.#pipeline!.seconds - this.#beforeSeconds;
  }

  /** Frees the audio. A file of turns continues if the audio is complete, or if there is none. */
  close(): void {
    if (!this.#pipeline) return;
    if (this.#file && (this.#continues || this.seconds === 0)) this.#file.giveBack(this.#pipeline);
    else this.#pipeline.close();
  }

  /**
   * Encodes samples. `dropped` is the number of samples trimmed from the start of the segment; undefined if `samples`
   * are silence around the segment.
   */
  *#slices(samples: Int16Array, dropped?: number): Generator<Uint8Array> {
    for (let from = 0; from < samples.length; from += this.#sliceSamples) {
      const part = samples.subarray(from, from + this.#sliceSamples);
      const isSegment = dropped !== undefined;
      if (isSegment && this.#isLocated) this.#noteSounded(part);
      const factors = isSegment ? this.#emphasis?.factorsFor(dropped + this.#segmentSent, part.length) : undefined;
      this.#sent += part.length;
      this.#segmentSent += part.length;
      yield this.#pipeline!.push(part, factors);
    }
  }

  #noteSounded(samples: Int16Array): void {
    const { loudFrom } = this.#trimmer!;
    for (let i = 0; i < samples.length; i++) {
      if (Math.abs(samples[i]!) < loudFrom) continue;
      const startSeconds = this.#secondsAt(this.#sent + i);
      const last = this.#sounded.at(-1);
      if (last && startSeconds - last.endSeconds < pauseSecondsMin / this.#tempo) last.endSeconds = startSeconds;
      else this.#sounded.push({ startSeconds, endSeconds: startSeconds });
    }
  }

  /** Prepares the pipeline for audio of this rate, gain and tempo. Returns the last bytes of the previous input. */
  #turnTo({ gainDb, tempo }: Pick<Rendering, 'gainDb' | 'tempo'>, inRateHz: number): Uint8Array {
    const input = { inRateHz, gainDb, tempo };
    const { format, sampleRateHz: outRateHz } = this.#request;
    let bytes: Uint8Array = nothing;
    try {
      if (inRateHz === this.#rateHz && tempo === this.#tempo) {
        this.#pipeline!.setGain(gainDb);
        return bytes;
      }
      if (this.#sent > 0) bytes = this.#pipeline!.endInput();
      this.#pipeline!.setInput(input);
    } catch (error) {
      // A server may state any rate.
      throw error instanceof RangeError ? new Failure('engine_error', {}, error) : error;
    }
    this.#rateHz = inRateHz;
    this.#tempo = tempo;
    this.#sliceSamples = Math.floor(inRateHz * secondsOfSlice(format, outRateHz));
    this.#beginInput();
    return bytes;
  }

  #beginInput(): void {
    this.#begunSeconds = this.encodedSeconds;
    this.#sent = 0;
  }

  /** Yields silence that extends the silence after the last sound to this length. */
  *#pause(seconds: number): Generator<Uint8Array> {
    const lackingSeconds = this.#lackingSeconds(seconds);
    this.#trail = undefined;
    for (const bytes of this.#pipeline!.silence(lackingSeconds)) {
      this.#beginInput();
      yield bytes;
    }
  }

  #lackingSeconds(seconds: number): number {
    const quietSeconds = this.#trail ? this.#trail.trailSamples / this.#rateHz / this.#tempo : 0;
    return Math.max(0, seconds - quietSeconds);
  }

  #trimmerFor({ breakBefore, cut, pauseBeforeMs, pauseAfterMs, rendering }: PlannedCut, rateHz: number): SeamTrimmer {
    const { engineRate, tempo, binding } = rendering!;
    const seconds = (at: keyof typeof pauseSecondsMax | undefined) =>
      at ? pauseSecondsMax[at] / engineRate : Infinity;
    const leadSecondsMax = this.#trail ? seconds(breakBefore) : startSecondsMax * tempo;
    const shortestMs = Math.min(pauseBeforeMs || Infinity, pauseAfterMs || Infinity);
    return new SeamTrimmer({
      sampleRateHz: rateHz,
      gainDb: binding.speaker.gainDb,
      leadSecondsMax: pauseBeforeMs > 0 ? 0 : leadSecondsMax,
      trailSecondsMax: seconds(cut?.breakAfter),
      // Both margins must fit into the shorter pause, so each is at most half of it. The limit is scaled by `tempo`
      // because the audio is stretched later.
      marginSecondsMax: Math.min(shortestMs / 2000, startSecondsMax) * tempo,
    });
  }
}

const nothing = new Uint8Array();

/** Compressed formats use the shortest slice: compressing costs more per second of audio and yields few bytes. */
function secondsOfSlice(format: FormatName, sampleRateHz: number): number {
  const { bytesPerSecond, isCompressed } = audioFormats[format];
  if (isCompressed) return slice.secondsMin;
  return Math.min(Math.max(slice.bytesMax / bytesPerSecond(sampleRateHz), slice.secondsMin), slice.secondsMax);
}

const isTimed = ({ marks }: PlannedCut, { timestamps }: SpeechRequest): boolean => timestamps || marks.length > 0;

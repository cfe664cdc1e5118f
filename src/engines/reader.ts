// Takes audio as fast as the engine speaks, so that a slow reader does not occupy the engine. If the call's reader is
// slow (pace.ts) and the engine can repeat the segment, only `stalledBytesMax` bytes are kept. The rest is dropped, and
// spoken again when the reader continues. For other engines, the whole segment is kept. Small waiting pieces are joined,
// since each piece costs a turn of the event loop.

import { Failure } from '../platform/errors.ts';
import { type Pace, slowMs } from '../platform/pace.ts';
import { join } from '../platform/pcm.ts';
import type { SpokenPcm } from './engine.ts';

/** Speaks the segment. Resolves when all of its audio was pushed. */
export type Run = (push: (piece: SpokenPcm) => void, signal: AbortSignal) => Promise<void>;

interface ReadOptions {
  run: Run;
  /** Returns a run that repeats the segment with identical samples, if that is possible. */
  again(): Run | undefined;
  /** Signals that end the segment, with their reason as its error. */
  signals: readonly AbortSignal[];
  pace?: Pace | undefined;
}

/** About two seconds of audio at 16 kHz. */
const stalledBytesMax = 65_536;
/** Small pieces are joined up to this length, which fits into one event. Larger pieces are not copied. */
const joinedSamplesMax = 15_360;
/** Shared, because creating an error for each call would capture a stack trace each time. */
const readerLeft = new Error('the reader left');
const readerStopped = new Error('the reader has stopped');

/** The audio of one segment. The engine speaks from the start, not only when the reader asks. */
export class SegmentReader implements AsyncIterableIterator<SpokenPcm, undefined> {
  readonly #options: ReadOptions;
  readonly #unwatch: (() => void) | undefined;
  /** The present run; another one follows if its end was dropped. */
  #running = new AbortController();
  #pieces: SpokenPcm[] = [];
  #bytes = 0;
  /** Position up to which the reader has received the segment. */
  readonly #place = { samples: 0, words: 0 };
  #ended: { error?: unknown } | undefined;
  #isStalled = false;
  /** Whether the end of the run was dropped. */
  #isCut = false;
  #wake = () => {};

  constructor(options: ReadOptions) {
    this.#options = options;
    this.#unwatch = options.pace?.after(slowMs, () => {
      this.#isStalled = true;
      this.#cut();
    });
    for (const signal of options.signals) signal.addEventListener('abort', this.#abort);
    const aborted = options.signals.find((signal) => signal.aborted);
    if (aborted) this.#end({ error: aborted.reason });
    else this.#start(options.run);
  }

  async next(): Promise<IteratorResult<SpokenPcm, undefined>> {
    this.#isStalled = false;
    for (;;) {
      const value = this.#take();
      if (value) {
        this.#bytes -= value.samples.byteLength;
        this.#place.samples += value.samples.length;
        this.#place.words += value.words?.length ?? 0;
        return { done: false, value };
      }
      if (this.#ended) {
        const { error } = this.#ended;
        this.#leave();
        if ('error' in this.#ended) throw error;
        return { done: true, value: undefined };
      }
      if (this.#isCut) this.#start(this.#options.again()!);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<SpokenPcm, undefined>> {
    this.#end({});
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next piece, joined with the following pieces if possible. Pieces with word times are not joined. */
  #take(): SpokenPcm | undefined {
    const first = this.#pieces.shift();
    if (!first || first.words) return first;
    const joined = [first.samples];
    let count = first.samples.length;
    for (let next = this.#pieces[0]; next && !next.words; next = this.#pieces[0]) {
      count += next.samples.length;
      if (count > joinedSamplesMax || next.sampleRateHz !== first.sampleRateHz) break;
      joined.push(next.samples);
      this.#pieces.shift();
    }
    return joined.length === 1 ? first : { ...first, samples: join(Int16Array, joined) };
  }

  /** Starts a run, and skips the part that the reader already has. */
  #start(run: Run): void {
    const own = new AbortController();
    this.#running = own;
    this.#isCut = false;
    const left = { ...this.#place };
    const isPresent = () => this.#running === own && !this.#isCut && !own.signal.aborted;
    const push = (piece: SpokenPcm) => {
      const rest = isPresent() ? restOf(piece, left) : undefined;
      if (!rest) return;
      this.#pieces.push(rest);
      this.#bytes += rest.samples.byteLength;
      if (this.#isStalled) this.#cut();
      this.#wake();
    };
    const end = (ended: { error?: unknown }) => {
      if (!isPresent()) return;
      const isShorter = !('error' in ended) && left.samples > 0;
      this.#ended = isShorter ? { error: shorter() } : ended;
      this.#wake();
    };
    run(push, own.signal).then(
      () => end({}),
      (error) => end({ error }),
    );
  }

  readonly #abort = ({ target }: Event) => this.#end({ error: (target as AbortSignal).reason });

  /** Ends the segment before its end. */
  #end(ended: { error?: unknown }): void {
    this.#ended ??= ended;
    if ('error' in ended) this.#ended = ended;
    this.#leave();
    this.#wake();
  }

  #leave(): void {
    this.#unwatch?.();
    for (const signal of this.#options.signals) signal.removeEventListener('abort', this.#abort);
    this.#pieces = [];
    this.#running.abort(readerLeft);
  }

  /** Drops pieces beyond the limit and stops the run. The end of that run is then not the end of the segment. */
  #cut(): void {
    if (this.#bytes <= stalledBytesMax || (this.#ended && 'error' in this.#ended) || !this.#options.again()) return;
    while (this.#bytes > stalledBytesMax) this.#bytes -= this.#pieces.pop()!.samples.byteLength;
    // The samples are copied, because a view keeps its whole buffer in memory.
    this.#pieces = this.#pieces.map((piece) => ({ ...piece, samples: piece.samples.slice() }));
    this.#isCut = true;
    this.#ended = undefined;
    this.#running.abort(readerStopped);
  }
}

const shorter = () => new Failure('engine_error', {}, new Error('the segment was shorter the second time'));

/** The piece without the part to skip; undefined if nothing is left. */
function restOf(piece: SpokenPcm, left: { samples: number; words: number }): SpokenPcm | undefined {
  if (left.samples === 0 && left.words === 0) return piece;
  const samples = piece.samples.subarray(left.samples);
  const words = piece.words?.slice(left.words);
  left.samples = Math.max(0, left.samples - piece.samples.length);
  left.words = Math.max(0, left.words - (piece.words?.length ?? 0));
  if (samples.length === 0 && !words?.length) return undefined;
  return { ...piece, samples, ...(words && { words }) };
}

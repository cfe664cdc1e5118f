// Takes audio as fast as the engine speaks, so that a slow reader does not occupy the engine. If the call's reader is
// slow (pace.ts) and the engine can repeat the segment, only `stalledBytesMax` bytes are kept. The rest is dropped,
// and spoken again when the reader continues. For other engines, the whole segment is kept. Small waiting pieces are
// joined, since each piece costs a turn of the event loop.

import { Failure } from '../platform/errors.ts';
import { type Pace, slowMs } from '../platform/pace.ts';
import { join } from '../platform/pcm.ts';
import type { SpokenPcm } from './engine.ts';

type Run = (signal: AbortSignal) => AsyncIterable<SpokenPcm>;

interface ReadOptions {
  run: Run;
  /** Repeats the run with identical samples. */
  again?: Run | undefined;
  signal: AbortSignal;
  pace: Pace | undefined;
}

/** About two seconds of audio at 16 kHz. */
const stalledBytesMax = 65_536;
/** Small pieces are joined up to this length, which fits into one event. Larger pieces are not copied. */
const joinedSamplesMax = 15_360;
/** Shared, because creating an error for each call would capture a stack trace each time. */
const readerLeft = new Error('the reader left');

/** Position up to which a reader has received a segment. */
interface Place {
  samples: number;
  words: number;
}

export async function* readAtEngineSpeed({ run, again, signal, pace }: ReadOptions): AsyncGenerator<SpokenPcm> {
  const place: Place = { samples: 0, words: 0 };
  let reading = new Reading(run, signal, place);
  const unwatch = again && pace?.after(slowMs, () => reading.stall());
  try {
    for (;;) {
      const piece = await reading.next();
      if (piece) {
        place.samples += piece.samples.length;
        place.words += piece.words?.length ?? 0;
        yield piece;
      } else if (again && reading.isCut) {
        reading.leave();
        reading = new Reading(again, signal, place);
      } else return;
    }
  } finally {
    unwatch?.();
    reading.leave();
  }
}

/** Reads one run of the engine, from a position in the segment. */
class Reading {
  #pieces: SpokenPcm[] = [];
  #bytes = 0;
  #ended: { error?: unknown } | undefined;
  #isStalled = false;
  #wake = () => {};
  /** Whether the end of the run was dropped. */
  isCut = false;
  readonly #signal: AbortSignal;
  readonly #leaving = new AbortController();

  constructor(run: Run, signal: AbortSignal, place: Place) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#abort, { once: true });
    if (signal.aborted) this.#abort();
    this.#read(run, { ...place }).then(
      () => this.#end({}),
      (error) => this.#end({ error }),
    );
  }

  /** The next piece; undefined at the end or if the rest was dropped. */
  async next(): Promise<SpokenPcm | undefined> {
    this.#isStalled = false;
    for (;;) {
      const piece = this.#take();
      if (piece) {
        this.#bytes -= piece.samples.byteLength;
        return piece;
      }
      if (this.#ended && 'error' in this.#ended) throw this.#ended.error;
      if (this.#ended || this.isCut) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
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

  /** Called when nobody has read for a while. */
  stall(): void {
    this.#isStalled = true;
    this.#cut();
  }

  leave(): void {
    this.#signal.removeEventListener('abort', this.#abort);
    this.#pieces = [];
    this.#leaving.abort(readerLeft);
  }

  readonly #abort = () => {
    this.#pieces = [];
    this.#ended = { error: this.#signal.reason };
    this.#wake();
  };

  #end(ended: { error?: unknown }): void {
    // If the rest was dropped, the end of this run is not the end of the segment.
    if (!this.isCut) this.#ended ??= ended;
    this.#wake();
  }

  /** Reads the run, and skips the part that the reader already has. */
  async #read(run: Run, left: Place): Promise<void> {
    for await (const piece of run(AbortSignal.any([this.#signal, this.#leaving.signal]))) {
      if (this.isCut || this.#leaving.signal.aborted) return;
      const rest = restOf(piece, left);
      if (!rest) continue;
      this.#pieces.push(rest);
      this.#bytes += rest.samples.byteLength;
      if (this.#isStalled) this.#cut();
      this.#wake();
    }
    if (left.samples > 0) throw new Failure('engine_error', {}, new Error('the segment was shorter the second time'));
  }

  /** Drops pieces beyond the limit and stops the run. */
  #cut(): void {
    if (this.#bytes <= stalledBytesMax || (this.#ended && 'error' in this.#ended)) return;
    while (this.#bytes > stalledBytesMax) this.#bytes -= this.#pieces.pop()!.samples.byteLength;
    // The samples are copied, because a view keeps its whole buffer in memory.
    this.#pieces = this.#pieces.map((piece) => ({ ...piece, samples: piece.samples.slice() }));
    this.isCut = true;
    this.#leaving.abort(new Error('the reader has stopped'));
  }
}

/** The piece without the part to skip; undefined if nothing is left. */
function restOf(piece: SpokenPcm, left: Place): SpokenPcm | undefined {
  if (left.samples === 0 && left.words === 0) return piece;
  const samples = piece.samples.subarray(left.samples);
  const words = piece.words?.slice(left.words);
  left.samples = Math.max(0, left.samples - piece.samples.length);
  left.words = Math.max(0, left.words - (piece.words?.length ?? 0));
  if (samples.length === 0 && !words?.length) return undefined;
  return { ...piece, samples, ...(words && { words }) };
}

// Pushes audio through a stream in pieces of critical sizes, and collects the output.
import { join } from '../../src/platform/pcm.ts';

interface Stream {
  process(samples: Float32Array): Float32Array;
  flush(): Float32Array;
}

export const allAtOnce = (stream: Stream, samples: Float32Array): Float32Array =>
  join(Float32Array, [stream.process(samples), stream.flush()]);

export function inPieces(stream: Stream, samples: Float32Array): Float32Array {
  const out = [...pieces(samples)].map((piece) => stream.process(piece));
  return join(Float32Array, [...out, stream.flush()]);
}

/** Splits the samples into pieces of zero, one, a few and several thousand samples, in turn. */
export function* pieces<T extends Float32Array | Int16Array>(samples: T): Generator<T> {
  const sizes = [0, 1, 480, 7, 1600, 5000, 2];
  for (let from = 0, n = 0; from < samples.length; n++) {
    const size = sizes[n % sizes.length]!;
    yield samples.subarray(from, from + size) as T;
    from += size;
  }
}

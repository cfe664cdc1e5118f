// Results of a local part of a model for ranges of frames. The part sees some frames around each frame, and the next
// range overlaps the last one, so results that are needed again are kept.
import type { Values } from './onnx-runtime.ts';

export interface LocalPart {
  frames: number;
  /** Frames that the part sees at each side. */
  context: number;
  /** Ranges begin and end at multiples of this number of frames. */
  step?: number;
  /** Columns of the result for each frame. */
  columns?: number;
  /** Computes the frames of a range. Those near its ends are wrong, unless they are the ends of the utterance. */
  compute(from: number, to: number): Promise<Values>;
}

/** Returns the results of a range, which begins and ends no earlier than the range before. */
export function keepFrames({ frames, context, step = 1, columns = 1, compute }: LocalPart) {
  let kept: Values & { from: number; to: number } = { data: new Float32Array(0), dims: [1, 0, 0], from: 0, to: 0 };
  const cut = (values: Values, from: number, to: number) => cutFrames(values, columns * from, columns * to);
  return async (from: number, to: number): Promise<Values> => {
    if (to > kept.to) {
      const added = Math.max(from, kept.to);
      const first = step * Math.max(0, Math.floor((added - context) / step));
      const end = Math.min(frames, step * Math.ceil((to + context) / step));
      const right = cut(await compute(first, end), added - first, to - first);
      const all = kept.to > from ? join(cut(kept, from - kept.from, kept.to - kept.from), right) : right;
      kept = { ...all, from, to };
    }
    return cut(kept, from - kept.from, to - kept.from);
  };
}

/** A range of the last dimension. */
export function cutFrames({ data, dims }: Values, from: number, to: number): Values {
  const width = dims.at(-1)!;
  const rows = data.length / width;
  if (from === 0 && to === width) return { data, dims };
  const result = new Float32Array(rows * (to - from));
  for (let row = 0; row < rows; row++) {
    result.set(data.subarray(row * width + from, row * width + to), row * (to - from));
  }
  return { data: result, dims: [1, rows, to - from] };
}

function join(one: Values, other: Values): Values {
  const [, rows = 0, width = 0] = one.dims;
  const [, , added = 0] = other.dims;
  const data = new Float32Array(rows * (width + added));
  for (let row = 0; row < rows; row++) {
    data.set(one.data.subarray(row * width, (row + 1) * width), row * (width + added));
    data.set(other.data.subarray(row * added, (row + 1) * added), row * (width + added) + width);
  }
  return { data, dims: [1, rows, width + added] };
}

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

export class KeptFrames {
  readonly #part: LocalPart;
  readonly #columns: number;
  #kept: Values = { data: new Float32Array(0), dims: [1, 0, 0] };
  #from = 0;
  #to = 0;

  constructor(part: LocalPart) {
    this.#part = part;
    this.#columns = part.columns ?? 1;
  }

  /** The results of a range, which begins and ends no earlier than the range before. */
  async range(from: number, to: number): Promise<Values> {
    const { frames, context, step = 1, compute } = this.#part;
    if (to > this.#to) {
      const added = Math.max(from, this.#to);
      const first = step * Math.max(0, Math.floor((added - context) / step));
      const end = Math.min(frames, step * Math.ceil((to + context) / step));
      const right = this.#cut(await compute(first, end), added - first, to - first);
      this.#kept =
        this.#to > from ? join(this.#cut(this.#kept, from - this.#from, this.#to - this.#from), right) : right;
      this.#from = from;
      this.#to = to;
    }
    return this.#cut(this.#kept, from - this.#from, to - this.#from);
  }

  /** The samples of a range, which are the columns of each frame. */
  samples = async (from: number, to: number): Promise<Float32Array> => (await this.range(from, to)).data;

  #cut = (values: Values, from: number, to: number): Values =>
    cutFrames(values, this.#columns * from, this.#columns * to);
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

// Encodes a FLAC frame (RFC 9639, section 9) with one channel of 16 bits, choosing the smallest kind of subframe:
//     a header | the subframe | up to 7: 0 | 16 CRC-16
//     subframe: 1: 0 | 6 kind | 1: 0, and
//         0  constant:    16 the value of all samples
//         1  verbatim:    16 each sample
//         8  unpredicted: the samples in Rice codes
//        31 + order       16 each of `order` samples | 4 bits per coefficient - 1 | 5 shift | coefficients | Rice codes

// Writes bit fields, most significant bit first, into a growing buffer, and computes the CRCs of FLAC frames (RFC 9639,
// sections 9.1.8 and 9.3).

/** Maximum number of bits per call. Up to seven more bits may be pending in the 32-bit number. */
const widthMax = 24;

class BitWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;
  #waiting = 0;
  #waitingBits = 0;

  /** Writes the lowest `width` bits of `value`, 0 to 24. */
  put(value: number, width: number): void {
    this.#waiting = (this.#waiting << width) | (value & ((1 << width) - 1));
    this.#waitingBits += width;
    while (this.#waitingBits >= 8) {
      this.#waitingBits -= 8;
      this.#push(this.#waiting >>> this.#waitingBits);
    }
  }

  /** Writes a Rice code: floor(value / 2^parameter) zeros, a one, and the remainder in `parameter` bits. */
  putRice(value: number, parameter: number): void {
    const zeros = value >>> parameter;
    const rest = (1 << parameter) | (value & ((1 << parameter) - 1));
    const width = zeros + 1 + parameter;
    const isShort = width <= widthMax;
    for (let left = isShort ? 0 : zeros; left > 0; left -= widthMax) this.put(0, Math.min(left, widthMax));
    this.put(rest, isShort ? width : parameter + 1);
  }

  /** Fills the last byte with zeros. */
  align(): void {
    if (this.#waitingBits > 0) this.put(0, 8 - this.#waitingBits);
  }

  /** Returns the bytes written so far. The last byte must be complete. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #push(byte: number): void {
    if (this.#length === this.#bytes.length) {
      const grown = new Uint8Array(this.#length * 2);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes[this.#length++] = byte;
  }
}

/** CRC-8 with the polynomial 0x07. */
const crc8 = (bytes: Uint8Array): number => bytes.reduce((crc, byte) => crc8Table[crc ^ byte]!, 0);

/** CRC-16 with the polynomial 0x8005. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ crc16Table[(crc >> 8) ^ byte]!;
  return crc;
}

const crc8Table = tableOf(8, 0x07);
const crc16Table = tableOf(16, 0x8005);

function tableOf(width: number, polynomial: number): Uint16Array {
  const highest = 1 << (width - 1);
  return Uint16Array.from({ length: 256 }, (_, byte) => {
    let crc = byte << (width - 8);
    for (let bit = 0; bit < 8; bit++) crc = crc & highest ? (crc << 1) ^ polynomial : crc << 1;
    return crc & (highest * 2 - 1);
  });
}

/** Codes of block lengths. A code means 256 * 2^(code - 8) samples; code 7 means that the length follows. */
const lengthCodes: Readonly<Record<number, number>> = { 2048: 11, 4096: 12 };
const lengthFollows = 7;
const rateCodes: Readonly<Record<number, number>> = {
  8000: 4,
  16000: 5,
  22050: 6,
  24000: 7,
  32000: 8,
  44100: 9,
  48000: 10,
};

interface FrameHeader {
  length: number;
  sampleRateHz: number;
  number: number;
}

function flacFrameHeader({ length, sampleRateHz, number }: FrameHeader): Uint8Array {
  const bits = new BitWriter();
  const lengthCode = lengthCodes[length] ?? lengthFollows;
  bits.put(0x3ffe << 2, 16);
  bits.put(lengthCode, 4);
  bits.put(rateCodes[sampleRateHz]!, 4);
  bits.put(0b0000_100_0, 8);
  for (const byte of inUtf8(number)) bits.put(byte, 8);
  if (lengthCode === lengthFollows) bits.put(length - 1, 16);
  bits.put(crc8(bits.bytes()), 8);
  return bits.bytes();
}

/** Encodes a number like a code point in UTF-8, extended to 36 bits. */
function inUtf8(number: number): number[] {
  if (number < 0x80) return [number];
  const rest: number[] = [];
  let left = number;
  do {
    rest.unshift(0x80 | (left % 64));
    left = Math.floor(left / 64);
  } while (left >= 2 ** (6 - rest.length));
  return [((0xff00 >> (rest.length + 1)) & 0xff) | left, ...rest];
}

interface Predictor {
  /** The weights of earlier samples, the nearest sample first. */
  coefficients: Int32Array;
  /** The sum of the products is divided by 2^shift. */
  shift: number;
}

/** The highest order in FLAC's streamable subset up to 48 kHz. */
const orderMax = 12;
/** Number of bits per coefficient. A sum of 12 products of 16 by 12 bits fits into 32 bits. */
const coefficientBits = 12;
const shiftMax = 15;

/** Returns the predictor with the fewest estimated bits, or undefined if no predictor saves bits. */
function findPredictor(samples: Int16Array): Predictor | undefined {
  const correlation = autocorrelate(samples);
  if (correlation[0] === 0) return undefined;
  let error = correlation[0]!;
  let weights: number[] = [];
  let best: { bits: number; weights: number[] } = { bits: bitsFor(error, samples.length, 0), weights };
  for (let order = 1; order <= Math.min(orderMax, samples.length - 1); order++) {
    const expected = weights.reduce((sum, weight, i) => sum + weight * correlation[order - 1 - i]!, 0);
    const reflection = (correlation[order]! - expected) / error;
    weights = [...weights.map((weight, i) => weight - reflection * weights[order - 2 - i]!), reflection];
    error *= 1 - reflection * reflection;
    if (!(error > 0)) break;
    const bits = bitsFor(error, samples.length, order);
    if (bits < best.bits) best = { bits, weights };
  }
  return best.weights.length > 0 ? quantise(best.weights) : undefined;
}

/** Returns the prediction errors of all samples after the first `order` samples, which cannot be predicted. */
function residualOf(samples: Int16Array, { coefficients, shift }: Predictor): Int32Array {
  const order = coefficients.length;
  const residual = new Int32Array(samples.length - order);
  for (let i = order; i < samples.length; i++) {
    let sum = 0;
    for (let n = 0; n < order; n++) sum += coefficients[n]! * samples[i - 1 - n]!;
    residual[i - order] = samples[i]! - (sum >> shift);
  }
  return residual;
}

/** Returns the autocorrelation of the block. A Welch window keeps the ends of the block from acting as jumps. */
function autocorrelate(samples: Int16Array): Float64Array {
  const half = (samples.length - 1) / 2;
  const windowed = new Float64Array(samples.length);
  for (let i = 0; i < windowed.length; i++) windowed[i] = samples[i]! * (1 - ((i - half) / (half + 1)) ** 2);
  return Float64Array.from({ length: Math.min(orderMax, samples.length - 1) + 1 }, (_, lag) => {
    let sum = 0;
    for (let i = lag; i < windowed.length; i++) sum += windowed[i]! * windowed[i - lag]!;
    return sum;
  });
}

/** Estimates the size of a block in bits from its prediction error. Omits the bits that all predictors share. */
const bitsFor = (error: number, length: number, order: number): number =>
  length * Math.max(0.5 * Math.log2(error / length), 0) + order * (coefficientBits + 16);

/** Quantises the weights and carries each rounding error to the next weight. Undefined if a weight is too large. */
function quantise(weights: readonly number[]): Predictor | undefined {
  const largest = Math.max(...weights.map(Math.abs));
  const shift = Math.min(coefficientBits - 2 - Math.floor(Math.log2(largest)), shiftMax);
  if (shift < 0) return undefined;
  const limit = 2 ** (coefficientBits - 1);
  let error = 0;
  const coefficients = Int32Array.from(weights, (weight) => {
    const exact = weight * 2 ** shift + error;
    const whole = Math.max(-limit, Math.min(limit - 1, Math.round(exact)));
    error = exact - whole;
    return whole;
  });
  return { coefficients, shift };
}

interface RicePlan {
  /** The block has 2^order partitions. */
  order: number;
  parameters: readonly number[];
  /** Upper bound on the size in bits. */
  bits: number;
}

const orderLargest = 6;
const parameterMax = 14;
const parameterBits = 4;
/** The header has two bits for the coding method and four for the order. */
const headBits = 6;

/** Returns the best coding of the residual of a block. The residual lacks the warm-up samples. */
function planRice(residual: Int32Array, blockLength: number): RicePlan {
  const lead = blockLength - residual.length;
  let order = orderLargest;
  while (order > 0 && (blockLength % 2 ** order !== 0 || blockLength / 2 ** order <= lead)) order--;
  let sums = sumsOf(residual, blockLength, order);
  let best: RicePlan | undefined;
  for (; order >= 0; order--) {
    const length = blockLength / 2 ** order;
    const choices = sums.map((sum, i) => choose(sum, i === 0 ? length - lead : length));
    const bits = choices.reduce((total, choice) => total + choice.bits, headBits);
    if (!best || bits <= best.bits) best = { order, parameters: choices.map(({ parameter }) => parameter), bits };
    sums = sums.flatMap((sum, i) => (i % 2 === 0 ? [sum + (sums[i + 1] ?? 0)] : []));
  }
  return best!;
}

function writeRice(bits: BitWriter, residual: Int32Array, { order, parameters }: RicePlan, blockLength: number) {
  bits.put(0, 2);
  bits.put(order, 4);
  const length = blockLength / parameters.length;
  let at = residual.length - blockLength;
  for (const parameter of parameters) {
    bits.put(parameter, parameterBits);
    for (let i = Math.max(at, 0); i < at + length; i++) bits.putRice(fold(residual[i]!), parameter);
    at += length;
  }
}

const fold = (value: number): number => (value << 1) ^ (value >> 31);

function sumsOf(residual: Int32Array, blockLength: number, order: number): number[] {
  const length = blockLength / 2 ** order;
  const lead = blockLength - residual.length;
  const sums: number[] = Array(2 ** order).fill(0);
  for (let i = 0; i < residual.length; i++) sums[Math.floor((i + lead) / length)]! += fold(residual[i]!);
  return sums;
}

/** Returns the Rice parameter for `count` numbers that add up to `sum`, and an upper bound on their size in bits. */
function choose(sum: number, count: number): { parameter: number; bits: number } {
  const mean = count > 0 ? sum / count : 0;
  const parameter = Math.min(Math.max(Math.floor(Math.log2(mean * Math.LN2 + 1)), 0), parameterMax);
  return { parameter, bits: parameterBits + count * (parameter + 1) + Math.floor(sum / 2 ** parameter) };
}

const sampleBits = 16;
const [constantKind, verbatimKind, unpredictedKind, predictedKind] = [0, 1, 8, 31] as const;

export function flacFrame(samples: Int16Array, sampleRateHz: number, frameNumber: number): Uint8Array<ArrayBuffer> {
  const bits = new BitWriter();
  const header = flacFrameHeader({ length: samples.length, sampleRateHz, number: frameNumber });
  for (const byte of header) bits.put(byte, 8);
  writeSubframe(bits, samples);
  bits.align();
  bits.put(crc16(bits.bytes()), 16);
  return bits.bytes();
}

function writeSubframe(bits: BitWriter, samples: Int16Array): void {
  const begin = (kind: number, raw: Int16Array) => {
    bits.put(kind << 1, 8);
    for (const sample of raw) bits.put(sample, sampleBits);
  };
  const bare = new Int32Array(samples);
  const predicted = predict(samples);
  const unpredicted = planRice(bare, samples.length);
  const least = Math.min(predicted?.bits ?? Infinity, unpredicted.bits);
  if (samples.every((sample) => sample === samples[0])) begin(constantKind, samples.subarray(0, 1));
  else if (least >= samples.length * sampleBits) begin(verbatimKind, samples);
  else if (!predicted || unpredicted.bits === least) {
    begin(unpredictedKind, samples.subarray(0, 0));
    writeRice(bits, bare, unpredicted, samples.length);
  } else {
    const { predictor, residual, plan } = predicted;
    const order = predictor.coefficients.length;
    begin(predictedKind + order, samples.subarray(0, order));
    bits.put(coefficientBits - 1, 4);
    bits.put(predictor.shift, 5);
    for (const coefficient of predictor.coefficients) bits.put(coefficient, coefficientBits);
    writeRice(bits, residual, plan, samples.length);
  }
}

interface Predicted {
  predictor: Predictor;
  residual: Int32Array;
  plan: RicePlan;
  bits: number;
}

function predict(samples: Int16Array): Predicted | undefined {
  const predictor = findPredictor(samples);
  if (!predictor) return undefined;
  const residual = residualOf(samples, predictor);
  const plan = planRice(residual, samples.length);
  const bits = plan.bits + 9 + predictor.coefficients.length * (sampleBits + coefficientBits);
  return { predictor, residual, plan, bits };
}

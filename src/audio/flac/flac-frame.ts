// Encodes a FLAC frame with one channel of 16 bits (RFC 9639, section 9), with the smallest kind of subframe:
//     14 sync | 2: 0 | 4 code of the length | 4 of the rate | 4: 0, mono | 3: 4, 16 bits | 1: 0 | 8 to 48 frame number
//        | 16 length - 1, where the code says so | 8 CRC-8 | the subframe | up to 7: 0 | 16 CRC-16
//     subframe: 1: 0 | 6 kind | 1: 0, and
//         0  constant:    16 the value of all samples
//         1  verbatim:    16 each sample
//         8  unpredicted: the samples in Rice codes
//        31 + order       16 each of `order` samples | 4 bits of a coefficient - 1 | 5 shift | coefficients | Rice codes
import { BitWriter, crc8, crc16 } from './bit-writer.ts';
import { coefficientBits, findPredictor, type Predictor, residualOf } from './linear-prediction.ts';
import { planRice, type RicePlan, writeRice } from './rice-partitions.ts';

const sampleBits = 16;
const [constantKind, verbatimKind, unpredictedKind, predictedKind] = [0, 1, 8, 31] as const;
/** 256 times 2^(code - 8); code 7 means that the length follows. */
const lengthCodes: Readonly<Record<number, number>> = { 2048: 11, 4096: 12 };
const lengthFollows = 7;
const rateCodes: Readonly<Record<number, number>> = { 24000: 7, 44100: 9, 48000: 10 };

export function flacFrame(samples: Int16Array, sampleRateHz: number, frameNumber: number): Uint8Array<ArrayBuffer> {
  const bits = new BitWriter();
  const lengthCode = lengthCodes[samples.length] ?? lengthFollows;
  bits.put(0x3ffe << 2, 16);
  bits.put(lengthCode, 4);
  bits.put(rateCodes[sampleRateHz]!, 4);
  bits.put(0b0000_100_0, 8);
  for (const byte of inUtf8(frameNumber)) bits.put(byte, 8);
  if (lengthCode === lengthFollows) bits.put(samples.length - 1, 16);
  bits.put(crc8(bits.bytes()), 8);
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

/** Coded like a code point in UTF-8, extended to 31 bits. */
function inUtf8(number: number): number[] {
  if (number < 0x80) return [number];
  const rest: number[] = [];
  let left = number;
  do {
    rest.unshift(0x80 | (left & 0x3f));
    left >>>= 6;
  } while (left >= 2 ** (6 - rest.length));
  return [((0xff00 >> (rest.length + 1)) & 0xff) | left, ...rest];
}

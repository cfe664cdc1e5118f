// Encodes a FLAC frame with one channel of 16 bits (RFC 9639, section 9), with the smallest kind of subframe:
//     a header (flac-frame-header.ts) | the subframe | up to 7: 0 | 16 CRC-16
//     subframe: 1: 0 | 6 kind | 1: 0, and
//         0  constant:    16 the value of all samples
//         1  verbatim:    16 each sample
//         8  unpredicted: the samples in Rice codes
//        31 + order       16 each of `order` samples | 4 bits of a coefficient - 1 | 5 shift | coefficients | Rice codes
import { BitWriter, crc16 } from './bit-writer.ts';
import { flacFrameHeader } from './flac-frame-header.ts';
import { coefficientBits, findPredictor, type Predictor, residualOf } from './linear-prediction.ts';
import { planRice, type RicePlan, writeRice } from './rice-partitions.ts';

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

// Clones for models that imitate a reference. The clone is the recording and its transcript, packed as below: strings
// in UTF-8, lengths in bytes, numbers little-endian. The bytes are a person's voice: anyone who has the bytes can speak
// with the voice.
//     "SNTR"  u8 1 (version)  u8 length, model id  u32 sample rate  u32 length, text  u32 count, i16 samples

import { Failure, invalidField } from '../../platform/errors.ts';
import { type Pcm, samplesOf } from '../../platform/pcm.ts';
import type { CloneSample, Cloning } from '../engine.ts';
import type { Model } from './model.ts';

export interface Reference extends Pcm {
  /** The model for which the clone was created. */
  modelId: string;
  /** The transcript; empty if unknown. */
  text: string;
}

const mark = 'SNTR';
const version = 1;
const textBytesMax = 20_000;
const samplesMax = 48_000 * 60;

export function packReference({ modelId, samples, sampleRateHz, text }: Reference): Uint8Array {
  const id = Buffer.from(modelId, 'utf8');
  const said = Buffer.from(text, 'utf8');
  const head = Buffer.alloc(6);
  head.write(mark, 'latin1');
  head[4] = version;
  head[5] = id.length;
  const facts = Buffer.alloc(8);
  facts.writeUInt32LE(sampleRateHz, 0);
  facts.writeUInt32LE(said.length, 4);
  const count = Buffer.alloc(4);
  count.writeUInt32LE(samples.length);
  const sound = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  return new Uint8Array(Buffer.concat([head, id, facts, said, count, sound]));
}

/** Parses a clone. Throws `engine_error` if the bytes were not created by this engine. */
export function parseReference(packed: Uint8Array): Reference {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw foreign();
    at += length;
    return bytes.subarray(at - length, at);
  };
  if (take(4).toString('latin1') !== mark || take(1)[0] !== version) throw foreign();
  const modelId = take(take(1)[0]!).toString('utf8');
  const sampleRateHz = take(4).readUInt32LE();
  const textBytes = take(4).readUInt32LE();
  if (textBytes > textBytesMax) throw foreign();
  const text = take(textBytes).toString('utf8');
  const count = take(4).readUInt32LE();
  if (count > samplesMax || sampleRateHz < 8_000 || sampleRateHz > 48_000) throw foreign();
  const sound = take(2 * count);
  if (at !== bytes.length) throw foreign();
  return { modelId, sampleRateHz, text, samples: samplesOf(sound) };
}

const foreign = () => new Failure('engine_error', {}, new Error('the bytes are not a clone of this engine'));

/** Models use at most ten seconds of the recording, and the matching transcript. */
const sampleSeconds = { min: 3, max: 10 };
const textCharsMax = 500;

export function createZeroShotCloning(model: Model): Cloning {
  const { modelId, languageCodes, sampleRateHz, zeroShot } = model;
  const needsReferenceText = zeroShot?.needsReferenceText ?? false;
  return {
    sampleLanguageCodes: languageCodes,
    languageCodesFor: () => languageCodes,
    sampleRateHz,
    sampleSeconds,
    needsReferenceText,
    consentScripts: {},
    async make({ reference, referenceText }: CloneSample, signal) {
      signal.throwIfAborted();
      const text = referenceText.trim();
      if (needsReferenceText && !/[\p{L}\p{N}]/u.test(text)) {
        throw invalidField('reference_text', 'required', 'must be the transcript of reference_audio');
      }
      if (text.length > textCharsMax)
        throw invalidField('reference_text', 'too_long', `must be at most ${textCharsMax} characters`);
      if (reference.samples.length === 0) throw invalidField('reference_audio', 'audio_too_short', 'contains no audio');
      return packReference({ ...reference, modelId, text: needsReferenceText ? text : '' });
    },
  };
}

// Cloning with a model that imitates the voice of a reference: the clone is the reference itself, packed.
import { Failure } from '../../errors.ts';
import type { CloneSample, Cloning } from '../engine.ts';
import type { Model } from './model-facts.ts';
import { packReference } from './reference.ts';

/** Models use at most ten seconds, and the text of as long. */
const sampleSeconds = { min: 3, max: 10 };
const textCharsMax = 500;

const refuse = (field: string, reason: string, message: string) =>
  new Failure('invalid_request', { details: [{ field, reason, message }] });

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
        throw refuse('reference_text', 'required', 'must tell what is said in reference_audio');
      }
      if (text.length > textCharsMax)
        throw refuse('reference_text', 'too_long', `must be ${textCharsMax} characters at most`);
      if (reference.samples.length === 0) throw refuse('reference_audio', 'too_short', 'has no sound in it');
      return packReference({ ...reference, modelId, text: needsReferenceText ? text : '' });
    },
  };
}

// Reads the form of a clone into the CloneVoice message. All form fields are strings: `labels` is JSON, and `engines`
// is a comma-separated list.
import { create } from '@bufbuild/protobuf';
import { type CloneVoiceRequest, CloneVoiceRequestSchema } from '../../../gen/sonant/v1/voice_pb.ts';
import { newReading, readMembers } from '../../contract/decode.ts';
import type { UnknownField } from '../../contract/unknown-fields.ts';
import type { Violations } from '../../contract/violations.ts';
import { Failure } from '../../errors.ts';
import { parseStrictJson } from '../../net/strict-json.ts';
import type { FormBody } from './form-body.ts';

export const cloneFiles = ['reference_audio', 'consent_audio'];
export const cloneTexts = CloneVoiceRequestSchema.fields
  .map(({ name }) => name)
  .filter((name) => !cloneFiles.includes(name));

interface ParsedCloneForm {
  message: CloneVoiceRequest;
  violations: Violations;
  ignored: readonly UnknownField[];
}

export function parseCloneForm({ texts, files }: FormBody, isStrict: boolean): ParsedCloneForm {
  const reading = newReading(isStrict);
  const { violations } = reading;
  const given = Object.fromEntries(
    [...texts].map(([name, values]) => {
      if (name === 'engines')
        return [name, values.flatMap((text) => text.split(',').flatMap((each) => each.trim() || []))];
      if (values.length > 1 && cloneTexts.includes(name)) violations.report(name, 'conflict', 'must be given once');
      const [text = ''] = values;
      // An empty form field counts as absent.
      return [name, text === '' ? undefined : name === 'labels' ? parseLabels(text, violations) : text];
    }),
  );
  const message = create(CloneVoiceRequestSchema);
  readMembers(message, CloneVoiceRequestSchema, given, reading, { without: cloneFiles });
  message.referenceAudio = files.get('reference_audio') ?? message.referenceAudio;
  message.consentAudio = files.get('consent_audio') ?? message.consentAudio;
  return { message, violations, ignored: reading.ignored };
}

function parseLabels(text: string, violations: Violations): unknown {
  if (text.trim() === '') return undefined;
  try {
    return parseStrictJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  violations.report('labels', 'type', 'must be a JSON object of texts');
  return undefined;
}

// Tests that a field of speech is the same in every message that has it, so that all transports treat it alike.
import type { DescField } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { CreateJobRequestSchema } from '../../gen/sonant/v1/job_service_pb.ts';
import {
  EstimateSpeechRequestSchema,
  LiveStartSchema,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import { memberSchema } from '../../src/contract/method-docs.ts';

const messages = [
  ...[SynthesizeSpeechRequestSchema, StreamSpeechRequestSchema, EstimateSpeechRequestSchema],
  ...[LiveStartSchema, CreateJobRequestSchema],
];
/** Live speech has telephone formats and rates; jobs have longer texts, and no FLAC. */
const ownRules = ['LiveStart.sample_rate', 'LiveStart.output_format', 'CreateJobRequest.output_format'];
const texts = ['text', 'ssml', 'text_chunks'];
const nameOf = ({ parent, name }: DescField) => `${parent.name}.${name}`;

/** The type, the default and the limits of a field. */
function rulesOf(field: DescField) {
  const { description: _, ...schema } = memberSchema(field.parent, field.name, 'request');
  return schema;
}

const [synthesize, ...others] = messages;
const shared = synthesize!.fields.flatMap((field) =>
  others.flatMap(({ fields }) =>
    fields.filter(({ name }) => name === field.name).map((other) => [field, other] as const),
  ),
);

test.each(
  shared
    .filter(([, other]) => !texts.includes(other.name) && !ownRules.includes(nameOf(other)))
    .map(([field, other]) => [nameOf(other), nameOf(field), field, other] as const),
)('%s has the rules of %s', (_, __, field, other) => {
  expect(rulesOf(other)).toEqual(rulesOf(field));
});

test('every message of speech has the fields that decide how a text is spoken', () => {
  const spoken = 'voice_id language_code speaking_rate markup normalize lexicon_ids instructions seed'.split(' ');
  for (const { name, fields } of messages)
    expect(
      fields.map((field) => field.name),
      name,
    ).toEqual(expect.arrayContaining(spoken));
});

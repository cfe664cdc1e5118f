// Tests messages encoded as JSON, and bytes decoded from it. The tests of each route hold how other values are decoded.
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from 'vitest';
import { ApiKeySchema, CreateApiKeyResponseSchema } from '../../gen/sonant/v1/api_key_pb.ts';
import { CreateJobRequestSchema } from '../../gen/sonant/v1/job_service_pb.ts';
import { EstimateSpeechResponseSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { DefaultVoiceSchema, ListVoicesResponseSchema, VoiceSchema } from '../../gen/sonant/v1/voice_pb.ts';
import { Reading, readMembers } from '../../src/contract/decode.ts';
import { writeMessage } from '../../src/contract/encode.ts';

test('what is not set is null, and lists are empty', () => {
  const time = timestampFromDate(new Date('2030-01-02T03:04:05.678Z'));
  expect(
    writeMessage(VoiceSchema, { voiceId: 'a', bindings: [{ engine: 'e', voiceId: '' }], createdAt: time }),
  ).toMatchObject({
    ...{ voice_id: 'a', name: '', kind: null, consent: null, labels: {}, aliases: [], blend: null },
    ...{ bindings: [{ engine: 'e', voice_id: null }], created_at: '2030-01-02T03:04:05.678Z', updated_at: null },
  });
  expect(writeMessage(DefaultVoiceSchema, { voiceId: '', source: 1 })).toEqual({
    voice_id: null,
    source: 'setting',
    chosen_voice_id: null,
  });
  expect(writeMessage(ListVoicesResponseSchema, { voices: [], nextCursor: '' })).toEqual({
    voices: [],
    next_cursor: null,
  });
});

test('an inline message is written in its place, int64 as a number, and a duration in seconds', () => {
  const apiKey = { id: 'key_1', scopes: ['a'], limits: { charactersPerMonth: 5n } };
  expect(writeMessage(CreateApiKeyResponseSchema, { key: 'snt_1', apiKey })).toMatchObject({
    ...{ key: 'snt_1', id: 'key_1', scopes: ['a'], voice_ids: null },
    limits: { requests_per_minute: null, characters_per_month: 5 },
  });
  expect(writeMessage(ApiKeySchema, apiKey)).not.toHaveProperty('key');
  const duration = { seconds: 1n, nanos: 234_568_000 };
  expect(writeMessage(EstimateSpeechResponseSchema, { duration, bytes: 7n })).toMatchObject({
    duration: 1.234568,
    bytes: 7,
  });
});

test('bytes are base64 and nothing else, and hidden fields are no members', () => {
  const read = (body: Record<string, unknown>) => {
    const message = create(CreateJobRequestSchema);
    const reading = new Reading(false);
    readMembers(message, CreateJobRequestSchema, body, reading);
    const violations = reading.violations.details.map(({ field, reason }) => `${field} ${reason}`);
    return { message, violations, ignored: reading.ignored.map(({ name }) => name) };
  };
  expect(read({ cover: '/9j/' }).message.cover).toEqual(Uint8Array.of(0xff, 0xd8, 0xff));
  expect(read({ cover: '/9 j/' }).violations).toEqual(['cover format']);
  expect(read({ job_id: 'a' })).toMatchObject({ message: { jobId: '' }, ignored: ['job_id'] });
  const long = 'n'.repeat(1_000);
  expect(read({ metadata: { [long]: 7 } }).violations).toEqual([`metadata.${long.slice(0, 100)} type`]);
});

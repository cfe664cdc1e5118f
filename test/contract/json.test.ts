// Tests messages decoded from JSON and from queries, and encoded as JSON.
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from 'vitest';
import { ApiKeySchema, CreateApiKeyRequestSchema, CreateApiKeyResponseSchema } from '../../gen/sonant/v1/api_key_pb.ts';
import { CreateJobRequestSchema } from '../../gen/sonant/v1/job_service_pb.ts';
import { EstimateSpeechResponseSchema } from '../../gen/sonant/v1/speech_pb.ts';
import {
  CreateVoiceRequestSchema,
  DefaultVoiceSchema,
  ListVoicesRequestSchema,
  ListVoicesResponseSchema,
  VoiceAccess,
  VoiceSchema,
} from '../../gen/sonant/v1/voice_pb.ts';
import { Reading, readMembers, readQuery } from '../../src/contract/decode.ts';
import { writeMessage } from '../../src/contract/encode.ts';

function readVoice(body: Record<string, unknown>, isStrict = false) {
  const message = create(CreateVoiceRequestSchema);
  const reading = new Reading(isStrict);
  readMembers(message, CreateVoiceRequestSchema, body, reading);
  const { given, cleared, emptyLists, ignored } = reading;
  const violations = reading.violations.details.map(({ field, reason }) => `${field} ${reason}`);
  return { message, given, cleared, emptyLists, ignored: ignored.map(({ name }) => name), violations };
}

test('members of an inline message stand in its place', () => {
  const { message, given } = readVoice({
    voice_id: 'a',
    name: 'A',
    access: 'everyone',
    enabled: false,
    labels: { b: 'c' },
  });
  expect(message).toMatchObject({
    voiceId: 'a',
    spec: { name: 'A', access: VoiceAccess.EVERYONE, enabled: false, labels: { b: 'c' } },
  });
  expect(given).toEqual(['voice_id', 'name', 'access', 'enabled', 'labels']);
});

test('null is as absent, and empty lists are named', () => {
  const { message, given, cleared, emptyLists } = readVoice({ name: null, description: '', aliases: [], blend: null });
  expect(message.spec).toMatchObject({ name: '', description: '', aliases: [], blend: [] });
  expect([given, cleared, emptyLists]).toEqual([['description', 'aliases'], ['name', 'blend'], ['aliases']]);
});

test('nothing is coerced, and every wrong type is reported with its path', () => {
  const wrong = {
    ...{ voice_id: 1, name: ['a'], enabled: 'true', access: 'all', aliases: 'a', language_codes: ['en', 3] },
    ...{
      labels: { a: 1, b: 'c' },
      bindings: [{ engine: 'e' }, 'f', { engine: 2 }],
      blend: [{ voice_id: 'a', weight: '1' }],
    },
  };
  const { message, violations } = readVoice(wrong);
  expect(violations).toEqual([
    ...['voice_id type', 'name type', 'enabled type', 'access enum', 'aliases type', 'language_codes[1] type'],
    ...['labels.a type', 'bindings[1] type', 'bindings[2].engine type', 'blend[0].weight type'],
  ]);
  // Readable values keep their position.
  expect(message.spec).toMatchObject({
    languageCodes: ['en', ''],
    labels: { b: 'c' },
    bindings: [{ engine: 'e' }, {}, {}],
  });
});

test('whole numbers are checked before they lose digits', () => {
  const faultsOf = (limits: object) => {
    const message = create(CreateApiKeyRequestSchema);
    const reading = new Reading(false);
    readMembers(message, CreateApiKeyRequestSchema, { limits }, reading);
    return [message.spec?.limits, reading.violations.details.map(({ field, reason }) => `${field} ${reason}`)];
  };
  expect(faultsOf({ concurrency: 3, characters_per_month: 5e9 })).toMatchObject([
    { concurrency: 3, charactersPerMonth: 5_000_000_000n },
    [],
  ]);
  expect(faultsOf({ concurrency: 1.5 })[1]).toEqual(['limits.concurrency type']);
  expect(faultsOf({ concurrency: 3e9, characters_per_month: 1e20 })[1]).toEqual([
    ...['limits.concurrency range', 'limits.characters_per_month type'],
  ]);
});

test('a query is read by the types of its fields', () => {
  const read = (query: Record<string, unknown>) => {
    const message = create(ListVoicesRequestSchema);
    const reading = new Reading(false);
    readQuery(message, ListVoicesRequestSchema, query, reading);
    return [message, reading.violations.details.map(({ field, reason }) => `${field} ${reason}`)];
  };
  expect(read({ limit: '20', text: '7', engine: '' })).toMatchObject([{ limit: 20, text: '7', engine: '' }, []]);
  expect(read({ limit: 'x', text: ['a', 'b'] })[1]).toEqual(['limit type', 'text type']);
  expect(read({ limit: '1.5' })[1]).toEqual(['limit type']);
});

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

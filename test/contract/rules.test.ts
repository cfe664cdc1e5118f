// Tests that Sonant's checker of the protos' rules and the standard's own library accept the same messages, and report
// the same fields of invalid messages.
import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import { createValidator } from '@bufbuild/protovalidate';
import { describe, expect, test } from 'vitest';
import { ApiKeySpecSchema } from '../../gen/sonant/v1/api_key_pb.ts';
import { CreateJobRequestSchema, ListJobsRequestSchema } from '../../gen/sonant/v1/job_service_pb.ts';
import {
  CaptionFormat,
  EstimateSpeechRequestSchema,
  LiveStartSchema,
  OutputFormat,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import {
  CloneVoiceRequestSchema,
  CreateVoiceRequestSchema,
  GetVoiceRequestSchema,
  ListVoicesRequestSchema,
  SetDefaultVoiceRequestSchema,
  UpdateVoiceRequestSchema,
  VoiceAccess,
  type VoiceSpecSchema,
} from '../../gen/sonant/v1/voice_pb.ts';
import { scopes } from '../../src/accounts/keys/caller.ts';
import { checkRules, type Scope } from '../../src/contract/rules.ts';
import { fieldOf, rulesOf } from '../../src/contract/schema.ts';
import { Violations } from '../../src/contract/violations.ts';

const validator = createValidator();

function violationsOf<D extends DescMessage>(desc: D, init: MessageInitShape<D>, scope?: Scope) {
  const violations = new Violations();
  checkRules(desc, create(desc, init), violations, scope);
  return violations.details;
}

/** The fields that the standard's library reports, with Sonant's paths: a list or a map is reported as a whole. */
function standardFaults<D extends DescMessage>(desc: D, init: MessageInitShape<D>): string[] {
  const { kind, violations = [] } = validator.validate(desc, create(desc, init));
  if (kind === 'error') throw new Error('the rules cannot be compiled');
  const outer = (path: string) => path.replace(/^spec\./, '').replace(/\[.*/, '');
  return [...new Set(violations.map(({ field }) => outer(fieldPath(field))))].sort();
}

const fieldPath = (path: readonly { kind: string; name?: string; localName?: string }[]) =>
  path
    .map((part) => (part.kind === 'field' || part.name ? part.name : '[]'))
    .join('.')
    .replaceAll('.[]', '[]');

const ourFaults = <D extends DescMessage>(desc: D, init: MessageInitShape<D>) =>
  [...new Set(violationsOf(desc, init).map(({ field }) => field.replace(/[[.].*/, '')))].sort();

const binding = { engine: 'acme', voiceId: 'joan' };
const spec = { name: 'News', bindings: [binding] };
const many = (count: number) => Array.from({ length: count }, (_, i) => `x${i}`);
/** A new voice with other fields. */
const voice = (fields: MessageInitShape<typeof VoiceSpecSchema>, ...faulty: string[]) =>
  row(CreateVoiceRequestSchema, { spec: { ...spec, ...fields } }, ...faulty);
const weights = (...blend: [voiceId: string, weight: number][]) => ({
  blend: blend.map(([voiceId, weight]) => ({ voiceId, weight })),
});
const row = <D extends DescMessage>(desc: D, init: MessageInitShape<D>, ...faulty: string[]) =>
  [desc, init, faulty] as const;
const clone = {
  name: 'A',
  speakerName: 'B',
  languageCode: 'en',
  referenceAudio: Uint8Array.of(1),
  consentAudio: Uint8Array.of(2),
};

const cases = [
  row(GetVoiceRequestSchema, { voiceId: 'ada' }),
  row(GetVoiceRequestSchema, {}, 'voice_id'),
  row(ListVoicesRequestSchema, {}),
  row(ListVoicesRequestSchema, { limit: 1, text: 'é'.repeat(200), engine: 'e' }),
  row(ListVoicesRequestSchema, { limit: 1000 }),
  row(
    ListVoicesRequestSchema,
    { limit: 0, text: '😀'.repeat(201), engine: 'e'.repeat(201) },
    'engine',
    'limit',
    'text',
  ),
  row(ListVoicesRequestSchema, { limit: 1001, text: '😀'.repeat(200) }, 'limit'),
  row(ListVoicesRequestSchema, { limit: -1 }, 'limit'),
  row(SetDefaultVoiceRequestSchema, {}),
  row(CreateVoiceRequestSchema, { spec }),
  row(CreateVoiceRequestSchema, { voiceId: 'a.b_c-d', spec: { ...spec, description: 'd'.repeat(1000) } }),
  row(
    CreateVoiceRequestSchema,
    { voiceId: '.a', spec: { ...spec, description: 'd'.repeat(1001) } },
    'description',
    'voice_id',
  ),
  row(
    CreateVoiceRequestSchema,
    { voiceId: 'a'.repeat(129), spec: { ...spec, description: 'a\nb' } },
    'description',
    'voice_id',
  ),
  voice({ name: '' }, 'name'),
  voice({ name: '   ' }, 'name'),
  voice({ name: 'n\t' }, 'name'),
  voice({ name: 'я'.repeat(200) }),
  voice({ name: 'я'.repeat(201) }, 'name'),
  voice({ labels: { gender: 'f', 'a!~b': '' } }),
  voice({ labels: { 'a b': 'c' } }, 'labels'),
  voice({ labels: { a: 'c'.repeat(201) } }, 'labels'),
  voice({ labels: { ['a'.repeat(51)]: 'c' } }, 'labels'),
  voice({ labels: Object.fromEntries(many(21).map((x) => [x, x])) }, 'labels'),
  voice({ languageCodes: many(100), aliases: many(20), lexiconIds: many(10) }),
  voice(
    { languageCodes: many(101), aliases: many(21), lexiconIds: many(11) },
    ...['aliases', 'language_codes', 'lexicon_ids'],
  ),
  voice({ aliases: ['a', 'a'], lexiconIds: ['b', 'b'] }, 'aliases', 'lexicon_ids'),
  voice({ aliases: ['a,b'] }, 'aliases'),
  voice({ bindings: [] }),
  voice({ bindings: [{ voiceId: 'a' }] }, 'bindings'),
  voice({ bindings: Array.from({ length: 9 }, () => binding) }, 'bindings'),
  voice(weights(['a', 1]), 'blend'),
  voice(weights(['a', 0], ['b', 1000])),
  voice(weights(['a', -1], ['b', 1]), 'blend'),
  voice(weights(['a', NaN], ['', 1]), 'blend'),
  voice({ access: VoiceAccess.EVERYONE }),
  voice({ access: 7 as VoiceAccess }, 'access'),
  row(UpdateVoiceRequestSchema, { voiceId: 'a', spec: { description: 'd' }, updateMask: { paths: ['description'] } }),
  row(CloneVoiceRequestSchema, clone),
  row(
    CloneVoiceRequestSchema,
    { ...clone, name: ' ', speakerName: '', engines: many(9) },
    'engines',
    'name',
    'speaker_name',
  ),
  row(
    CloneVoiceRequestSchema,
    { referenceText: 'a\r', consentScript: 's'.repeat(1001) },
    ...[
      'consent_audio',
      'consent_script',
      'language_code',
      'name',
      'reference_audio',
      'reference_text',
      'speaker_name',
    ],
  ),
  row(CreateJobRequestSchema, { voiceId: 'a', text: 'A.' }),
  row(CreateJobRequestSchema, {
    ...{ jobId: 'a_b-C', voiceId: 'é'.repeat(128), outputFormat: OutputFormat.OPUS, sampleRate: 48_000 },
    ...{ instructions: 'é'.repeat(2000), seed: 2 ** 32 - 1 },
    ...{ speakingRate: 0.25, captions: [CaptionFormat.SRT, CaptionFormat.VTT], chapterGapSeconds: 60, keepHours: 1 },
    ...{ chapters: [{ title: 't'.repeat(500) }], metadata: { ['n'.repeat(64)]: 'v'.repeat(1000) } },
  }),
  row(
    CreateJobRequestSchema,
    {
      ...{ jobId: 'a b', outputFormat: OutputFormat.FLAC, sampleRate: 8000, speakingRate: 4.1 },
      ...{ captions: [CaptionFormat.SRT, CaptionFormat.SRT], markup: 9 as never, webhookUrl: 'u'.repeat(2001) },
      ...{ chapterGapSeconds: NaN, keepHours: 8761, lexiconIds: ['a', 'a'], metadata: { ['n'.repeat(65)]: '' } },
      ...{ chapters: [{ title: 't'.repeat(501) }], instructions: 'i'.repeat(2001) },
    },
    ...[
      'captions',
      'chapter_gap_seconds',
      'chapters',
      'instructions',
      'job_id',
      'keep_hours',
      'lexicon_ids',
      'markup',
      'metadata',
    ],
    ...['output_format', 'sample_rate', 'speaking_rate', 'voice_id', 'webhook_url'],
  ),
  row(CreateJobRequestSchema, { voiceId: 'a', chapters: Array.from({ length: 501 }, () => ({})) }, 'chapters'),
  row(
    CreateJobRequestSchema,
    { voiceId: 'a', captions: [9 as never], metadata: { a: 'v'.repeat(1001) } },
    'captions',
    'metadata',
  ),
  row(ListJobsRequestSchema, { limit: 1001, status: 9 as never }, 'limit', 'status'),
  row(SynthesizeSpeechRequestSchema, { voiceId: 'a', text: '😀'.repeat(25_000), outputFormat: OutputFormat.FLAC }),
  row(
    SynthesizeSpeechRequestSchema,
    {
      ...{ voiceId: 'é'.repeat(129), text: 'a'.repeat(25_001), ssml: 'a'.repeat(25_001), sampleRate: 8000 },
      ...{ outputFormat: OutputFormat.ULAW, speakingRate: 0.2, returnFormat: 3 as never, bufferBytesMax: 4_000_001 },
      ...{ captions: [CaptionFormat.SRT, CaptionFormat.SRT], markup: 9 as never, lexiconIds: many(11) },
    },
    ...['buffer_bytes_max', 'captions', 'lexicon_ids', 'markup', 'output_format', 'return_format', 'sample_rate'],
    ...['speaking_rate', 'ssml', 'text', 'voice_id'],
  ),
  row(StreamSpeechRequestSchema, { voiceId: 'a', textChunks: many(200) }),
  row(
    StreamSpeechRequestSchema,
    { textChunks: many(201), timestamps: 9 as never },
    'text_chunks',
    'timestamps',
    'voice_id',
  ),
  row(EstimateSpeechRequestSchema, { voiceId: 'a', textChunks: ['a'.repeat(25_001)] }, 'text_chunks'),
  row(LiveStartSchema, { voiceId: 'a', sampleRate: 8000, outputFormat: OutputFormat.ALAW, bufferMs: 10_000 }),
  row(LiveStartSchema, { sampleRate: 11_025, bufferMs: 10_001 }, 'buffer_ms', 'sample_rate', 'voice_id'),
];

test.each(cases)('%# both fault the same fields', (desc, init, faulty) => {
  expect(ourFaults(desc, init as never), desc.name).toEqual(faulty);
  expect(standardFaults(desc, init as never), desc.name).toEqual(faulty);
});

describe('of a message that was read from JSON', () => {
  test('a required value that is given and empty is refused with its limits', () => {
    const empty = { spec: { ...spec, name: '' } };
    const fault = (given: string[]) => violationsOf(CreateVoiceRequestSchema, empty, { given });
    expect(fault([])).toEqual([{ field: 'name', reason: 'required', message: 'must be given' }]);
    expect(fault(['name'])).toEqual([{ field: 'name', reason: 'length', message: 'must be 1 to 200 characters' }]);
  });

  test('a violation says what is allowed', () => {
    const wrong = { spec: { ...spec, name: 'a'.repeat(201), access: 9 as VoiceAccess, aliases: ['é'] } };
    expect(violationsOf(CreateVoiceRequestSchema, wrong)).toEqual([
      { field: 'name', reason: 'length', message: 'must be 1 to 200 characters' },
      {
        field: 'access',
        reason: 'enum',
        message: 'must be one of private, everyone',
        allowed: ['private', 'everyone'],
      },
      { field: 'aliases[0]', reason: 'format', message: expect.stringContaining('letters, digits and any of') },
    ]);
  });
});

test('the rule of the contract has all scopes', () => {
  const { type } = rulesOf(fieldOf(ApiKeySpecSchema, 'scopes'));
  const items = type.case === 'repeated' ? type.value.items?.type : undefined;
  expect(items?.case === 'string' && items.value.in).toEqual(scopes);
});

// What is asked and told of voices, for those who call: the schemas of /api/voices, with an example of each.
import type { Schema } from '../http/route-docs.ts';

const text: Schema = { type: 'string' };
const range: Schema = {
  type: 'object',
  required: ['min', 'max'],
  properties: { min: { type: 'number' }, max: { type: 'number' } },
};
const texts: Schema = { type: 'array', items: text };
const labels: Schema = {
  type: 'object',
  additionalProperties: text,
  maxProperties: 20,
  description: 'Free words, such as gender and accent.',
};
const nullableTime = (description: string): Schema => ({ type: ['string', 'null'], format: 'date-time', description });
const languages: Schema = { ...texts, description: 'BCP-47 ranges, its own language first: `en` covers `en-US`.' };
const bindings: Schema = {
  type: 'array',
  description: 'Who speaks it, the best first: the next one does where one cannot.',
  items: {
    title: 'VoiceBinding',
    type: 'object',
    required: ['engine'],
    properties: {
      engine: { ...text, description: 'Name of the engine.' },
      voice_id: {
        type: ['string', 'null'],
        description: 'Which of the engine’s own; null for a clone that it has made.',
      },
    },
  },
};
const consent: Schema = {
  title: 'VoiceConsent',
  type: ['object', 'null'],
  description: 'Of the person cloned; null where nobody was.',
  required: ['speaker_name', 'statement', 'language_code', 'audio_sha256', 'given_at', 'confirmed_by', 'revoked_at'],
  properties: {
    speaker_name: { ...text, description: 'Who it is.' },
    statement: { ...text, description: 'What was said in the recording.' },
    language_code: { ...text, description: 'The language of it, as BCP-47.' },
    audio_sha256: { ...text, description: 'Of the recording, in hexadecimal; the recording itself is not kept.' },
    given_at: nullableTime('When it was brought.'),
    confirmed_by: { ...text, description: 'Who brought it, such as `key:key_01JD...`.' },
    revoked_at: nullableTime('When it was withdrawn; null while it holds.'),
  },
};
export const voiceSchema: Schema = {
  title: 'Voice',
  type: 'object',
  required: [
    ...['voice_id', 'name', 'description', 'kind', 'engine', 'status', 'language_codes', 'labels', 'bindings'],
    ...['capabilities', 'consent', 'created_at', 'updated_at'],
  ],
  properties: {
    voice_id: { ...text, description: 'What to ask for.' },
    name: { ...text, description: 'Its name, in any script.' },
    description: { ...text, description: 'What it sounds like.' },
    kind: { ...text, enum: ['stock', 'cloned'], description: 'Whether it came with an engine or from a person.' },
    engine: { ...text, description: 'What speaks it, the first that may.' },
    status: {
      ...text,
      enum: ['pending', 'ready', 'failed', 'disabled', 'consent_revoked'],
      description: 'Only one that is `ready` speaks.',
    },
    language_codes: languages,
    labels,
    bindings,
    capabilities: {
      title: 'VoiceCapabilities',
      description: 'What may be asked of it.',
      type: 'object',
      required: ['sample_rates', 'output_formats', 'speaking_rate'],
      properties: {
        sample_rates: { type: 'array', items: { type: 'integer' }, description: 'In hertz.' },
        output_formats: { ...texts, description: 'Encodings.' },
        speaking_rate: { ...range, description: 'Speeds.' },
      },
    },
    consent,
    created_at: nullableTime('When it was made; null for a voice just as its engine brings it.'),
    updated_at: nullableTime('When it was last changed; null for a voice just as its engine brings it.'),
  },
};
export const voicePageSchema: Schema = {
  title: 'VoicePage',
  type: 'object',
  required: ['voices', 'next_cursor'],
  properties: {
    voices: { type: 'array', items: voiceSchema, description: 'Ordered by id.' },
    next_cursor: { type: ['string', 'null'], description: 'Where the next page begins; null on the last one.' },
  },
};
export const voiceSpecSchema = (title: string, more: Readonly<Record<string, Schema>>): Schema => ({
  title,
  type: 'object',
  properties: {
    ...more,
    name: { ...text, minLength: 1, maxLength: 200, description: 'Its name, in any script.' },
    description: { ...text, maxLength: 1000, description: 'What it sounds like.' },
    language_codes: languages,
    labels,
    bindings: { ...bindings, minItems: 1, maxItems: 8 },
    enabled: { type: 'boolean', default: true, description: 'Whether it can be used.' },
  },
});
export const voiceIdSchema: Schema = {
  ...text,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$',
  description: 'Default: one is made.',
};
const file = (description: string): Schema => ({ ...text, format: 'binary', description });
export const cloneSchema: Schema = {
  title: 'CloneForm',
  type: 'object',
  required: ['name', 'language_code', 'reference_audio', 'consent_audio', 'speaker_name'],
  properties: {
    voice_id: voiceIdSchema,
    name: { ...text, minLength: 1, maxLength: 200, description: 'Its name, in any script.' },
    description: { ...text, maxLength: 1000, description: 'What it sounds like.' },
    labels: { ...text, description: 'A JSON object of texts.' },
    language_code: { ...text, description: 'Of both recordings, as BCP-47.' },
    reference_audio: file('The person speaking freely: WAV, FLAC, MP3 or Ogg.'),
    reference_text: { ...text, maxLength: 1000, description: 'What is said in it, where the engine needs to be told.' },
    consent_audio: file('The same person saying the consent script.'),
    speaker_name: { ...text, minLength: 1, maxLength: 200, description: 'Who it is.' },
    consent_script: { ...text, maxLength: 1000, description: 'What is said; default: the engine’s own script.' },
    engines: { ...text, description: 'Engines to clone with, with commas between them; default: the first that can.' },
  },
};
export const cloningSchema: Schema = {
  title: 'Cloning',
  type: 'object',
  required: ['engines'],
  properties: {
    engines: {
      type: 'array',
      description: 'None where cloning is not set up.',
      items: {
        title: 'CloningEngine',
        type: 'object',
        required: ['engine', 'sample_language_codes', 'sample_seconds', 'needs_reference_text', 'consent_scripts'],
        properties: {
          engine: { ...text, description: 'Name of the engine.' },
          sample_language_codes: { ...texts, description: 'Languages that the recordings may be in, BCP-47 ranges.' },
          sample_seconds: { ...range, description: 'How much speech the reference must and may hold.' },
          needs_reference_text: { type: 'boolean', description: 'Whether it must be told what is said there.' },
          consent_scripts: {
            type: 'object',
            additionalProperties: text,
            description: 'What the person is to say to consent, by language.',
          },
        },
      },
    },
  },
};

export const exampleVoice = {
  ...{ voice_id: 'clara', name: 'Clara', description: 'An American woman, bright and brisk.', kind: 'stock' },
  ...{ engine: 'acme', status: 'ready', language_codes: ['en'], labels: { gender: 'female', accent: 'american' } },
  bindings: [{ engine: 'acme', voice_id: 'slt' }],
  capabilities: {
    ...{ sample_rates: [24_000, 44_100, 48_000], output_formats: ['wav', 'pcm', 'mp3'] },
    speaking_rate: { min: 0.25, max: 4 },
  },
  ...{ consent: null, created_at: null, updated_at: null },
};
export const exampleMadeVoice = {
  ...{ ...exampleVoice, voice_id: 'news', name: 'News', labels: {}, bindings: [{ engine: 'acme', voice_id: 'joan' }] },
  ...{ created_at: '2030-01-02T03:04:05.000Z', updated_at: '2030-01-02T03:04:05.000Z' },
};
export const exampleSilencedVoice = {
  ...{ ...exampleMadeVoice, voice_id: 'voc_01JD3Q8S6V5W2K9YB4XJ7M0C3F', name: 'Ada', kind: 'cloned' },
  ...{ status: 'consent_revoked', bindings: [{ engine: 'acme', voice_id: null }] },
  consent: {
    ...{ speaker_name: 'Ada L.', statement: 'I agree that my voice is cloned.', language_code: 'en-US' },
    audio_sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    ...{ given_at: '2030-01-02T03:04:05.000Z', confirmed_by: 'key:key_01JD3Q8S6V5W2K9YB4XJ7M0C3F' },
    revoked_at: '2030-02-03T04:05:06.000Z',
  },
};
export const exampleCloning = {
  engines: [
    {
      ...{ engine: 'acme', sample_language_codes: ['en'], sample_seconds: { min: 5, max: 10 } },
      ...{ needs_reference_text: false, consent_scripts: { 'en-US': 'I agree that my voice is cloned.' } },
    },
  ],
};
export const exampleCloneForm = {
  ...{ name: 'Ada', language_code: 'en-US', speaker_name: 'Ada L.' },
  ...{ reference_audio: '@reference.wav', consent_audio: '@consent.wav' },
};

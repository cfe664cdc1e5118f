// The schemas of /api/voices, each with an example.
import { defaultSources } from '../../speech/default-voice.ts';
import { lexiconIdsMax } from '../../speech/lexicon-field.ts';
import { voiceAccesses } from '../../speech/stored-voices.ts';
import { blendParts, blendWeightMax } from '../../voices/blend-fields.ts';
import { aliasesMax, aliasForm } from '../../voices/voice-fields.ts';
import { describeObject, nullableTime, objectSchema, type Schema, text } from '../route-docs.ts';

const range: Schema = {
  type: 'object',
  required: ['min', 'max'],
  properties: { min: { type: 'number' }, max: { type: 'number' } },
};
const texts: Schema = { type: 'array', items: { type: 'string' } };
const labels: Schema = {
  type: 'object',
  additionalProperties: { type: 'string' },
  maxProperties: 20,
  description: 'Free-form labels, such as gender and accent.',
};
const languages: Schema = { ...texts, description: 'BCP-47 ranges, the native language first: `en` covers `en-US`.' };
const bindings: Schema = {
  type: 'array',
  description: 'Engine voices, in order of preference: the next is used when one is unavailable.',
  items: {
    title: 'VoiceBinding',
    type: 'object',
    required: ['engine'],
    properties: {
      engine: text('Name of the engine.'),
      voice_id: {
        type: ['string', 'null'],
        description: 'Id of the voice at the engine; null for a clone and for a blend.',
      },
    },
  },
};
const blend: Schema = {
  type: 'array',
  description: 'The voices of which it is blended, all of one model, with their shares, which add up to 1.',
  items: {
    title: 'BlendPart',
    type: 'object',
    required: ['voice_id', 'weight'],
    properties: {
      voice_id: text('Id of the voice.'),
      weight: { type: 'number', minimum: 0, maximum: blendWeightMax, description: 'Its share.' },
    },
  },
};
const id = text('Identifies the voice in requests.');
const name = text('Display name, in any script.');
const description = text('What the voice sounds like.');
const aliases = 'Other names that requests may have for it, such as the ids of another vendor.';
const speaker = 'Name of the person.';
const engine = text('Name of the engine.');

const consent = describeObject(
  'VoiceConsent',
  {
    speaker_name: [text(speaker), 'Ada L.'],
    statement: [text('What the person says in the recording.'), 'I agree that my voice is cloned.'],
    language_code: [text('Language of the statement, as BCP-47.'), 'en-US'],
    audio_sha256: [
      text('SHA-256 of the recording, in hexadecimal; the recording itself is not stored.'),
      '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    ],
    given_at: [nullableTime('When the recording was submitted.'), '2030-01-02T03:04:05.000Z'],
    confirmed_by: [text('Who submitted it, such as `key:key_01JD...`.'), 'key:key_01JD3Q8S6V5W2K9YB4XJ7M0C3F'],
    revoked_at: [nullableTime('When consent was withdrawn; null while it holds.'), '2030-02-03T04:05:06.000Z'],
  },
  'Consent of the person cloned; null if nobody was.',
);
const capabilities = describeObject(
  'VoiceCapabilities',
  {
    sample_rates: [{ type: 'array', items: { type: 'integer' }, description: 'In hertz.' }, [24_000, 44_100, 48_000]],
    output_formats: [{ ...texts, description: 'Encodings.' }, ['wav', 'pcm', 'mp3']],
    speaking_rate: [
      { ...range, description: 'Range of speeds.' },
      { min: 0.25, max: 4 },
    ],
  },
  'Supported request values.',
);
const access = (fallback: string): Schema =>
  text(`Who may speak with it: its account, or every key.${fallback}`, { enum: [...voiceAccesses] });
const lexiconIds: Schema = {
  ...texts,
  maxItems: lexiconIdsMax,
  description: 'Lexicons that every request with it uses, after its own; the first that has a word wins.',
};
const statuses = ['pending', 'ready', 'failed', 'disabled', 'consent_revoked'];

export const voice = describeObject('Voice', {
  voice_id: [id, 'clara'],
  aliases: [{ ...texts, description: aliases }, ['nova']],
  name: [name, 'Clara'],
  description: [description, 'An American woman, bright and brisk.'],
  kind: [text('Whether it belongs to an engine or was cloned from a person.', { enum: ['stock', 'cloned'] }), 'stock'],
  engine: [text('The engine that is preferred.'), 'acme'],
  status: [text('Only a voice that is `ready` can speak.', { enum: statuses }), 'ready'],
  language_codes: [languages, ['en']],
  labels: [labels, { gender: 'female', accent: 'american' }],
  bindings: [bindings, [{ engine: 'acme', voice_id: 'slt' }]],
  blend: [{ ...blend, type: ['array', 'null'] }, null],
  capabilities: [capabilities.schema, capabilities.example],
  owner: [
    text('Whose it is: of the account of this key, the operator’s, or of another account.', {
      enum: ['self', 'operator', 'other'],
    }),
    'operator',
  ],
  access: [access(''), 'everyone'],
  lexicon_ids: [lexiconIds, []],
  consent: [{ ...consent.schema, type: ['object', 'null'] }, null],
  created_at: [nullableTime('When it was created; null for an unchanged engine voice.'), null],
  updated_at: [nullableTime('When it was last changed; null for an unchanged engine voice.'), null],
});

const nullableId = (description: string): Schema => ({ type: ['string', 'null'], description });
export const defaultVoice = describeObject('DefaultVoice', {
  voice_id: [nullableId('The default voice of those that the key may use; null if none can speak.'), 'clara'],
  source: [
    text('What makes it the default: SONANT_DEFAULT_VOICE, the choice, or neither.', { enum: [...defaultSources] }),
    'choice',
  ],
  chosen_voice_id: [
    nullableId('The voice that was chosen; SONANT_DEFAULT_VOICE goes before it. Null if none was, or it is not there.'),
    'clara',
  ],
});
export const defaultVoiceChoice = objectSchema('DefaultVoiceChoice', {
  voice_id: nullableId('Id or alias of a voice that is for everyone; null takes the choice back.'),
});

export const voiceSpecSchema = (title: string, more: Readonly<Record<string, Schema>>): Schema => ({
  title,
  type: 'object',
  properties: {
    ...more,
    name: { ...name, minLength: 1, maxLength: 200 },
    description: { ...description, maxLength: 1000 },
    language_codes: languages,
    labels,
    bindings: { ...bindings, minItems: 1, maxItems: 8 },
    blend: {
      ...blend,
      description:
        'In place of bindings: voices of one model that share a language, such as Kokoro’s, and how much of each.',
      minItems: blendParts.min,
      maxItems: blendParts.max,
    },
    enabled: { type: 'boolean', default: true, description: 'Whether it can be used.' },
    access: access(
      ' Default of a new voice: private, or where an admin makes it and it is no blend, everyone. Only keys with the scope `admin` give `everyone`.',
    ),
    aliases: {
      type: 'array',
      items: { type: 'string', pattern: aliasForm.source },
      maxItems: aliasesMax,
      description: `${aliases} All of them: those left out are removed. None may be the id of another voice, or an alias of another one of the same account; those of a voice for everyone are of everyone.`,
    },
  },
});
export const voiceIdSchema = text('Default: a generated id.', { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' });
export const cloneSchema: Schema = {
  title: 'CloneForm',
  type: 'object',
  required: ['name', 'language_code', 'reference_audio', 'consent_audio', 'speaker_name'],
  properties: {
    voice_id: voiceIdSchema,
    name: { ...name, minLength: 1, maxLength: 200 },
    description: { ...description, maxLength: 1000 },
    labels: text('A JSON object of strings.'),
    language_code: text('Language of both recordings, as BCP-47.'),
    reference_audio: text('The person speaking freely: WAV, FLAC, MP3 or Ogg.', { format: 'binary' }),
    reference_text: text('Transcript of `reference_audio`, if the engine needs it.', { maxLength: 1000 }),
    consent_audio: text('The same person reading the consent script.', { format: 'binary' }),
    speaker_name: text(speaker, { minLength: 1, maxLength: 200 }),
    consent_script: text('The script that is read. Default: the engine’s own.', { maxLength: 1000 }),
    access: access(' Default: private.'),
    engines: text('Engines to clone with, separated by commas. Default: the first that can.'),
  },
};
const cloningEngine = describeObject('CloningEngine', {
  engine: [engine, 'acme'],
  sample_language_codes: [
    { ...texts, description: 'Supported languages of the recordings, as BCP-47 ranges.' },
    ['en'],
  ],
  sample_seconds: [
    { ...range, description: 'Required length of the reference speech.' },
    { min: 5, max: 10 },
  ],
  needs_reference_text: [{ type: 'boolean', description: 'Whether a transcript of the reference is required.' }, false],
  consent_scripts: [
    {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'What the person reads to consent, by language.',
    },
    { 'en-US': 'I agree that my voice is cloned.' },
  ],
});
export const cloningSchema = objectSchema('Cloning', {
  engines: { type: 'array', description: 'Empty if cloning is not configured.', items: cloningEngine.schema },
});
export const exampleCloning = { engines: [cloningEngine.example] };

const changedAt = '2030-01-02T03:04:05.000Z';
export const exampleMadeVoice = {
  ...voice.example,
  voice_id: 'news',
  aliases: [],
  name: 'News',
  labels: {},
  bindings: [{ engine: 'acme', voice_id: 'joan' }],
  owner: 'self',
  created_at: changedAt,
  updated_at: changedAt,
};
export const exampleBlend = [
  { voice_id: 'kokoro-af_heart', weight: 0.6 },
  { voice_id: 'kokoro-af_bella', weight: 0.4 },
];
export const exampleSilencedVoice = {
  ...exampleMadeVoice,
  voice_id: 'voc_01JD3Q8S6V5W2K9YB4XJ7M0C3F',
  name: 'Ada',
  kind: 'cloned',
  status: 'consent_revoked',
  bindings: [{ engine: 'acme', voice_id: null }],
  access: 'private',
  consent: consent.example,
};
export const exampleCloneForm = {
  name: 'Ada',
  language_code: 'en-US',
  speaker_name: 'Ada L.',
  reference_audio: '@reference.wav',
  consent_audio: '@consent.wav',
};

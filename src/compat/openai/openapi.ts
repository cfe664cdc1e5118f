// The OpenAPI documentation of /v1, as far as it differs from OpenAI's own.
import { speechOperations, voiceOperations } from '../../api/operation.ts';
import { formatNames } from '../../audio/formats.ts';
import { describeObject, jsonAnswer, objectSchema, type RouteDocs, type Schema, text } from '../../http/route-docs.ts';
import { openAiEventContent } from '../../http/speech/event-schemas.ts';
import { soundContent, soundHeaders, speakingFailures, streamHeaders } from '../../http/speech/openapi.ts';
import { markedLengthFactor, speechFields, textLimits } from '../../speech/fields.ts';

const string: Schema = { type: 'string' };
const speechSchema: Schema = {
  title: 'OpenAiSpeech',
  type: 'object',
  required: ['input'],
  properties: {
    model: text('Ignored: each voice has its own engine.'),
    input: text('Text to speak.', { maxLength: textLimits.chunkCharsMax * markedLengthFactor }),
    voice: {
      oneOf: [string, { type: 'object', required: ['id'], properties: { id: string } }],
      description:
        'Id or alias of the voice. Without one, the default voice speaks; also for a voice that OpenAI publishes, such as `alloy`, where the caller has none of that name, and then `X-Ignored-Fields` names `voice`. `X-Voice-Id` tells which voice has spoken. With `SONANT_STRICT=1`, both are errors. Any other unknown voice is one always.',
    },
    response_format: text('Encoding.', { enum: formatNames, default: 'mp3' }),
    markup: speechFields.markup.schema,
    normalize: speechFields.normalize.schema,
    lexicon_ids: speechFields.lexiconIds.schema,
    speed: { ...speechFields.speakingRate.schema, description: 'Speed of speech.' },
    stream_format: text('Audio, or events with audio.', { enum: ['audio', 'sse'], default: 'audio' }),
    instructions: speechFields.instructions.schema,
    seed: speechFields.seed.schema,
  },
};
const usual = { tag: 'OpenAI', bearer: 'key', isOpenAi: true } as const;
const listing = { ...usual, scopes: voiceOperations.listVoices.scopes, failures: [] } as const;

const voice = describeObject('OpenAiVoice', {
  id: [text('Id or alias of the voice.'), 'clara'],
  name: [text('Display name, in any script.'), 'Clara'],
});
const voicesSchema = objectSchema('OpenAiVoices', { voices: { type: 'array', items: voice.schema } });
const model = describeObject('OpenAiModel', {
  id: [string, 'tts-1'],
  object: [{ type: 'string', enum: ['model'] }, 'model'],
  created: [{ type: 'integer' }, 1_735_689_600],
  owned_by: [string, 'sonant'],
});
const modelsSchema = objectSchema('OpenAiModels', {
  object: { type: 'string', enum: ['list'] },
  data: { type: 'array', items: model.schema },
});

export const openAiDocs = {
  speak: {
    ...usual,
    id: 'createSpeech',
    summary: 'Create speech as with OpenAI’s API',
    description:
      'At 24 000 Hz. The API key is a bearer token or in X-API-Key; failures have the form of OpenAI’s errors.',
    scopes: speechOperations.streamSpeech.scopes,
    body: { schema: speechSchema, examples: { plain: { model: 'tts-1', input: 'Hello.', voice: 'clara' } } },
    answers: {
      200: {
        description: 'The audio as it is synthesized, or OpenAI’s events.',
        headers: [
          ...soundHeaders.filter((name) => !/^(Content-Disposition|X-Audio-(Duration|Expires|Url))$/.test(name)),
          ...streamHeaders,
        ],
        content: { ...soundContent, ...openAiEventContent },
      },
    },
    failures: speakingFailures.filter((reason) => reason !== 'storage_full'),
  },
  listVoices: {
    ...listing,
    id: 'listOpenAiVoices',
    summary: 'List voices as OpenAI’s clients do',
    answers: {
      200: jsonAnswer('All voices that are ready, each under its id and under its aliases.', voicesSchema, {
        voices: [voice.example],
      }),
    },
  },
  listModels: {
    ...listing,
    id: 'listModels',
    summary: 'List models as with OpenAI’s API',
    answers: { 200: jsonAnswer('Common model names.', modelsSchema, { object: 'list', data: [model.example] }) },
  },
  getModel: {
    ...listing,
    id: 'getOpenAiModel',
    summary: 'Get a model as with OpenAI’s API',
    parameters: [
      { in: 'path', name: 'id', description: 'Id of the model.', schema: string, required: true, example: 'tts-1' },
    ],
    answers: { 200: jsonAnswer('The model.', model.schema, model.example) },
    failures: ['not_found'],
  },
} as const satisfies Record<string, RouteDocs>;

// /v1: the speech endpoints of OpenAI's API, with failures and events in OpenAI's format. The API key is a bearer token
// or in X-API-Key. If a request names a voice that OpenAI publishes and the caller has no such voice, the voice in a
// table speaks, or else the default voice. X-Ignored-Fields and X-Voice-Id report the default voice. With SONANT_STRICT,
// such a request fails. A request with any other unknown voice fails.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  SpeechService,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
} from '../../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { anonymous, scopesOf } from '../../api.ts';
import { bodySchema, type Fields, isObject, memberSchema } from '../../contract.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { readRequest, speechFields } from '../../speech.ts';
import { run, stream } from '../http/admission.ts';
import { sendPieces } from '../http/body-writer.ts';
import { openAiNames, toOpenAiError } from '../http/openai-failure.ts';
import { fieldsOf, ignoredHeaders, sortFields, strictFaults } from '../http/request-fields.ts';
import {
  describeObject,
  documented,
  jsonAnswer,
  objectSchema,
  type RouteDocs,
  type Schema,
  text,
} from '../http/route-docs.ts';
import type { RouteTools } from '../http/route-tools.ts';
import { openAiEventContent } from '../http/synthesis/event-schemas.ts';
import { soundContent, soundHeaderNames, speakingFailures, streamHeaders } from '../http/synthesis/openapi.ts';
import { eventHeaders } from '../http/synthesis/resumable-stream.ts';
import { beginSound } from '../http/synthesis/routes.ts';
import { resultHeaders, soundHeaders } from '../http/synthesis/speech-over-http.ts';
import { fromThrown } from '../net/failure-reply.ts';
import { checkAacEncoder, encodeAac } from './aac.ts';
import { toNamedVoices } from './named-voices.ts';

interface VoiceLists {
  /** Whether voices and models are listed without a key. */
  listsForAnyone: boolean;
  /** The operator's changes to the table of voices, such as "alloy=clara". */
  standIns: readonly string[];
}

/** Voices that OpenAI publishes, and the ends of the ids of Kokoro's voices, which speak for them if installed. */
const publishedVoices = 'alloy=af_alloy ash=am_michael ballad=bm_george cedar=am_fenrir coral=af_bella echo=am_echo'
  .concat(' fable=bm_fable marin=af_heart nova=af_nova onyx=am_onyx sage=af_sarah shimmer=af_sky verse=am_puck')
  .split(' ');
/** Model names that OpenAI clients expect. A request for speech may also give any other model name. */
const modelIds = ['sonant', 'tts-1', 'tts-1-hd', 'gpt-4o-mini-tts'];
const models = modelIds.map((id) => ({ id, object: 'model', created: 1_735_689_600, owned_by: 'sonant' }));
const { streamSpeech } = SpeechService.method;
const { listVoices } = VoiceService.method;

export function addOpenAiRoutes(
  app: FastifyInstance,
  { speech, voices, isStrict, admission: { admitBearerTo: admitTo, admitAnyoneTo } }: RouteTools,
  { listsForAnyone, standIns }: VoiceLists,
): void {
  const pairs = [...publishedVoices.map((pair) => pair.replace('=', '=kokoro-')), ...standIns];
  const table = new Map(pairs.map((pair) => pair.split('=', 2).map((part) => part.trim()) as [string, string]));

  const speak = async (request: FastifyRequest, reply: FastifyReply) => {
    const parsed = readOpenAiBody(fieldsOf(request), isStrict);
    const ignored = [...parsed.ignored];
    const { voice } = parsed;
    const names = voice === undefined ? [] : [voice, table.get(voice) ?? ''];
    const mayReplace = !isStrict && !names.includes('');
    const found = mayReplace ? await voices.findOrDefault(request.call!, ...names) : undefined;
    if (found?.isDefault && voice !== undefined) ignored.push({ name: 'voice', meant: undefined });
    if (parsed.isAac) await checkAacEncoder();
    const events = stream(request, reply, streamSpeech, (call) =>
      speech.streamSpeech(call, { ...parsed.request, ...(found && { voiceId: found.voiceId }) }),
    );
    const { info, pieces: sound } = await beginSound(events);
    const pieces = parsed.isAac ? encodeAac(sound, sampleRateHz) : sound;
    const { 'Content-Disposition': _, ...headers } = soundHeaders(info, 'streaming');
    Object.assign(headers, resultHeaders(info), ignoredHeaders(request, ignored));
    if (parsed.isAac) Object.assign(headers, { 'content-type': aacType, 'X-Format': 'aac' });
    if (parsed.isEvents)
      await sendPieces(reply, { ...headers, ...eventHeaders }, eventsOf(pieces, parsed.request.chars));
    else await sendPieces(reply, headers, pieces);
    return reply;
  };

  app.post('/v1/audio/speech', documented(openAiDocs.speak, admitTo(streamSpeech)), speak);

  const admitLister = (listsForAnyone ? admitAnyoneTo : admitTo)(listVoices);
  app.get('/v1/audio/voices', documented(openAiDocs.listVoices, admitLister), async (request, reply) => {
    const ready = await (request.call
      ? run(request, reply, listVoices, (call) => voices.listReadyVoices(call))
      : voices.listReadyVoices({ caller: anonymous }));
    return { voices: ready.flatMap(toNamedVoices).map(({ id, voice }) => ({ id, name: voice.name })) };
  });

  app.get('/v1/audio/models', documented(openAiDocs.listAudioModels, admitLister), async () => ({ models }));

  const listModels = async () => ({ object: 'list', data: models });
  app.get('/v1/models', documented(openAiDocs.listModels, admitTo(listVoices)), listModels);

  app.get('/v1/models/:id', documented(openAiDocs.getModel, admitTo(listVoices)), async (request) => {
    const { id: wanted } = request.params as { id: string };
    const model = models.find(({ id }) => id === wanted);
    if (!model) throw new Failure('not_found', { message: 'Model not found; GET /v1/models lists the models.' });
    return model;
  });
}

/** Usage is counted in characters, while OpenAI counts tokens. */
async function* eventsOf(pieces: AsyncIterable<Uint8Array>, chars: number): AsyncGenerator<string> {
  let hasBegun = false;
  try {
    for await (const sound of pieces) {
      const audio = Buffer.from(sound.buffer, sound.byteOffset, sound.byteLength).toString('base64');
      yield toEvent({ type: 'speech.audio.delta', audio });
      hasBegun = true;
    }
    const usage = { input_tokens: chars, output_tokens: 0, total_tokens: chars };
    yield toEvent({ type: 'speech.audio.done', usage });
  } catch (error) {
    if (!hasBegun) throw error;
    yield `event: error\n${toEvent({ error: toOpenAiError(fromThrown(error)) })}`;
  }
}

const toEvent = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

interface OpenAiSpeech extends ReturnType<typeof readRequest> {
  /** The voice that the request names; undefined if the request names no voice. */
  voice: string | undefined;
  isEvents: boolean;
  /** Whether the audio, which is PCM, is to be encoded as AAC. */
  isAac: boolean;
}

/** Fields with the same name in Sonant's API. */
const sameFields = ['markup', 'normalize', 'lexicon_ids', 'instructions', 'seed'];
const known = ['model', 'stream_format', ...new Set(Object.values(openAiNames.fields)), ...sameFields];
const streamFormats = ['audio', 'sse'];
const responseFormats = [...speechFields.formatNames, 'aac'];
const aacType = 'audio/aac';
const sampleRateHz = 24_000;
/** Placeholder for a request without a voice, which is resolved when the caller is known. */
const unnamed = 'default';

function readOpenAiBody(body: Fields, isStrict: boolean): OpenAiSpeech {
  const { fields, ignored } = sortFields(body, known);
  const violations = strictFaults(ignored, isStrict);
  const { voice, input: text, response_format, speed, stream_format } = fields;
  const format = oneOf('response_format', response_format ?? 'mp3', responseFormats, violations);
  const isAac = format === 'aac';
  const isEvents = oneOf('stream_format', stream_format ?? 'audio', streamFormats, violations) === 'sse';
  const named = isObject(voice) ? voice.id : voice;
  const isUnnamed = !isStrict && (named === undefined || named === null || named === '');
  const speech = {
    voice_id: isUnnamed ? unnamed : named,
    text,
    output_format: isAac ? 'pcm' : format,
    speaking_rate: speed,
    ...Object.fromEntries(sameFields.map((name) => [name, fields[name]])),
    sample_rate: sampleRateHz,
    language_code: speechFields.ownLanguage,
  };
  const { request } = readRequest(StreamSpeechRequestSchema, speech, { violations });
  if (format === 'mp3') request.format = 'mp3_128';
  return { request, voice: isUnnamed ? undefined : request.voiceId, ignored, isEvents, isAac };
}

function oneOf(field: string, value: unknown, allowed: readonly string[], violations: FieldViolation[]): string {
  if (typeof value === 'string' && allowed.includes(value)) return value;
  violations.push({ field, reason: 'enum', message: `must be one of ${allowed.join(', ')}`, allowed });
  return allowed[0]!;
}

const string: Schema = { type: 'string' };
const schemaOf = (name: string) => memberSchema(SynthesizeSpeechRequestSchema, name, 'request');
const speechSchema = bodySchema({
  title: 'OpenAiSpeech',
  type: 'object',
  required: ['input'],
  properties: {
    model: text('Ignored: each voice has its own engine.'),
    input: schemaOf('text'),
    voice: {
      oneOf: [string, { type: 'object', required: ['id'], properties: { id: string } }],
      description:
        'Id or alias of the voice. If it is omitted, the default voice speaks. For a voice of OpenAI, such as `alloy`, that the caller does not have, a voice of Kokoro speaks, or the one that the operator chose, else the default voice, and `X-Ignored-Fields` contains `voice`. `X-Voice-Id` is the voice that spoke. With `SONANT_STRICT=1`, both cases are errors. Any other unknown voice is always an error.',
    },
    response_format: { ...schemaOf('output_format'), title: undefined, enum: responseFormats, default: 'mp3' },
    speed: schemaOf('speaking_rate'),
    stream_format: text('Audio, or events with audio.', { enum: ['audio', 'sse'], default: 'audio' }),
    ...Object.fromEntries(sameFields.map((name) => [name, schemaOf(name)])),
  },
});
const usual = { tag: 'OpenAI', bearer: 'key', isOpenAi: true } as const;
const listing = { ...usual, scopes: scopesOf(listVoices), failures: [] } as const;

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
const audioModelsSchema = objectSchema('OpenAiAudioModels', { models: { type: 'array', items: model.schema } });
const modelsSchema = objectSchema('OpenAiModels', {
  object: { type: 'string', enum: ['list'] },
  data: { type: 'array', items: model.schema },
});

const openAiDocs = {
  speak: {
    ...usual,
    id: 'createSpeech',
    summary: 'Create speech as OpenAI’s API does',
    description:
      'The sample rate is 24 000 Hz. Send the API key as a bearer token or in X-API-Key. Failures have the form of OpenAI’s errors.',
    scopes: scopesOf(streamSpeech),
    body: { schema: speechSchema, examples: { plain: { model: 'tts-1', input: 'Hello.', voice: 'clara' } } },
    answers: {
      200: {
        description: 'The audio while it is synthesized, or OpenAI’s events.',
        headers: [
          ...soundHeaderNames.filter((name) => !/^(Content-Disposition|X-Audio-(Duration|Expires|Url))$/.test(name)),
          ...streamHeaders,
        ],
        content: { ...soundContent, [aacType]: soundContent['audio/pcm']!, ...openAiEventContent },
      },
    },
    failures: [...speakingFailures.filter((reason) => reason !== 'storage_full'), 'not_supported'],
  },
  listVoices: {
    ...listing,
    id: 'listOpenAiVoices',
    summary: 'List voices for OpenAI’s clients',
    answers: {
      200: jsonAnswer('All voices that are ready, each under its id and under its aliases.', voicesSchema, {
        voices: [voice.example],
      }),
    },
  },
  listAudioModels: {
    ...listing,
    id: 'listAudioModels',
    summary: 'List models for Open WebUI',
    answers: { 200: jsonAnswer('Common model names.', audioModelsSchema, { models: [model.example] }) },
  },
  listModels: {
    ...listing,
    id: 'listModels',
    summary: 'List models as OpenAI’s API does',
    answers: { 200: jsonAnswer('Common model names.', modelsSchema, { object: 'list', data: [model.example] }) },
  },
  getModel: {
    ...listing,
    id: 'getOpenAiModel',
    summary: 'Return a model as OpenAI’s API does',
    parameters: [
      { in: 'path', name: 'id', description: 'Id of the model.', schema: string, required: true, example: 'tts-1' },
    ],
    answers: { 200: jsonAnswer('The model.', model.schema, model.example) },
    failures: ['not_found'],
  },
} as const satisfies Record<string, RouteDocs>;

// GET /api/voices, filtered and a page at a time, and GET /api/voices/{id}: the voices that a key may speak with.
import { createClient, type Transport } from '@connectrpc/connect';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Voice, VoiceKind, VoiceService, VoiceStatus } from '../../gen/sonant/v1/voice_pb.ts';
import { audioFormats, outputSampleRatesHz } from '../audio/formats.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { requiredScopesOf } from '../rpc/gate.ts';
import { speakingRates } from '../speech/request.ts';
import type { AdmitTo } from './admission.ts';
import { callOptionsOf } from './call-options.ts';
import { documented, type Operation, queryParameter, type Schema } from './operation.ts';
import { inTermsOfQuery, pageParameters, takePage, takeText } from './page-query.ts';

const { listVoices, getVoice } = VoiceService.method;

const text: Schema = { type: 'string' };
const nullableTime: Schema = { type: ['string', 'null'], format: 'date-time' };
const voiceSchema: Schema = {
  title: 'Voice',
  type: 'object',
  required: ['voice_id', 'name', 'description', 'kind', 'engine', 'status', 'language_codes', 'labels', 'capabilities'],
  properties: {
    voice_id: { ...text, description: 'What to ask for.' },
    name: text,
    description: text,
    kind: { ...text, enum: ['stock', 'cloned'] },
    engine: { ...text, description: 'What speaks it.' },
    status: { ...text, enum: ['pending', 'ready', 'failed', 'disabled', 'consent_revoked'] },
    language_codes: {
      type: 'array',
      items: text,
      description: 'BCP-47 ranges, its own language first: `en` covers `en-US`.',
    },
    labels: { type: 'object', additionalProperties: text },
    capabilities: {
      type: 'object',
      properties: {
        sample_rates: { type: 'array', items: { type: 'integer' } },
        output_formats: { type: 'array', items: text },
        speaking_rate: { type: 'object', properties: { min: { type: 'number' }, max: { type: 'number' } } },
      },
    },
    consent: { type: ['object', 'null'], description: 'Of a cloned voice.' },
    created_at: nullableTime,
    updated_at: nullableTime,
  },
};
const pageSchema: Schema = {
  title: 'VoicePage',
  type: 'object',
  required: ['voices', 'next_cursor'],
  properties: {
    voices: { type: 'array', items: voiceSchema },
    next_cursor: { type: ['string', 'null'], description: 'Where the next page begins; null on the last one.' },
  },
};

const listOperation: Operation = {
  id: 'listVoices',
  tag: 'Voices',
  summary: 'List voices',
  scopes: requiredScopesOf(listVoices),
  parameters: [
    queryParameter('language_code', 'Only voices that can speak this BCP-47 language.'),
    queryParameter('engine', 'Only voices of this engine.'),
    queryParameter('text', 'Only voices with these words in their id, name, description or labels.'),
    ...pageParameters,
  ],
  answers: { 200: { description: 'Voices, ordered by id.', content: { 'application/json': { schema: pageSchema } } } },
  failures: ['invalid_request', 'invalid_api_key', 'insufficient_scope', 'overloaded'],
};
const getOperation: Operation = {
  id: 'getVoice',
  tag: 'Voices',
  summary: 'Tell of a voice',
  scopes: requiredScopesOf(getVoice),
  parameters: [{ in: 'path', name: 'id', description: 'Id of the voice.', schema: text, required: true }],
  answers: { 200: { description: 'The voice.', content: { 'application/json': { schema: voiceSchema } } } },
  failures: ['invalid_api_key', 'insufficient_scope', 'voice_not_found', 'overloaded'],
};

export function addVoiceRoutes(app: FastifyInstance, transport: Transport, admitTo: AdmitTo): void {
  const client = createClient(VoiceService, transport);

  app.route({
    method: 'GET',
    url: '/api/voices',
    ...documented(listOperation),
    onRequest: admitTo(listVoices),
    async handler(request, reply) {
      const wanted = parseList(request.query as Record<string, unknown>);
      const answer = client.listVoices(wanted, callOptionsOf(request, reply, 'rest'));
      const { voices, nextPageToken } = await answer.catch((error) => {
        throw inTermsOfQuery(error);
      });
      return { voices: voices.map(toJson), next_cursor: nextPageToken || null };
    },
  });

  app.route({
    method: 'GET',
    url: '/api/voices/:id',
    ...documented(getOperation),
    onRequest: admitTo(getVoice),
    async handler(request: FastifyRequest<{ Params: { id: string } }>, reply) {
      const { voice } = await client.getVoice({ voiceId: request.params.id }, callOptionsOf(request, reply, 'rest'));
      return toJson(voice!);
    },
  });
}

/** Parameters that are not known mean nothing, and are ignored. */
function parseList(given: Readonly<Record<string, unknown>>) {
  const details: FieldViolation[] = [];
  const take = (name: string) => takeText(given, name, details);
  const wanted = {
    languageCode: take('language_code'),
    engine: take('engine'),
    query: take('text'),
    ...takePage(given, details),
  };
  if (details.length > 0) throw new Failure('invalid_request', { details });
  return wanted;
}

const statusNames: Readonly<Record<number, string>> = {
  [VoiceStatus.PENDING]: 'pending',
  [VoiceStatus.READY]: 'ready',
  [VoiceStatus.FAILED]: 'failed',
  [VoiceStatus.DISABLED]: 'disabled',
  [VoiceStatus.CONSENT_REVOKED]: 'consent_revoked',
};

/** What every voice can do, since the heart does what an engine cannot. */
const capabilities = {
  sample_rates: outputSampleRatesHz,
  output_formats: Object.keys(audioFormats),
  speaking_rate: speakingRates,
};

const toJson = (voice: Voice) => ({
  voice_id: voice.voiceId,
  name: voice.name,
  description: voice.description,
  kind: voice.kind === VoiceKind.CLONED ? 'cloned' : 'stock',
  engine: voice.engine,
  status: statusNames[voice.status],
  language_codes: voice.languageCodes,
  labels: voice.labels,
  capabilities,
  consent: null,
  created_at: null,
  updated_at: null,
});

// The speech endpoints of Cartesia's API: GET /tts/websocket, POST /tts/bytes, POST /tts/sse, GET /voices and GET
// /voices/{id}. The API key is in X-API-Key, a bearer token or, for browser WebSockets, the query parameter
// `api_key`. Every request for speech becomes live speech.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type LiveEvent, type LiveInput, speechOperations, voiceOperations } from '../../../api.ts';
import { audioFormats } from '../../../audio.ts';
import type { Fields } from '../../../contract.ts';
import { Failure, type FieldViolation } from '../../../platform/errors.ts';
import type { OfferedVoice } from '../../../speech.ts';
import { run, stream } from '../../http/admission.ts';
import { sendPieces } from '../../http/body-writer.ts';
import { ignoredHeaders, sortFields } from '../../http/ignored-fields.ts';
import { fieldsOf } from '../../http/json-body.ts';
import { eventHeaders } from '../../http/synthesis/server-sent-events.ts';
import { withWarnings } from '../../http/synthesis/speech-headers.ts';
import { fromThrown } from '../../http/thrown-failure.ts';
import { checkUpgrade } from '../../http/web-socket.ts';
import { type NamedVoice, pageOfVoices } from '../named-voices.ts';
import { checkTextFits, serveContexts, type VendorRoutesOptions } from '../speech-contexts.ts';
import { toErrorMessage } from './cartesia-failure.ts';
import { type CartesiaWriter, createCartesiaProtocol } from './contexts.ts';
import { type CartesiaMessage, createEventWriter, doneMessage } from './events.ts';
import { type Generation, parseGeneration } from './generation.ts';

const { liveSpeech } = speechOperations;
const { listVoices, getVoice } = voiceOperations;

export function addCartesiaRoutes(app: FastifyInstance, options: VendorRoutesOptions): void {
  const { live, voices, admission } = options;
  const { admitAnyTo } = admission;

  app.get('/tts/websocket', { onRequest: admitAnyTo(liveSpeech), exposeHeadRoute: false }, async (request, reply) => {
    checkUpgrade(request, reply, options.isAllowedOrigin);
    await serveContexts<CartesiaWriter>({ ...options, api: 'cartesia' }, [request, reply], (contexts, socket) =>
      createCartesiaProtocol(contexts, socket, request.id),
    );
    return reply;
  });

  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    const generation = parseGeneration(fieldsOf(request));
    if (generation.transcript.trim() === '') {
      const details: FieldViolation[] = [
        { field: 'transcript', reason: 'blank', message: 'must contain more than white space' },
      ];
      throw new Failure('invalid_request', { details });
    }
    checkTextFits([generation.transcript], request.call!.caller, 'Use the WebSocket');
    const events = stream(request, reply, liveSpeech, (call) => live.liveSpeech(call, inputsOf(generation)));
    return { generation, events };
  };

  const onPost = [admitAnyTo(liveSpeech), takeAsJson];
  app.post('/tts/bytes', { onRequest: onPost }, async (request, reply) => {
    const { generation, events } = begin(request, reply);
    const { format } = generation.start;
    const headers = {
      'content-type': audioFormats[format].contentType,
      ...ignoredHeaders(request, generation.ignored),
    };
    await sendPieces(reply, headers, soundOf(withWarnings(reply, events)));
    return reply;
  });

  app.post('/tts/sse', { onRequest: onPost }, async (request, reply) => {
    const { generation, events } = begin(request, reply);
    const ignored = generation.ignored.filter(({ name }) => name !== 'context_id');
    const headers = { ...eventHeaders, ...ignoredHeaders(request, ignored) };
    await sendPieces(reply, headers, eventsOf(withWarnings(reply, events), generation, request.id));
    return reply;
  });

  app.get('/voices', { onRequest: admitAnyTo(listVoices) }, async (request, reply) => {
    const { fields, ignored } = sortFields(request.query as Fields, voicesQuery, false);
    const page = toVoicePage(await run(request, reply, listVoices, (call) => voices.listReadyVoices(call)), fields);
    reply.headers(ignoredHeaders(request, ignored));
    return page;
  });

  app.get('/voices/:id', { onRequest: admitAnyTo(getVoice) }, async (request, reply) => {
    const { id } = request.params as { id: string };
    const { voice } = await run(request, reply, getVoice, (call) => voices.getVoice(call, id));
    return toCartesiaVoice({ id, voice });
  });
}

/** Reads a body without Content-Type as JSON, because LiveKit's plugin for Node sends no Content-Type. */
async function takeAsJson({ headers }: FastifyRequest): Promise<void> {
  headers['content-type'] ??= 'application/json';
}

async function* inputsOf({ start, transcript }: Generation): AsyncGenerator<LiveInput> {
  yield { type: 'start', start };
  yield { type: 'text', text: transcript };
}

async function* soundOf(events: AsyncIterable<LiveEvent>): AsyncGenerator<Uint8Array> {
  for await (const event of events) if (event.type === 'audio') yield event.audio;
}

async function* eventsOf(
  events: AsyncIterable<LiveEvent>,
  generation: Generation,
  requestId: string,
): AsyncGenerator<Uint8Array> {
  const writer = createEventWriter(generation);
  writer.addText(0, generation.transcript);
  const { contextId: context_id } = generation;
  const toText = (message: CartesiaMessage) =>
    Buffer.from(`event: ${message.type}\ndata: ${JSON.stringify({ ...message, context_id })}\n\n`);
  let hasBegun = false;
  try {
    for await (const event of events) {
      for await (const message of writer.write(event)) {
        yield toText(message);
        hasBegun = true;
      }
    }
    yield toText(doneMessage);
  } catch (error) {
    if (!hasBegun) throw error;
    yield toText(toErrorMessage(fromThrown(error), requestId));
  }
}

const names = { size: 'limit', text: 'q', languageCode: 'language', after: 'starting_after' };
const voicesQuery = [...Object.values(names), 'gender', 'api_key'];
const pageSizeDefault = 100;
/** Cartesia's names for genders, by Sonant's names. */
const genders: Readonly<Record<string, string>> = { male: 'masculine', female: 'feminine', neutral: 'gender_neutral' };

const toCartesiaVoice = ({
  id,
  voice: { name, description, languageCodes, labels },
}: Pick<NamedVoice, 'id' | 'voice'>) => ({
  id,
  name,
  description,
  tagline: '',
  gender: genderOf(labels),
  language: languageCodes[0]!.split('-', 1)[0]!,
  locales: languageCodes.filter((code) => code.includes('-')).map((locale, i) => ({ locale, is_native: i === 0 })),
  access: 'public',
  visibility: 'all',
  is_owner: false,
  created_at: '1970-01-01T00:00:00Z',
});

const genderOf = ({ gender = '' }: Readonly<Record<string, string>>) =>
  Object.hasOwn(genders, gender) ? genders[gender] : null;

function toVoicePage(ready: readonly OfferedVoice[], query: Fields) {
  const { gender = '' } = query;
  const allowed = Object.values(genders);
  const message = `must be one of ${allowed.join(', ')}`;
  if (gender !== '' && !allowed.includes(String(gender)))
    throw new Failure('invalid_request', { details: [{ field: 'gender', reason: 'enum', message, allowed }] });
  const wanted = ready.filter(({ voice }) => gender === '' || genderOf(voice.labels) === gender);
  const { page, hasMore, next } = pageOfVoices(wanted, query, names, pageSizeDefault);
  return { data: page.map(toCartesiaVoice), has_more: hasMore, next_page: next };
}

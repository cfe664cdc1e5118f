// The speech endpoints of Cartesia's API: GET /tts/websocket, POST /tts/bytes, POST /tts/sse, and POST /access-token, whose
// tokens are only for speech. The API key or the token is a bearer token or in the query, where browsers put it as
// `access_token`; the key may also be in X-API-Key. Every request for speech becomes live speech.
import type { DescMethod } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SpeechService } from '../../../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../../../gen/sonant/v1/voice_pb.ts';
import type { LiveEvent, LiveInput } from '../../../api.ts';
import { audioFormats } from '../../../audio.ts';
import { type Fields, isObject, Violations } from '../../../contract.ts';
import { Failure, invalidField } from '../../../platform/errors.ts';
import { languageOf } from '../../../platform/language-code.ts';
import { type OfferedVoice, ownerOf } from '../../../speech.ts';
import { anyKeyOf, run, stream } from '../../http/admission.ts';
import { sendPieces } from '../../http/body-writer.ts';
import { addWithoutBody, fieldsOf, ignoredHeaders, sortFields } from '../../http/request-fields.ts';
import type { RouteTools } from '../../http/route-tools.ts';
import { eventHeaders } from '../../http/synthesis/resumable-stream.ts';
import { withWarnings } from '../../http/synthesis/speech-over-http.ts';
import { checkUpgrade } from '../../http/web-socket.ts';
import { fromThrown } from '../../net/failure-reply.ts';
import { callForJson } from '../contract-calls.ts';
import { choose, type NamedVoice, pageOfVoices, type Viewer, viewerOf } from '../named-voices.ts';
import { checkTextFits, serveContexts, soundOf } from '../speech-contexts.ts';
import { toErrorMessage } from './cartesia-failure.ts';
import { type CartesiaWriter, createCartesiaProtocol } from './contexts.ts';
import { type CartesiaMessage, createEventWriter, doneMessage } from './events.ts';
import { type Generation, parseGeneration } from './request.ts';

// The voices of Cartesia's API: GET /voices with filters and pages, GET, PATCH and DELETE /voices/{id}. A clone needs a
// recording of consent, which POST /voices/clone does not contain, and no voice is made to speak another language.

const { listVoices, getVoice, updateVoice, deleteVoice } = VoiceService.method;

function addCartesiaVoiceRoutes(app: FastifyInstance, options: RouteTools): void {
  const { voices, callRpc, admission } = options;
  const to = (method: DescMethod) => ({ onRequest: admission.admitAnyTo(method) });
  const idOf = ({ params }: FastifyRequest) => (params as { id: string }).id;

  app.get('/voices', to(listVoices), async (request, reply) => {
    const { fields, ignored } = sortFields(request.query as Fields, voicesQuery);
    const ready = await run(request, reply, listVoices, (call) => voices.listReadyVoices(call));
    reply.headers(ignoredHeaders(request, ignored));
    return toVoicePage(ready, fields, await viewerOf(request, options));
  });

  app.get('/voices/:id', to(getVoice), async (request, reply) => {
    const id = idOf(request);
    const found = await run(request, reply, getVoice, (call) => voices.getVoice(call, id));
    return toCartesiaVoice({ ...found, id }, await viewerOf(request, options));
  });

  app.patch('/voices/:id', to(updateVoice), async (request, reply) => {
    const id = idOf(request);
    const { fields, ignored } = sortFields(fieldsOf(request), ['name', 'description', 'gender']);
    const { gender: _, ...texts } = fields;
    const violations = new Violations();
    const gender = choose(fields, 'gender', genders, violations);
    violations.throwIfAny();
    const changed = await run(request, reply, updateVoice, async (call) => {
      const { voice } = await voices.getVoice(call, id);
      const labels = gender && { labels: { ...voice.labels, gender } };
      await callForJson(callRpc, updateVoice, { voice_id: id, ...texts, ...labels }, call);
      return voices.getVoice(call, id);
    });
    reply.headers(ignoredHeaders(request, ignored));
    return toCartesiaVoice({ ...changed, id }, await viewerOf(request, options));
  });

  addWithoutBody(app, (scope) => {
    scope.delete('/voices/:id', to(deleteVoice), async (request, reply) => {
      const members = { voice_id: idOf(request) };
      await run(request, reply, deleteVoice, (call) => callForJson(callRpc, deleteVoice, members, call));
      return reply.code(204).send();
    });
    const refuse = (path: string, message: string) =>
      scope.post(path, to(listVoices), () => {
        throw new Failure('not_supported', { message });
      });
    refuse('/voices/clone', 'A clone needs a recording of consent: create it with POST /api/voices.');
    refuse(
      '/voices/localize',
      'A voice speaks only its own languages: GET /voices?language=... lists the voices of another one.',
    );
  });
}

const names = { size: 'limit', text: 'q', languageCode: 'language', after: 'starting_after' };
const voicesQuery = [...Object.values(names), 'gender', 'is_owner', 'expand', 'expand[]', 'api_key'];
const pageSizeDefault = 100;
/** Sonant's names for genders, by Cartesia's names. */
const genders = { masculine: 'male', feminine: 'female', gender_neutral: 'neutral' };

const toCartesiaVoice = ({ id, voice, kept }: NamedVoice, { caller, previewUrl }: Viewer) => ({
  id,
  name: voice.name,
  description: voice.description,
  tagline: '',
  gender: Object.entries(genders).find(([, ours]) => ours === voice.labels.gender)?.[0] ?? null,
  language: languageOf(voice.languageCodes[0]!),
  locales: voice.languageCodes
    .filter((code) => code.includes('-'))
    .map((locale, i) => ({ locale, is_native: i === 0 })),
  access: kept?.access === 'private' ? 'private' : 'public',
  visibility: kept?.access === 'private' ? 'owner' : 'all',
  is_owner: ownerOf(kept, caller) === 'self',
  created_at: (kept?.createdAt ?? new Date(0)).toISOString(),
  preview_file_url: previewUrl(id),
});

function toVoicePage(ready: readonly OfferedVoice[], query: Fields, viewer: Viewer) {
  const violations = new Violations();
  const gender = choose(query, 'gender', genders, violations);
  const isOwner = choose(query, 'is_owner', { true: true, false: false }, violations);
  violations.throwIfAny();
  const matching = ready.filter(
    ({ voice, kept }) =>
      (gender ?? voice.labels.gender) === voice.labels.gender &&
      (isOwner ?? ownerOf(kept, viewer.caller) === 'self') === (ownerOf(kept, viewer.caller) === 'self'),
  );
  const { page, hasMore, next } = pageOfVoices(matching, query, names, pageSizeDefault);
  return { data: page.map((voice) => toCartesiaVoice(voice, viewer)), has_more: hasMore, next_page: next };
}

const { liveSpeech } = SpeechService.method;

export function addCartesiaRoutes(app: FastifyInstance, options: RouteTools): void {
  const { live, admission, tickets } = options;
  addCartesiaVoiceRoutes(app, options);

  app.post('/access-token', { onRequest: admission.admitAnyTo(liveSpeech) }, async (request, reply) => {
    const seconds = readTokenRequest(fieldsOf(request));
    const token = await tickets.issueToken('speech', request.call!.caller, seconds);
    return reply.header('cache-control', 'no-store').send({ token });
  });

  const admit = async (request: FastifyRequest, reply: FastifyReply) => {
    const { access_token: asked } = request.query as Fields;
    const key = anyKeyOf(request);
    const token = asked ?? (key?.startsWith(tokenStart) ? key : undefined);
    const ticketKeyId = token === undefined ? undefined : await tickets.openToken('speech', String(token));
    if (token !== undefined && ticketKeyId === undefined)
      throw new Failure('invalid_api_key', { message: tokenExpired });
    await admission.admitWith({ key, ticketKeyId }, request, reply, liveSpeech);
  };

  app.get('/tts/websocket', { onRequest: admit, exposeHeadRoute: false }, async (request, reply) => {
    checkUpgrade(request, reply, options.isAllowedOrigin);
    await serveContexts<CartesiaWriter>({ ...options, api: 'cartesia' }, [request, reply], (contexts, socket) =>
      createCartesiaProtocol(contexts, socket, request.id),
    );
    return reply;
  });

  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    const generation = parseGeneration(fieldsOf(request));
    if (generation.transcript.trim() === '')
      throw invalidField('transcript', 'blank', 'must contain more than white space');
    checkTextFits([{ text: generation.transcript }], request, 'Use the WebSocket');
    const events = stream(request, reply, liveSpeech, (call) => live.liveSpeech(call, inputsOf(generation)));
    return { generation, events };
  };

  const onPost = [admit, takeAsJson];
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
}

/** The start of every token: the encoded `{"alg":`. */
const tokenStart = 'eyJ';
const tokenExpired = 'The access token is invalid or has expired. Request a new one.';
const tokenSecondsDefault = 60;
const tokenSecondsMax = 3600;

/** The number of seconds for which the token is to be valid. */
function readTokenRequest({ expires_in, grants }: Fields): number {
  const seconds = expires_in ?? tokenSecondsDefault;
  const violations = new Violations();
  if (isObject(grants) && grants.tts !== true)
    violations.report('grants.tts', 'enum', 'must be true, because a token is only for speech');
  const isValid = Number.isInteger(seconds) && Number(seconds) >= 1 && Number(seconds) <= tokenSecondsMax;
  const message = `must be a whole number of seconds from 1 to ${tokenSecondsMax}`;
  if (!isValid) violations.report('expires_in', 'range', message);
  violations.throwIfAny();
  return Number(seconds);
}

/** Reads a body without Content-Type as JSON, because LiveKit's plugin for Node sends no Content-Type. */
async function takeAsJson({ headers }: FastifyRequest): Promise<void> {
  headers['content-type'] ??= 'application/json';
}

async function* inputsOf({ start, transcript }: Generation): AsyncGenerator<LiveInput> {
  yield { type: 'start', start };
  yield { type: 'text', text: transcript };
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

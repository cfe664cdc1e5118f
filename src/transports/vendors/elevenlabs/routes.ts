// The speech endpoints of ElevenLabs's API, below /v1/text-to-speech/{voice_id}: the WebSockets stream-input and
// multi-stream-input, and POST with and without /stream and /with-timestamps; also GET /v1/voices,
// /v1/voices/{voice_id}, its /settings, /v1/models, /v1/user and /v1/single-use-token. The API key is in xi-api-key.
// Every request for speech becomes live speech. A WebSocket is accepted before its caller and its voice are checked,
// because clients read a refusal of the upgrade as a wrong address.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  type LiveEvent,
  type LiveInput,
  liveWaitingCharsMax,
  speechOperations,
  voiceOperations,
} from '../../../api.ts';
import { audioFormats } from '../../../audio.ts';
import type { Fields } from '../../../contract.ts';
import type { OfferedVoice, SpeechRequest } from '../../../speech.ts';
import { anyKeyOf, run, stream } from '../../http/admission.ts';
import { sendPieces } from '../../http/body-writer.ts';
import { ignoredHeaders, sortFields } from '../../http/ignored-fields.ts';
import { addWithoutBody, fieldsOf } from '../../http/json-body.ts';
import { withWarnings } from '../../http/synthesis/speech-headers.ts';
import { checkUpgrade } from '../../http/web-socket.ts';
import {
  type ContextSocket,
  checkTextFits,
  type SpeechContexts,
  serveContexts,
  type VendorRoutesOptions,
} from '../speech-contexts.ts';
import { CharacterTimes, type TimedChar } from './alignment.ts';
import { ElevenLabsProtocol } from './contexts.ts';
import { elevenLabsHeader } from './elevenlabs-failure.ts';
import type { ElevenLabsWriter } from './events.ts';
import { parseGeneration, parseSocketSettings } from './generation.ts';
import { toSubscription, toUser } from './subscription.ts';
import { languageOf, toElevenLabsVoice, toVoicePage, toVoices, voicePageQuery, voiceSettings } from './voices.ts';

const { liveSpeech } = speechOperations;
const { listVoices, getVoice } = voiceOperations;
const root = '/v1/text-to-speech/:voiceId';
const json = 'application/json';

export function addElevenLabsRoutes(app: FastifyInstance, options: VendorRoutesOptions): void {
  const { live, voices, admission, tickets, baseUrl } = options;
  const { admitAnyTo } = admission;

  addSockets(app, options);
  addWithoutBody(app, (scope) => {
    scope.post('/v1/single-use-token/tts_websocket', { onRequest: admitAnyTo(liveSpeech) }, async (request, reply) => {
      const { ticketId } = await tickets.issueLive(request.call!.caller);
      return reply.header('cache-control', 'no-store').send({ token: ticketId });
    });
  });

  /** `contentType` defaults to the content type of the audio. */
  const speak =
    (render: (events: AsyncIterable<LiveEvent>, text: string) => AsyncIterable<Uint8Array>, contentType?: string) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const { start, text, ignored } = parseGeneration(voiceOf(request), request.query as Fields, fieldsOf(request));
      const cost = checkTextFits(text, request.call!.caller, 'Use a WebSocket');
      const events = stream(request, reply, liveSpeech, (call) => live.liveSpeech(call, inputsOf(start, text)));
      const type = contentType ?? audioFormats[start.format].contentType;
      const headers = {
        'content-type': type,
        'request-id': request.id,
        'character-cost': String(cost),
        ...ignoredHeaders(request, ignored),
      };
      await sendPieces(reply, headers, render(withWarnings(reply, events), text));
      return reply;
    };
  const admitted = { onRequest: admitAnyTo(liveSpeech) };
  app.post(root, admitted, speak(soundOf));
  app.post(`${root}/stream`, admitted, speak(soundOf));
  app.post(`${root}/with-timestamps`, admitted, speak(objectOf, json));
  app.post(`${root}/stream/with-timestamps`, admitted, speak(linesOf, json));

  const listed = { onRequest: admitAnyTo(listVoices) };
  const listReady = (request: FastifyRequest, reply: FastifyReply) =>
    run(request, reply, listVoices, (call) => voices.listReadyVoices(call));
  const nameIgnored = (request: FastifyRequest, reply: FastifyReply, known: readonly string[]) => {
    const { ignored } = sortFields(request.query as Fields, [...known, 'api_key'], false);
    reply.headers(ignoredHeaders(request, ignored));
  };
  const viewerOf = async ({ call }: FastifyRequest) => {
    const { caller } = call!;
    const token = await tickets.issuePreview(caller);
    const previewUrl = (id: string) => `${baseUrl()}/api/voices/${encodeURIComponent(id)}/preview?token=${token}`;
    return { caller, previewUrl };
  };
  app.get('/v1/voices', listed, async (request, reply) => {
    nameIgnored(request, reply, []);
    return toVoices(await listReady(request, reply), await viewerOf(request));
  });

  app.get('/v2/voices', listed, async (request, reply) => {
    const ready = await listReady(request, reply);
    const page = toVoicePage(ready, request.query as Fields, await viewerOf(request));
    nameIgnored(request, reply, voicePageQuery);
    return page;
  });

  const got = { onRequest: admitAnyTo(getVoice) };
  const readVoice = async (request: FastifyRequest, reply: FastifyReply) => {
    const id = voiceOf(request);
    const { voice, kept } = await run(request, reply, getVoice, (call) => voices.getVoice(call, id));
    return toElevenLabsVoice({ id, voice, kept }, await viewerOf(request));
  };
  app.get('/v1/voices/:voiceId', got, readVoice);
  app.get('/v1/voices/:voiceId/settings', got, async (request, reply) => (await readVoice(request, reply)).settings);
  app.get('/v1/voices/settings/default', listed, async () => voiceSettings);
  app.get('/v1/user', listed, async ({ call, limitStatus }) => toUser(call!.caller, limitStatus));
  app.get('/v1/user/subscription', listed, async ({ call, limitStatus }) => toSubscription(call!.caller, limitStatus));

  // The constraint is needed because OpenAI's clients get another list at this path.
  app.addConstraintStrategy(ofElevenLabs);
  const constraints = { [ofElevenLabs.name]: 'yes' };
  app.get('/v1/models', { ...listed, constraints }, async (request, reply) =>
    toModels(await listReady(request, reply), liveWaitingCharsMax),
  );
}

function addSockets(app: FastifyInstance, options: VendorRoutesOptions): void {
  const { live, admission, isAllowedOrigin, tickets } = options;
  for (const [name, isMulti] of [
    ['stream-input', false],
    ['multi-stream-input', true],
  ] as const) {
    app.get(`${root}/${name}`, { exposeHeadRoute: false }, async (request, reply) => {
      checkUpgrade(request, reply, isAllowedOrigin);
      const settings = parseSocketSettings(voiceOf(request), request.query as Fields);
      reply.headers(ignoredHeaders(request, settings.ignored));
      const open = (contexts: SpeechContexts<ElevenLabsWriter>, socket: ContextSocket) =>
        new ElevenLabsProtocol(contexts, socket, { settings, isMulti });
      await serveContexts({ ...options, api: 'elevenlabs' }, [request, reply], open, async (readFirst) => {
        const { single_use_token: token } = request.query as Fields;
        const asked = anyKeyOf(request);
        // A message that cannot be read contains no key.
        const first = (token ?? asked) === undefined ? await readFirst().catch(() => undefined) : undefined;
        const key = asked ?? (typeof first?.xi_api_key === 'string' ? first.xi_api_key : undefined);
        const ticket = token === undefined ? undefined : await tickets.useLive(String(token));
        await admission.admitWith({ key, ticketKeyId: ticket?.keyId }, request, reply, liveSpeech);
        const start = settings.startWith(undefined);
        // Speaks an empty text, to find failures before the first message is handled.
        const nothing = stream(request, reply, liveSpeech, (call) => live.liveSpeech(call, inputsOf(start, '')));
        await Array.fromAsync(nothing);
        return first;
      });
      return reply;
    });
  }
}

const voiceOf = ({ params }: FastifyRequest) => (params as { voiceId: string }).voiceId;

async function* inputsOf(start: SpeechRequest, text: string): AsyncGenerator<LiveInput> {
  yield { type: 'start', start };
  if (text !== '') yield { type: 'text', text };
}

/** Matches requests with ElevenLabs's header. */
const ofElevenLabs = {
  name: 'ofElevenLabs',
  storage: () => new Map() as never,
  deriveConstraint: ({ headers }: { headers: Fields }) => (elevenLabsHeader in headers ? 'yes' : undefined),
};

/** Model names that clients expect. Any other name is accepted too, because each voice has its own engine. */
const modelIds = ['sonant', 'eleven_multilingual_v2', 'eleven_turbo_v2_5', 'eleven_flash_v2_5'];

function toModels(ready: readonly OfferedVoice[], textCharsMax: number): Fields[] {
  const codes = new Set(ready.flatMap(({ voice }) => voice.languageCodes.map(languageOf)));
  // The names are created on first use, because they take long to load and are rarely requested.
  const languageNames = new Intl.DisplayNames('en', { type: 'language' });
  const languages = [...codes].sort().map((code) => ({ language_id: code, name: languageNames.of(code) ?? code }));
  return modelIds.map((id) => ({
    model_id: id,
    name: id,
    description: 'Each voice has its own engine, whatever the model.',
    can_be_finetuned: false,
    can_do_text_to_speech: true,
    can_do_voice_conversion: false,
    can_use_style: false,
    can_use_speaker_boost: false,
    serves_pro_voices: false,
    token_cost_factor: 1,
    requires_alpha_access: false,
    max_characters_request_free_user: textCharsMax,
    max_characters_request_subscribed_user: textCharsMax,
    maximum_text_length_per_request: textCharsMax,
    languages,
  }));
}

async function* soundOf(events: AsyncIterable<LiveEvent>): AsyncGenerator<Uint8Array> {
  for await (const event of events) if (event.type === 'audio') yield event.audio;
}

async function* linesOf(events: AsyncIterable<LiveEvent>, text: string): AsyncGenerator<Uint8Array> {
  for await (const { audio, timed } of piecesOf(events, text)) {
    const line = { audio_base64: Buffer.from(audio).toString('base64'), ...toAlignments(timed) };
    yield Buffer.from(`${JSON.stringify(line)}\n`);
  }
}

/** Yields one JSON object, whose audio is sent while it is generated. */
async function* objectOf(events: AsyncIterable<LiveEvent>, text: string): AsyncGenerator<Uint8Array> {
  const all: TimedChar[] = [];
  let before = '{"audio_base64":"';
  let held: Uint8Array = new Uint8Array();
  for await (const { audio, timed } of piecesOf(events, text)) {
    all.push(...timed);
    const bytes = Buffer.concat([held, audio]);
    // Encodes groups of three bytes, because each group becomes four base64 characters without padding.
    const whole = bytes.length - (bytes.length % 3);
    held = bytes.subarray(whole);
    if (whole > 0) yield Buffer.from(before + bytes.toString('base64', 0, whole));
    if (whole > 0) before = '';
  }
  const rest = JSON.stringify(toAlignments(all)).slice(1);
  yield Buffer.from(`${before}${Buffer.from(held).toString('base64')}",${rest}`);
}

async function* piecesOf(events: AsyncIterable<LiveEvent>, text: string) {
  const nothing = { audio: new Uint8Array(), timed: [] as TimedChar[] };
  const times = new CharacterTimes({ holdsLast: true });
  times.addText(0, text);
  for await (const event of events) {
    if (event.type === 'audio') yield { ...nothing, audio: event.audio };
    else if (event.type === 'timestamps') yield { ...nothing, timed: times.takeWords(event.turn, event.words) };
    else if (event.type === 'flushed') yield { ...nothing, timed: times.endTurn(event.turn, event.seconds).rest };
  }
}

function toAlignments(timed: readonly TimedChar[]) {
  if (timed.length === 0) return { alignment: null, normalized_alignment: null };
  const alignment = {
    characters: timed.map(({ char }) => char),
    character_start_times_seconds: timed.map(({ startMs }) => startMs / 1000),
    character_end_times_seconds: timed.map(({ endMs }) => endMs / 1000),
  };
  return { alignment, normalized_alignment: alignment };
}

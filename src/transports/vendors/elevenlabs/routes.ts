// The speech endpoints of ElevenLabs's API, below /v1/text-to-speech/{voice_id} and /v1/text-to-dialogue: the WebSockets
// stream-input and multi-stream-input, and POST with and without /stream and /with-timestamps; also GET /v1/voices,
// /v1/voices/{voice_id}, its /settings, /v1/models, /v1/user and /v1/single-use-token. The API key is in xi-api-key.
// Every request for speech becomes live speech. A WebSocket is accepted before its caller and its voice are checked,
// because clients read a refusal of the upgrade as a wrong address.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SpeechService } from '../../../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../../../gen/sonant/v1/voice_pb.ts';
import { type KeyCaller, type LimitStatus, monthlyQuotaOf } from '../../../accounts.ts';
import { type LiveEvent, type LiveInput, liveWaitingCharsMax } from '../../../api.ts';
import { audioFormats } from '../../../audio.ts';
import type { Fields } from '../../../contract.ts';
import { languageOf } from '../../../platform/language-code.ts';
import { jobValuesMax } from '../../../platform/net/request-limits.ts';
import type { OfferedVoice, SpeechRequest } from '../../../speech.ts';
import { anyKeyOf, run, stream } from '../../http/admission.ts';
import { sendPieces } from '../../http/body-writer.ts';
import { addWithoutBody, fieldsOf, ignoredHeaders, unknownIn } from '../../http/request-fields.ts';
import type { RouteTools } from '../../http/route-tools.ts';
import { withWarnings } from '../../http/synthesis/speech-over-http.ts';
import { checkUpgrade } from '../../http/web-socket.ts';
import { viewerOf } from '../named-voices.ts';
import { type ContextSocket, checkTextFits, type SpeechContexts, serveContexts, soundOf } from '../speech-contexts.ts';
import { CharacterTimes, type TimedChar } from './alignment.ts';
import { ElevenLabsProtocol } from './contexts.ts';
import { addDictionaryRoutes } from './dictionaries.ts';
import { elevenLabsHeader } from './elevenlabs-failure.ts';
import type { ElevenLabsWriter } from './events.ts';
import { type Line, parseGeneration, parseSocketSettings } from './request.ts';
import { toElevenLabsVoice, toVoicePage, toVoices, voicePageQuery, voiceSettings } from './voices.ts';

// The account of a caller in ElevenLabs's format: its monthly quota is a subscription.

/** The limit of an account without a quota: clients read it as a 32-bit integer. */
const unlimited = 2 ** 31 - 1;
/** Members that clients require, and that have no meaning here. */
const counts = 'voice_slots_used voice_limit voice_add_edit_counter max_credit_limit_extension professional_voice_limit'
  .split(' ')
  .concat('professional_voice_slots_used', 'professional_voice_slots_used_in_workspace');
const permissions = 'can_extend_character_limit allowed_to_extend_character_limit can_extend_voice_limit'
  .split(' ')
  .concat('can_use_instant_voice_cloning', 'can_use_professional_voice_cloning', 'has_open_invoices');

/** `status` is the status of the caller's limits. */
function toSubscription(caller: KeyCaller, status: LimitStatus | undefined): Fields {
  const characters = status?.characters;
  const limit = Math.min(unlimited, monthlyQuotaOf(caller).characters);
  return {
    tier: 'sonant',
    status: 'active',
    character_count: characters ? limit - characters.remaining : 0,
    character_limit: limit,
    next_character_count_reset_unix: characters ? Math.floor(Date.now() / 1000) + characters.fullInSeconds : null,
    current_overage: { amount: '0', currency: 'usd' },
    open_invoices: [],
    ...Object.fromEntries(counts.map((name) => [name, 0])),
    ...Object.fromEntries(permissions.map((name) => [name, false])),
  };
}

const toUser = (caller: KeyCaller, status: LimitStatus | undefined): Fields => ({
  user_id: caller.accountId,
  workspace_id: caller.accountId,
  subscription: toSubscription(caller, status),
  is_new_user: false,
  // A key is never repeated.
  xi_api_key: null,
  can_use_delayed_payment_methods: false,
  is_onboarding_completed: true,
  is_onboarding_checklist_completed: true,
  seat_type: 'workspace_member',
  created_at: 0,
});

const { liveSpeech } = SpeechService.method;
const { listVoices, getVoice } = VoiceService.method;
const roots = ['/v1/text-to-speech/:voiceId', '/v1/text-to-dialogue'];
const json = 'application/json';

export function addElevenLabsRoutes(app: FastifyInstance, options: RouteTools): void {
  const { live, voices, admission, tickets } = options;
  const { admitAnyTo } = admission;

  addSockets(app, options);
  addDictionaryRoutes(app, options);
  addWithoutBody(app, (scope) => {
    scope.post('/v1/single-use-token/tts_websocket', { onRequest: admitAnyTo(liveSpeech) }, async (request, reply) => {
      const { ticketId } = await tickets.issueLive(request.call!.caller);
      return reply.header('cache-control', 'no-store').send({ token: ticketId });
    });
  });

  /** `contentType` defaults to the content type of the audio. */
  const speak =
    (
      render: (events: AsyncIterable<LiveEvent>, lines: readonly Line[]) => AsyncIterable<Uint8Array>,
      contentType?: string,
    ) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const query = request.query as Fields;
      const { start, lines, ignored } = parseGeneration(voiceOf(request), query, fieldsOf(request));
      const cost = checkTextFits(lines, request, 'Use a WebSocket');
      const events = stream(request, reply, liveSpeech, (call) => live.liveSpeech(call, inputsOf(start, lines)));
      const type = contentType ?? audioFormats[start.format].contentType;
      const headers = {
        'content-type': type,
        'request-id': request.id,
        'character-cost': String(cost),
        ...ignoredHeaders(request, ignored),
      };
      await sendPieces(reply, headers, render(withWarnings(reply, events), lines));
      return reply;
    };
  // A dialogue has as many members and items as a job.
  const admitted = { onRequest: admitAnyTo(liveSpeech), config: { jsonValuesMax: jobValuesMax } };
  for (const root of roots) {
    app.post(root, admitted, speak(soundOf));
    app.post(`${root}/stream`, admitted, speak(soundOf));
    app.post(`${root}/with-timestamps`, admitted, speak(objectOf, json));
    app.post(`${root}/stream/with-timestamps`, admitted, speak(linesOf, json));
  }

  const listed = { onRequest: admitAnyTo(listVoices) };
  const listReady = (request: FastifyRequest, reply: FastifyReply) =>
    run(request, reply, listVoices, (call) => voices.listReadyVoices(call));
  const nameIgnored = (request: FastifyRequest, reply: FastifyReply, known: readonly string[]) => {
    reply.headers(ignoredHeaders(request, unknownIn(request.query as Fields, [...known, 'api_key'])));
  };
  app.get('/v1/voices', listed, async (request, reply) => {
    nameIgnored(request, reply, []);
    return toVoices(await listReady(request, reply), await viewerOf(request, options));
  });

  app.get('/v2/voices', listed, async (request, reply) => {
    const ready = await listReady(request, reply);
    const page = toVoicePage(ready, request.query as Fields, await viewerOf(request, options));
    nameIgnored(request, reply, voicePageQuery);
    return page;
  });

  const got = { onRequest: admitAnyTo(getVoice) };
  const readVoice = async (request: FastifyRequest, reply: FastifyReply) => {
    const id = voiceOf(request)!;
    const { voice, kept } = await run(request, reply, getVoice, (call) => voices.getVoice(call, id));
    return toElevenLabsVoice({ id, voice, kept }, await viewerOf(request, options));
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

function addSockets(app: FastifyInstance, options: RouteTools): void {
  const { live, admission, isAllowedOrigin, tickets } = options;
  const serve = (isMulti: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    checkUpgrade(request, reply, isAllowedOrigin);
    const voiceId = voiceOf(request);
    const isDialogue = voiceId === undefined;
    const settings = parseSocketSettings(request.query as Fields);
    reply.headers(ignoredHeaders(request, settings.ignored));
    const open = (contexts: SpeechContexts<ElevenLabsWriter>, socket: ContextSocket) =>
      new ElevenLabsProtocol(contexts, socket, { settings, isMulti, voiceId });
    const api = { api: 'elevenlabs', hasSnakeNames: isDialogue };
    await serveContexts({ ...options, ...api }, [request, reply], open, async (readFirst) => {
      const { single_use_token: asked } = request.query as Fields;
      const known = anyKeyOf(request);
      let reading: ReturnType<typeof readFirst> | undefined;
      // A message that cannot be read contains no key.
      const readOnce = () => (reading ??= readFirst().catch(() => undefined));
      const first = (asked ?? known) === undefined ? await readOnce() : undefined;
      const token = asked ?? first?.single_use_token;
      const key = known ?? (typeof first?.xi_api_key === 'string' ? first.xi_api_key : undefined);
      try {
        const ticket = typeof token === 'string' ? await tickets.useLive(token) : undefined;
        await admission.admitWith({ key, ticketKeyId: ticket?.keyId }, request, reply, liveSpeech);
        // The voices of a dialogue are in later messages.
        if (isDialogue) return first;
        const inputs = inputsOf(settings.startWith(voiceId), []);
        // Speaks nothing, to find failures before the first message is handled.
        await Array.fromAsync(stream(request, reply, liveSpeech, (call) => live.liveSpeech(call, inputs)));
        return first;
      } catch (error) {
        // A client that has sent nothing may overlook the refusal: LiveKit's then waits for ever.
        await readOnce();
        throw error;
      }
    });
    return reply;
  };
  for (const root of roots) {
    app.get(`${root}/stream-input`, { exposeHeadRoute: false }, serve(false));
    app.get(`${root}/multi-stream-input`, { exposeHeadRoute: false }, serve(true));
  }
}

/** The voice in the URL; undefined for a dialogue. */
const voiceOf = ({ params }: FastifyRequest) => (params as { voiceId?: string }).voiceId;

/** Speakers do not answer at once. The tag is behind the text, so that it moves no character. */
const pauseAfterLine = '<break time="0.3s"/>';

async function* inputsOf(start: SpeechRequest, lines: readonly Line[]): AsyncGenerator<LiveInput> {
  yield { type: 'start', start, voices: lines.map(({ voiceId }) => voiceId) };
  for (const [i, { text, voiceId }] of lines.entries()) {
    if (i === lines.length - 1) return yield { type: 'text', text, voiceId };
    yield { type: 'text', text: text + pauseAfterLine, voiceId };
    yield { type: 'flush' };
  }
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

async function* linesOf(events: AsyncIterable<LiveEvent>, lines: readonly Line[]): AsyncGenerator<Uint8Array> {
  for await (const piece of piecesOf(events, lines)) {
    const line = { audio_base64: Buffer.from(piece.audio).toString('base64'), ...toTimes([piece], lines) };
    yield Buffer.from(`${JSON.stringify(line)}\n`);
  }
}

/** Yields one JSON object, whose audio is sent while it is generated. */
async function* objectOf(events: AsyncIterable<LiveEvent>, lines: readonly Line[]): AsyncGenerator<Uint8Array> {
  const all: Piece[] = [];
  let before = '{"audio_base64":"';
  let held: Uint8Array = new Uint8Array();
  for await (const piece of piecesOf(events, lines)) {
    if (piece.timed.length > 0) all.push(piece);
    const bytes = Buffer.concat([held, piece.audio]);
    // Encodes groups of three bytes, because each group becomes four base64 characters without padding.
    const whole = bytes.length - (bytes.length % 3);
    held = bytes.subarray(whole);
    if (whole > 0) yield Buffer.from(before + bytes.toString('base64', 0, whole));
    if (whole > 0) before = '';
  }
  const rest = JSON.stringify(toTimes(all, lines)).slice(1);
  yield Buffer.from(`${before}${Buffer.from(held).toString('base64')}",${rest}`);
}

interface Piece {
  audio: Uint8Array;
  turn: number;
  timed: readonly TimedChar[];
}

async function* piecesOf(events: AsyncIterable<LiveEvent>, lines: readonly Line[]): AsyncGenerator<Piece> {
  const nothing = { audio: new Uint8Array(), timed: [] };
  const times = new CharacterTimes({ holdsLast: true });
  for (const [turn, { text }] of lines.entries()) times.addText(turn, text);
  for await (const event of events) {
    if (event.type === 'done') continue;
    const { turn } = event;
    if (event.type === 'audio') yield { ...nothing, turn, audio: event.audio };
    else if (event.type === 'timestamps') yield { ...nothing, turn, timed: times.takeWords(turn, event.words) };
    else if (event.type === 'flushed') yield { ...nothing, turn, timed: times.endTurn(turn, event.seconds).rest };
  }
}

function toTimes(pieces: readonly Piece[], lines: readonly Line[]) {
  const timed = pieces.flatMap((piece) => piece.timed);
  const voice_segments = toSegments(pieces, lines);
  if (timed.length === 0) return { alignment: null, normalized_alignment: null, voice_segments };
  const alignment = {
    characters: timed.map(({ char }) => char),
    character_start_times_seconds: timed.map(({ startMs }) => startMs / 1000),
    character_end_times_seconds: timed.map(({ endMs }) => endMs / 1000),
  };
  return { alignment, normalized_alignment: alignment, voice_segments };
}

/** The lines that the characters of these pieces belong to. */
function toSegments(pieces: readonly Piece[], lines: readonly Line[]): Fields[] {
  const segments = new Map<number, Fields>();
  let index = 0;
  for (const { turn, timed } of pieces) {
    if (timed.length === 0) continue;
    const before = segments.get(turn) ?? {
      voice_id: lines[turn]!.voiceId,
      start_time_seconds: timed[0]!.startMs / 1000,
      character_start_index: index,
      dialogue_input_index: turn,
    };
    index += timed.length;
    const end = { end_time_seconds: timed.at(-1)!.endMs / 1000, character_end_index: index };
    segments.set(turn, { ...before, ...end });
  }
  return [...segments.values()];
}

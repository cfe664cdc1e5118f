// The speech endpoints of ElevenLabs's API, below /v1/text-to-speech/{voice_id}: the WebSockets stream-input and
// multi-stream-input, POST with and without /stream and /with-timestamps; GET /v1/voices, /v1/voices/{voice_id}, its
// /settings, and /v1/models. The API key is in xi-api-key. All of it is live speech. A voice that there is not refuses the upgrade.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { liveWaitingCharsMax } from '../../api/limits.ts';
import type { LiveEvent, LiveInput } from '../../api/live-session.ts';
import { speechOperations, voiceOperations } from '../../api/operation.ts';
import { audioFormats } from '../../audio/formats.ts';
import { run, stream } from '../../http/admission.ts';
import { sendPieces } from '../../http/body-writer.ts';
import { ignoredHeaders } from '../../http/ignored-fields.ts';
import { fieldsOf } from '../../http/json-body.ts';
import { type Fields, sortFields } from '../../http/known-fields.ts';
import { checkUpgrade } from '../../http/web-socket.ts';
import type { LiveStart } from '../../speech/live-request.ts';
import {
  type ContextSocket,
  type SpeechContexts,
  serveContexts,
  type VendorRoutesOptions,
} from '../speech-contexts.ts';
import { ElevenLabsProtocol } from './contexts.ts';
import type { ElevenLabsWriter } from './events.ts';
import { elevenLabsHeader } from './failure-reply.ts';
import { parseGeneration, parseSocketSettings } from './generation.ts';
import { toElevenLabsVoice, toModels, toVoicePage, toVoices, voicePageQuery, voiceSettings } from './listings.ts';
import { linesOf, objectOf, soundOf } from './sound.ts';

const { liveSpeech } = speechOperations;
const { listVoices, getVoice } = voiceOperations;
const root = '/v1/text-to-speech/:voiceId';
const json = 'application/json';

export function addElevenLabsRoutes(app: FastifyInstance, options: VendorRoutesOptions): void {
  const { live, voices, admission } = options;
  const { admitAnyTo } = admission;

  addSockets(app, options);

  /** `contentType` is by default that of the audio. */
  const speak =
    (render: (events: AsyncIterable<LiveEvent>, text: string) => AsyncIterable<Uint8Array>, contentType?: string) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const { start, text, ignored } = parseGeneration(voiceOf(request), request.query as Fields, fieldsOf(request));
      const events = stream(request, reply, liveSpeech, (call) => live.liveSpeech(call, inputsOf(start, text)));
      const type = contentType ?? audioFormats[start.format].contentType;
      await sendPieces(reply, { 'content-type': type, ...ignoredHeaders(request, ignored) }, render(events, text));
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
  app.get('/v1/voices', listed, async (request, reply) => {
    nameIgnored(request, reply, []);
    return toVoices(await listReady(request, reply));
  });

  app.get('/v2/voices', listed, async (request, reply) => {
    const page = toVoicePage(await listReady(request, reply), request.query as Fields);
    nameIgnored(request, reply, voicePageQuery);
    return page;
  });

  const got = { onRequest: admitAnyTo(getVoice) };
  const readVoice = async (request: FastifyRequest, reply: FastifyReply) => {
    const id = voiceOf(request);
    const { voice } = await run(request, reply, getVoice, (call) => voices.getVoice(call, id));
    return toElevenLabsVoice({ id, voice });
  };
  app.get('/v1/voices/:voiceId', got, readVoice);
  app.get('/v1/voices/:voiceId/settings', got, async (request, reply) => (await readVoice(request, reply)).settings);
  app.get('/v1/voices/settings/default', listed, async () => voiceSettings);

  // OpenAI's clients find another list at this path.
  app.addConstraintStrategy(ofElevenLabs);
  const constraints = { [ofElevenLabs.name]: 'yes' };
  app.get('/v1/models', { ...listed, constraints }, async (request, reply) =>
    toModels(await listReady(request, reply), liveWaitingCharsMax),
  );
}

function addSockets(app: FastifyInstance, options: VendorRoutesOptions): void {
  const { live, admission, isAllowedOrigin } = options;
  for (const [name, isMulti] of [
    ['stream-input', false],
    ['multi-stream-input', true],
  ] as const) {
    const onRequest = admission.admitAnyTo(liveSpeech);
    app.get(`${root}/${name}`, { onRequest }, async (request, reply) => {
      checkUpgrade(request, reply, isAllowedOrigin);
      const settings = parseSocketSettings(voiceOf(request), request.query as Fields);
      const start = settings.startWith(undefined);
      // Speaking nothing finds what would be refused.
      const nothing = stream(request, reply, liveSpeech, (call) => live.liveSpeech(call, inputsOf(start, '')));
      await Array.fromAsync(nothing);
      reply.headers(ignoredHeaders(request, settings.ignored));
      const open = (contexts: SpeechContexts<ElevenLabsWriter>, socket: ContextSocket) =>
        new ElevenLabsProtocol(contexts, socket, { settings, isMulti });
      await serveContexts({ ...options, door: 'elevenlabs' }, [request, reply], open);
      return reply;
    });
  }
}

const voiceOf = ({ params }: FastifyRequest) => (params as { voiceId: string }).voiceId;

async function* inputsOf(start: LiveStart, text: string): AsyncGenerator<LiveInput> {
  yield { type: 'start', start };
  if (text !== '') yield { type: 'text', text };
}

/** Routes of requests that have ElevenLabs's header. */
const ofElevenLabs = {
  name: 'ofElevenLabs',
  storage: () => new Map() as never,
  deriveConstraint: ({ headers }: { headers: Fields }) => (elevenLabsHeader in headers ? 'yes' : undefined),
};

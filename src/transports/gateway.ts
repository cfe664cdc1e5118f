// The HTTP/JSON API, with Connect and gRPC-Web on the same port. A route parses a request into a domain request, runs
// an operation, and renders its result. `leave` makes readiness fail. `drain` refuses new requests, gives running
// requests time to finish, and then aborts the rest.
import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ApiKeyService } from '../../gen/sonant/v1/api_key_pb.ts';
import { BookService } from '../../gen/sonant/v1/book_pb.ts';
import { JobService } from '../../gen/sonant/v1/job_service_pb.ts';
import { ModelService } from '../../gen/sonant/v1/model_pb.ts';
import { ProvenanceService } from '../../gen/sonant/v1/provenance_pb.ts';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { UsageService } from '../../gen/sonant/v1/usage_pb.ts';
import type { Accounts } from '../accounts.ts';
import { type Api, callerLeft } from '../api.ts';
import {
  farewellMs,
  jobBytesMax,
  jobValuesMax,
  readerStallMs as usualReaderStallMs,
} from '../platform/net/request-limits.ts';
import type { Metrics } from '../platform/telemetry/prometheus.ts';
import { addConsolePage } from './console/routes.ts';
import { createAdmission } from './http/admission.ts';
import { addAudioRoutes } from './http/audio-routes.ts';
import { addContractRoutes } from './http/contract-routes.ts';
import { createCors } from './http/cors.ts';
import { addOpenApi } from './http/docs/openapi-document.ts';
import { addDocsPage } from './http/docs/routes.ts';
import { addFileRoute, audioFile, bookFile } from './http/file-upload.ts';
import { addHealthRoutes, type ReadinessCheck } from './http/health-routes.ts';
import { createHttpApp, type FailureForm, type OnRequestEnd } from './http/http-app.ts';
import { createAccept, createHttpServer } from './http/http-server.ts';
import { addLexiconRoutes } from './http/lexicon-routes.ts';
import { addLiveRoutes } from './http/live-routes.ts';
import { toOpenAiReply } from './http/openai-failure.ts';
import { createQueryCheck } from './http/request-fields.ts';
import type { RouteTools } from './http/route-tools.ts';
import { addOauthRoutes } from './http/sign-in/routes.ts';
import { createEventSender } from './http/synthesis/event-sender.ts';
import { ResumableStreams } from './http/synthesis/resumable-stream.ts';
import { addSpeechRoutes } from './http/synthesis/routes.ts';
import { addSseRoutes } from './http/synthesis/sse-routes.ts';
import { addVoiceRoutes } from './http/voice-routes.ts';
import { type Connections, createConnections } from './net/connections.ts';
import { toFailureReply } from './net/failure-reply.ts';
import { type ListenAddress, openListener, type Tls } from './net/listen.ts';
import { allClosed, keep } from './net/open-sockets.ts';
import { cartesiaHeader, toCartesiaReply } from './vendors/cartesia/cartesia-failure.ts';
import { addCartesiaRoutes } from './vendors/cartesia/routes.ts';
import { elevenLabsHeader, toElevenLabsReply } from './vendors/elevenlabs/elevenlabs-failure.ts';
import { addElevenLabsRoutes } from './vendors/elevenlabs/routes.ts';
import { addMcpRoute, toMcpReply } from './vendors/mcp/routes.ts';
import { addOpenAiRoutes } from './vendors/openai-routes.ts';

interface GatewaySettings {
  /** The address to listen on. Without an address, only sockets that are passed to `accept` are served. */
  address?: ListenAddress;
  tls?: Tls;
  /** The connections of all listeners. Default: only the connections of this listener. */
  connections?: Connections;
  /** Prefix of public URLs, without a trailing slash; known once all listeners are open. */
  baseUrl(): string;
  isBehindProxy?: boolean;
  /** Whether unknown members are rejected instead of ignored and reported. */
  isStrict: boolean;
  /** Origins whose pages may read replies, such as "https://example.com". */
  allowedOrigins: readonly string[];
  /** Whether OpenAI's lists of voices and models need no key. Default: false. */
  publicVoices?: boolean;
  /** Voices for OpenAI's names, such as "alloy=clara". */
  voiceNames?: readonly string[];
  /** How long a WebSocket message may wait for the peer to read it. */
  readerStallMs?: number;
}

export interface GatewayOptions {
  api: Api;
  /** Mounts Connect and gRPC-Web on the same port. */
  addRpcRoutes(app: FastifyInstance): void;
  admit: Accounts['admit'];
  signing: Pick<Accounts, 'signIn' | 'addresses'>;
  settings: GatewaySettings;
  watch: {
    checks: readonly ReadinessCheck[];
    onRequestEnd: OnRequestEnd;
    metrics?: Metrics;
    /** The metrics, in the Prometheus text format; undefined if another port serves them. */
    readMetrics?: (() => string) | undefined;
    /** Called with faults that are not reported to a caller. */
    onFault(fault: unknown): void;
  };
}

export type Gateway = Awaited<ReturnType<typeof openGateway>>;

export async function openGateway(options: GatewayOptions) {
  const { api, settings, watch } = options;
  const { tls, connections = createConnections({ perAddressMax: Infinity }), isBehindProxy = false } = settings;
  let isLeaving = false;
  let isDraining = false;
  const hasRequested = new WeakSet<Socket>();
  const cors = createCors(settings.allowedOrigins);
  const toServer = (answer: RequestListener): Server => {
    const listener: RequestListener = (request, response) => {
      // Without this listener, a connection that is sending a reply when draining begins would stay open.
      response.on('close', () => isDraining && setImmediate(() => server.closeIdleConnections()));
      hasRequested.add(request.socket);
      if (!cors(request, response)) answer(request, response);
    };
    const server = createHttpServer({ listener, tls, connections, isBehindProxy });
    return server;
  };
  const app = createHttpApp({
    toServer,
    isBehindProxy,
    isSecure: () => settings.baseUrl().startsWith('https:'),
    isLeaving: () => isLeaving,
    isDraining: () => isDraining,
    onRequestEnd: watch.onRequestEnd,
    metrics: watch.metrics,
    failureForms,
  });
  const streams = new ResumableStreams();
  const checks = [...watch.checks, { name: 'it is stopping', isReady: async () => !isLeaving }];
  addRoutes(app, streams, { ...options, watch: { ...watch, checks } });
  await app.ready();

  const { server } = app;
  const [sockets, callers] = [new Set<Socket>(), new Set<Socket>()];
  server.on('connection', (socket) => keep(sockets, socket));
  // With TLS, HTTP starts after the handshake.
  server.on(tls ? 'secureConnection' : 'connection', (socket) => keep(callers, socket));
  server.on('error', watch.onFault);
  const accept = createAccept(server);
  const { address } = settings;
  const listener =
    address && (await openListener({ address, what: 'HTTP', connections, accept, onFault: watch.onFault }));

  const drain = async (timeoutMs: number) => {
    isLeaving = true;
    isDraining = true;
    const gone = allClosed(callers);
    listener?.close();
    server.close();
    server.closeIdleConnections();
    const timers = [
      // Connections that have not sent a request get a moment to send one.
      setTimeout(() => destroyAll(callers.values().filter((socket) => !hasRequested.has(socket))), farewellMs),
      setTimeout(() => api.runner.stop(), timeoutMs),
      setTimeout(() => destroyAll(callers), timeoutMs + farewellMs),
    ];
    await gone;
    timers.forEach(clearTimeout);
    destroyAll(sockets);
    streams.close(callerLeft);
    await app.close();
  };

  let drained: Promise<void> | undefined;
  return {
    /** The port of the server; 0 if the server does not listen. */
    port: listener?.port ?? 0,
    /** The conditions for readiness, including that the service is not stopping. */
    checks,
    /** Serves a connection that another listener has accepted. */
    accept,
    /** Discards the stored events of this voice. */
    forgetVoice: (voiceId: string) => streams.forgetVoice(voiceId),
    /** Makes readiness checks fail. Requests are still served, but each connection closes after its next reply. */
    leave(): void {
      isLeaving = true;
    },
    /** Gives running requests `timeoutMs` to finish, aborts the rest with `overloaded`, and closes. */
    drain: (timeoutMs: number): Promise<void> => (drained ??= drain(timeoutMs)),
  };
}

function destroyAll(sockets: Iterable<Socket>): void {
  for (const socket of sockets) socket.destroy();
}

function addRoutes(app: FastifyInstance, streams: ResumableStreams, options: GatewayOptions): void {
  const { api, admit, signing, settings, watch } = options;
  const { baseUrl, isStrict, allowedOrigins, readerStallMs = usualReaderStallMs } = settings;
  const isAllowedOrigin = (origin: string) =>
    allowedOrigins.includes(origin) || origin === URL.parse(baseUrl())?.origin;
  const admission = createAdmission(api.runner);
  const eventSender = createEventSender(api.speech, { admission, admit }, streams);
  const tools: RouteTools = { ...api, admission, eventSender, isStrict, isAllowedOrigin, readerStallMs, baseUrl };
  app.addHook('preHandler', createQueryCheck(isStrict));
  addOpenApi(app, baseUrl);
  // First, because these routes depend on a header, for which the router adds all earlier routes again.
  addElevenLabsRoutes(app, tools);
  addSpeechRoutes(app, tools);
  addLiveRoutes(app, tools);
  addSseRoutes(app, tools);
  addAudioRoutes(app, api.audio);
  addFileRoute(app, BookService.method.readBook, tools, bookFile);
  addFileRoute(app, ProvenanceService.method.inspectAudio, tools, audioFile);
  addContractRoutes(app, ProvenanceService, tools, { byHand: ['inspectAudio'] });
  addContractRoutes(app, SpeechService, tools);
  addContractRoutes(app, JobService, tools, {
    limits: { createJob: { jsonBytesMax: jobBytesMax, jsonValuesMax: jobValuesMax } },
  });
  addVoiceRoutes(app, tools);
  addLexiconRoutes(app, tools);
  addContractRoutes(app, ModelService, tools);
  addContractRoutes(app, ApiKeyService, tools);
  const { publicVoices: listsForAnyone = false, voiceNames: standIns = [] } = settings;
  addOpenAiRoutes(app, tools, { listsForAnyone, standIns });
  addCartesiaRoutes(app, tools);
  addMcpRoute(app, tools);
  addOauthRoutes(app, { ...signing, baseUrl });
  addContractRoutes(app, UsageService, tools);
  addHealthRoutes(app, watch);
  addDocsPage(app);
  addConsolePage(app, { canSignIn: signing.signIn.hasIssuer });
  options.addRpcRoutes(app);
}

/**
 * Failure formats by path and header. They also apply to paths without a route. OpenAI and ElevenLabs both use
 * paths below /v1. A header identifies requests to Cartesia's API on any path.
 */
const failureForms: readonly FailureForm[] = [
  ['/api', toFailureReply],
  ['/mcp', toMcpReply],
  ['/v1/text-to-speech', toElevenLabsReply],
  ['/v1/text-to-dialogue', toElevenLabsReply],
  ['/v1/pronunciation-dictionaries', toElevenLabsReply],
  ['/v1/voices', toElevenLabsReply],
  ['/v1/user', toElevenLabsReply],
  ['/v1/single-use-token', toElevenLabsReply],
  ['/v2', toElevenLabsReply],
  ['/v1', toElevenLabsReply, elevenLabsHeader],
  ['/v1', toOpenAiReply],
  // OpenAI's clients call these if their base URL lacks /v1.
  ['/audio/speech', toOpenAiReply],
  ['/models', toOpenAiReply],
  ['/tts', toCartesiaReply],
  ['/access-token', toCartesiaReply],
  ['/voices', toCartesiaReply],
  ['', toCartesiaReply, cartesiaHeader],
];

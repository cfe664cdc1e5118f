// Door two: the HTTP/JSON interface, and Connect and gRPC-Web on the same port. It is a client of the core, in this
// process: a route turns what is asked into a message, calls the core, and turns what comes back into a reply. When it is
// to leave it says so to who asks whether it is ready; drained, it takes nothing new, lets what runs finish, then ends it.
import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import type { FastifyInstance } from 'fastify';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { addConsolePage } from '../console/routes.ts';
import type { FailedAttempts } from '../limits/failed-attempts.ts';
import { farewellMs } from '../net/limits.ts';
import { type ListenAddress, listen, type Tls } from '../net/listen.ts';
import type { Admit } from '../operations/admit.ts';
import type { Idempotency } from '../operations/idempotency.ts';
import type { Relay } from '../redis/redis-relay.ts';
import { addRpcRoutes } from '../rpc/connect-routes.ts';
import type { Services } from '../rpc/services.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { UsageRows } from '../store/usage-rows.ts';
import { type AudioFiles, addAudioRoutes } from './audio/routes.ts';
import { addOpenApi } from './docs/openapi-document.ts';
import { addDocsPage } from './docs/routes.ts';
import { addHealthRoutes, type ReadinessCheck } from './health/routes.ts';
import { createAdmission } from './http/admission.ts';
import { clientLeft } from './http/call-options.ts';
import { createCors } from './http/cors.ts';
import type { OnRequestEnd } from './http/ended-request.ts';
import { createHttpApp } from './http/http-app.ts';
import { createHttpServer } from './http/http-server.ts';
import { addKeyRoutes } from './keys/routes.ts';
import { addOpenAiRoutes } from './openai/routes.ts';
import { addOauthRoutes } from './sign-in/routes.ts';
import { addEstimateRoute } from './speech/estimate-route.ts';
import { createEventSender, type EventSender } from './speech/event-sender.ts';
import { ResumableStreams } from './speech/resumable-streams.ts';
import { addSpeechRoutes } from './speech/routes.ts';
import { addSseRoutes } from './speech/sse-routes.ts';
import type { Tickets } from './speech/stream-tickets.ts';
import { addUsageRoute } from './usage/routes.ts';
import { addVoiceRoutes } from './voices/routes.ts';

export interface GatewaySettings {
  /** Where to listen. Without it, only sockets handed to `accept` are served. */
  address?: ListenAddress;
  tls?: Tls;
  /** What public addresses begin with, without a slash at its end; known once all doors are open. */
  baseUrl(): string;
  isBehindProxy?: boolean;
  /** Refuse members that mean nothing, in place of naming them. */
  isStrict: boolean;
  /** Origins whose pages may read replies, such as "https://example.com". */
  allowedOrigins: readonly string[];
}

export interface GatewayOptions {
  services: Pick<Services, 'transport' | 'createHandlers' | 'stop'>;
  admit: Admit;
  signing: { signIn: SignIn; addresses: FailedAttempts };
  files: AudioFiles;
  /** What is to be found again at any replica. */
  remembering: { idempotency: Idempotency; tickets: Tickets; relay?: Relay | undefined };
  usage: Pick<UsageRows, 'sum'>;
  settings: GatewaySettings;
  watch: {
    checks: readonly ReadinessCheck[];
    onRequestEnd: OnRequestEnd;
    /** What operators see, in the text that Prometheus reads. */
    readMetrics?: () => string;
    /** Hears of faults that no caller is told of. */
    onFault(fault: unknown): void;
  };
}

export interface Gateway {
  /** 0 where it does not listen. */
  readonly port: number;
  /** Serves a connection that another listener has taken. */
  accept(socket: Socket): void;
  /** Holds nothing more that was spoken by that voice. */
  forgetVoice(voiceId: string): void;
  /** Takes requests as before, but is not ready for them any more, and each is the last of its connection. */
  leave(): void;
  /** Lets the requests that run finish within `timeoutMs`, then ends them with `overloaded`, and closes. */
  drain(timeoutMs: number): Promise<void>;
}

export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { services, settings, watch } = options;
  const { onRequestEnd, onFault } = watch;
  let isLeaving = false;
  let isDraining = false;
  const hasAsked = new WeakSet<Socket>();
  const cors = createCors(settings.allowedOrigins);
  const toServer = (listener: RequestListener): Server => {
    const take: RequestListener = (request, response) => {
      // A connection whose last reply was under way when draining began would else wait for its next request.
      response.once('close', () => isDraining && setImmediate(() => server.closeIdleConnections()));
      hasAsked.add(request.socket);
      if (!cors(request, response)) listener(request, response);
    };
    const server = createHttpServer(take, settings.tls);
    return server;
  };
  const app = createHttpApp({
    toServer,
    isBehindProxy: settings.isBehindProxy ?? false,
    isSecure: () => settings.baseUrl().startsWith('https:'),
    isLeaving: () => isLeaving,
    isDraining: () => isDraining,
    onRequestEnd,
  });
  const { relay } = options.remembering;
  const streams = new ResumableStreams(relay && { opened: relay.offer, gone: relay.withdraw });
  const checks = [...watch.checks, { name: 'it is stopping', isReady: async () => !isLeaving }];
  const { untilReadElsewhere } = addRoutes(app, streams, { ...options, watch: { ...watch, checks } });
  await app.ready();

  const { server } = app;
  const connections = new Set<Socket>();
  keepOpen(connections, server, 'connection');
  // With TLS, HTTP begins where the handshake is done.
  const callers = new Set<Socket>();
  keepOpen(callers, server, settings.tls ? 'secureConnection' : 'connection');
  const port = settings.address ? await listen(server, settings.address, 'HTTP') : 0;
  // Node watches over slow requests from when it listens on.
  if (!settings.address) server.emit('listening');
  server.on('error', onFault);

  const drain = async (timeoutMs: number) => {
    isLeaving = true;
    isDraining = true;
    const gone = Promise.all([...callers].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    server.close();
    server.closeIdleConnections();
    const timers = [
      // Who has asked for nothing yet has a moment left to do so.
      setTimeout(() => destroyAll(callers, (socket) => !hasAsked.has(socket)), farewellMs),
      setTimeout(() => services.stop(), timeoutMs),
      setTimeout(() => destroyAll(callers), timeoutMs + farewellMs),
    ];
    // What is read at another replica is read through no socket of this one.
    await Promise.all([
      gone,
      Promise.race([untilReadElsewhere(), sleep(timeoutMs + farewellMs, undefined, { ref: false })]),
    ]);
    timers.forEach(clearTimeout);
    destroyAll(connections);
    streams.close(clientLeft);
    await app.close();
  };

  let drained: Promise<void> | undefined;
  return {
    port,
    forgetVoice: (voiceId) => streams.forgetVoice(voiceId),
    accept: (socket) => void server.emit('connection', socket),
    leave() {
      isLeaving = true;
    },
    drain: (timeoutMs) => (drained ??= drain(timeoutMs)),
  };
}

function keepOpen(open: Set<Socket>, server: Server, event: string): void {
  server.on(event, (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
}

function destroyAll(sockets: Iterable<Socket>, which: (socket: Socket) => boolean = () => true): void {
  for (const socket of sockets) if (which(socket)) socket.destroy();
}

function addRoutes(app: FastifyInstance, streams: ResumableStreams, options: GatewayOptions): EventSender {
  const { services, admit, signing, files, remembering, usage, settings, watch } = options;
  const { idempotency, tickets, relay } = remembering;
  const { baseUrl, isStrict } = settings;
  const client = createClient(SpeechService, services.transport);
  const { admitTo, admitFor, admitBearerTo } = createAdmission(admit);
  const eventSender = createEventSender({ client, streams, admit, relay, onFault: watch.onFault });
  const readOpenApi = addOpenApi(app, baseUrl);
  addSpeechRoutes(app, { client, admitTo, eventSender, idempotency, isStrict });
  addSseRoutes(app, { admitTo, eventSender, tickets, isStrict, baseUrl });
  addEstimateRoute(app, { client, admitTo, isStrict });
  addAudioRoutes(app, files);
  addVoiceRoutes(app, { transport: services.transport, admitTo, isStrict, baseUrl });
  addKeyRoutes(app, { transport: services.transport, admitTo, isStrict, baseUrl });
  addOpenAiRoutes(app, { transport: services.transport, admitTo: admitBearerTo, isStrict });
  addOauthRoutes(app, { ...signing, baseUrl });
  addUsageRoute(app, { usage, admitFor });
  addHealthRoutes(app, watch);
  addDocsPage(app, readOpenApi);
  addConsolePage(app, { canSignIn: signing.signIn.hasIssuer });
  addRpcRoutes(app, services.createHandlers({ grpc: false }));
  return eventSender;
}

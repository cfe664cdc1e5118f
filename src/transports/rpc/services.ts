// All RPC services. Every call passes the gate, the interceptor and its handler.

import { once } from 'node:events';
import type { DescService } from '@bufbuild/protobuf';
import { type ConnectRouterOptions, createConnectRouter, type ServiceImpl } from '@connectrpc/connect';
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify';
import { compressionGzip } from '@connectrpc/connect-node';
import type { FastifyInstance } from 'fastify';
import {
  Health as HealthService,
  HealthCheckResponse_ServingStatus as Status,
} from '../../../gen/health/v1/health_pb.ts';
import { ApiKeyService } from '../../../gen/sonant/v1/api_key_pb.ts';
import { BookService } from '../../../gen/sonant/v1/book_pb.ts';
import { JobService } from '../../../gen/sonant/v1/job_service_pb.ts';
import { LexiconService } from '../../../gen/sonant/v1/lexicon_pb.ts';
import { ModelService } from '../../../gen/sonant/v1/model_pb.ts';
import { ProvenanceService } from '../../../gen/sonant/v1/provenance_pb.ts';
import {
  EstimateSpeechRequestSchema,
  SpeechService,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
} from '../../../gen/sonant/v1/speech_pb.ts';
import { UsageService } from '../../../gen/sonant/v1/usage_pb.ts';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import { type Api, toLiveInput, toLiveResponse, toStreamResponse, toSynthesizeResponse } from '../../api.ts';
import { Failure } from '../../platform/errors.ts';
import { mapped } from '../../platform/runtime/mapped.ts';
import { toRequest } from '../../speech.ts';
import { isFreshWanted } from '../net/headers.ts';
import { boundHandler, type Handler, limitsOf, openServices, toContextValues } from './bodies.ts';
import { callOf, createCallRunner, messageBytesMax, serve, serveHandlers } from './calls.ts';
import { createReflection } from './reflection.ts';

// sonant.v1.SpeechService: makes requests of messages, and messages of results.

export function createSpeechService({
  speech,
  live,
  callRpc,
}: Pick<Api, 'speech' | 'live' | 'callRpc'>): ServiceImpl<typeof SpeechService> {
  return {
    async synthesizeSpeech(message, context) {
      const request = toRequest(SynthesizeSpeechRequestSchema, message);
      const call = callOf(context);
      const fresh = isFreshWanted(context.requestHeader.get('cache-control'));
      const { bufferBytesMax: inlineBytesMax } = request;
      const delivered = await speech.synthesizeSpeech(call, request, { fresh, inlineBytesMax });
      context.responseHeader.set('x-speech-check', delivered.speechCheck);
      return toSynthesizeResponse(delivered, request.returnFormat === 'url', call.signal);
    },
    streamSpeech(message, context) {
      const open = () => speech.streamSpeech(callOf(context), toRequest(StreamSpeechRequestSchema, message));
      return mapped(open, { convert: toStreamResponse });
    },
    liveSpeech(messages, context) {
      const inputs = mapped(() => messages, { convert: (message) => toLiveInput(message) });
      return mapped(() => live.liveSpeech(callOf(context), inputs), { convert: toLiveResponse });
    },
    estimateSpeech(message, context) {
      const request = toRequest(EstimateSpeechRequestSchema, message);
      return speech.estimateSpeech(callOf(context), request);
    },
    deleteAudio: (message, context) => callRpc(SpeechService.method.deleteAudio, message, callOf(context)),
  };
}

// grpc.health.v1 (https://github.com/grpc/grpc/blob/master/doc/health-checking.md): reports whether Sonant as a whole
// ("") and each service by name accept calls. All services have the same state.

function openHealth(services: readonly DescService[]) {
  const names = new Set(['', ...services.map(({ typeName }) => typeName)]);
  const stopping = new AbortController();

  const statusOf = (name: string) => {
    if (!names.has(name)) return Status.SERVICE_UNKNOWN;
    return stopping.signal.aborted ? Status.NOT_SERVING : Status.SERVING;
  };

  async function* watch(name: string, signal: AbortSignal) {
    const first = statusOf(name);
    yield { status: first };
    if (!stopping.signal.aborted) await once(stopping.signal, 'abort', { signal }).catch(() => {});
    if (signal.aborted) return;
    const last = statusOf(name);
    if (last !== first) yield { status: last };
    throw new Failure('overloaded', { message: 'The service is stopping.' });
  }

  const served = serve(HealthService, {
    check({ service }) {
      if (!names.has(service)) throw new Failure('not_found', { message: 'Service not found.' });
      return { status: statusOf(service) };
    },
    list: () => ({ statuses: Object.fromEntries([...names].map((name) => [name, { status: statusOf(name) }])) }),
    watch: ({ service }, { signal }) => watch(service, signal),
  });

  return {
    served,
    /** Reports NOT_SERVING to all watchers, and then ends their streams. */
    close: (): void => stopping.abort(),
  };
}

/** Largest message with a book. Common clients accept such a message only if their limit is raised. */
const bookMessageBytesMax = 32 << 20;

interface ServicesOptions {
  api: Pick<Api, 'runner' | 'speech' | 'live' | 'callRpc'>;
  reflection?: boolean;
  /** Whether unknown members of JSON are rejected instead of ignored and reported. */
  isStrict?: boolean;
}

export type Services = ReturnType<typeof createServices>;

export function createServices(options: ServicesOptions) {
  const { api, reflection = true, isStrict = false } = options;
  const { runner, callRpc } = api;
  const { gate, interceptor } = createCallRunner(runner);
  const guarded = [
    serve(SpeechService, createSpeechService(api)),
    serveHandlers(VoiceService, callRpc),
    serveHandlers(LexiconService, callRpc),
    serveHandlers(JobService, callRpc),
    serveHandlers(BookService, callRpc),
    serveHandlers(ProvenanceService, callRpc),
    serveHandlers(ModelService, callRpc),
    serveHandlers(ApiKeyService, callRpc),
    serveHandlers(UsageService, callRpc),
  ];
  const names = guarded.map(({ service }) => service);
  const health = openHealth(names);
  const open = [health.served, ...(reflection ? createReflection([...names, HealthService]) : [])];

  return {
    /** Handlers for gRPC-Web and Connect, and for gRPC if HTTP/2 is served. */
    createHandlers({ grpc }: { grpc: boolean }): Handler[] {
      const usual: ConnectRouterOptions = { ...routerOptions, requestGate: gate, interceptors: [interceptor], grpc };
      const router = createConnectRouter(usual);
      for (const { service, implementation } of [...guarded, ...open]) {
        for (const method of service.methods) {
          const handle = implementation[method.localName as keyof typeof implementation] as never;
          const readMaxBytes = limitsOf(method).bytesMax;
          const isBook = method === BookService.method.readBook;
          const writeMaxBytes = isBook ? bookMessageBytesMax : messageBytesMax;
          router.rpc(method as never, handle, { ...usual, readMaxBytes, writeMaxBytes });
        }
      }
      return router.handlers.map((handler) => {
        // API keys are always strict: a misspelt limit must not result in a key without the limit.
        const isStrictHere = isStrict || handler.service === ApiKeyService;
        return boundHandler(handler, { isStrict: isStrictHere });
      });
    },
    /** Whether the handler needs no key. */
    isOpen: ({ service }: Handler): boolean => openServices.includes(service),
    /** Whether keyless calls from this address are dropped unanswered. */
    isBarred: runner.isBarred,
    health,
    /** Ends all running calls. */
    stop: runner.stop,
  };
}

/** Requests may be compressed. Responses are not: compressing audio would triple the cost without making it smaller. */
const routerOptions: ConnectRouterOptions = {
  acceptCompression: [compressionGzip],
  // Refuses unknown enum values. Unknown fields have already been removed.
  jsonOptions: { ignoreUnknownFields: false },
  compressMinBytes: 0xffffffff,
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is an RPC, so that its responses follow the RPC's protocol. */
    isRpc?: boolean;
  }
}

/** Serves Connect and gRPC-Web on the port of the HTTP API. */
export function addRpcRoutes(app: FastifyInstance, handlers: readonly Handler[]): void {
  app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, isRpc: true };
    });
    scope.addHook('onRequest', async ({ id, raw }) => {
      const { host } = raw.headers;
      const isHost = host && URL.canParse(`http://${host}`);
      if (!isHost) throw new Failure('invalid_request', { message: 'The header Host must name a host.' });
      // The request and the call share one id.
      raw.headers['x-request-id'] = id;
    });
    // The plugin adds its own parsers, including one for JSON.
    scope.removeAllContentTypeParsers();
    scope.register(fastifyConnectPlugin, {
      routes: (router) => router.handlers.push(...handlers),
      contextValues: ({ raw, ip }) => toContextValues(raw, ip),
    });
  });
}

// All RPC services. Every call passes the gate, the interceptor and its handler.
import type { DescMethod } from '@bufbuild/protobuf';
import { type ConnectRouterOptions, createConnectRouter } from '@connectrpc/connect';
import { compressionGzip } from '@connectrpc/connect-node';
import { Health as HealthService } from '../../gen/health/v1/health_pb.ts';
import { ApiKeyService } from '../../gen/sonant/v1/api_key_pb.ts';
import { BookService } from '../../gen/sonant/v1/book_pb.ts';
import { JobService } from '../../gen/sonant/v1/job_service_pb.ts';
import { LexiconService } from '../../gen/sonant/v1/lexicon_pb.ts';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import type { LiveOperations } from '../api/live-speech.ts';
import type { Runner } from '../api/runner.ts';
import type { Handlers } from '../api/service.ts';
import type { SpeechOperations } from '../api/speech.ts';
import { requestBytesMax } from '../net/limits.ts';
import { boundHandler, type Handler } from './bounded-handler.ts';
import type { DirectMethod } from './grpc-call.ts';
import { type Health, openHealth } from './health.ts';
import { bookMessageBytesMax, messageBytesMax, openRequestBytesMax } from './limits.ts';
import { isUpload, limitsOf, openServices } from './method-limits.ts';
import { createReflection } from './reflection.ts';
import { createCallRunner } from './run-calls.ts';
import { type ServedService, serve, serveHandlers } from './served-service.ts';
import { createSpeechService } from './speech-service.ts';

export interface ServicesOptions {
  runner: Runner;
  speech: SpeechOperations;
  live: LiveOperations;
  handlers: {
    voices: Handlers<typeof VoiceService>;
    jobs: Handlers<typeof JobService>;
    books: Handlers<typeof BookService>;
    lexicons: Handlers<typeof LexiconService>;
    keys: Handlers<typeof ApiKeyService>;
  };
  /** Whether reflection is served. */
  reflection?: boolean;
  /** Reject unknown members of JSON instead of ignoring and reporting them. */
  isStrict?: boolean;
}

export interface Services {
  /** The handlers of gRPC-Web and Connect, and of gRPC where there is HTTP/2. */
  createHandlers(options: { grpc: boolean }): Handler[];
  /** What gRPC calls besides these handlers: those with one message in the request. */
  directMethods: readonly DirectMethod[];
  runner: Runner;
  /** Whether it needs no key. */
  isOpen(handler: Handler): boolean;
  /** Whether calls from that address that have no key are to be dropped unanswered. */
  isBarred(address: string): boolean;
  health: Health;
  /** Ends every call that still runs. */
  stop(): void;
}

export function createServices(options: ServicesOptions): Services {
  const { runner, speech, live, handlers, reflection = true, isStrict = false } = options;
  const { gate, interceptor } = createCallRunner(runner, openServices);
  const guarded = [
    serve(SpeechService, createSpeechService(speech, live)),
    serveHandlers(VoiceService, handlers.voices),
    serveHandlers(LexiconService, handlers.lexicons),
    serveHandlers(JobService, handlers.jobs),
    serveHandlers(BookService, handlers.books),
    serveHandlers(ApiKeyService, handlers.keys),
  ];
  const names = guarded.map(({ service }) => service);
  const health = openHealth(names);
  const open = [health.served, ...(reflection ? createReflection([...names, HealthService]) : [])];

  return {
    createHandlers({ grpc }) {
      const usual: ConnectRouterOptions = { ...routerOptions, requestGate: gate, interceptors: [interceptor], grpc };
      const router = createConnectRouter(usual);
      const limited = (method: DescMethod) => ({
        ...usual,
        readMaxBytes: limitsOf(method).bytesMax,
        ...(method === BookService.method.readBook && { writeMaxBytes: bookMessageBytesMax }),
      });
      // A misspelt limit of a key must not leave it without.
      const strict = { ...usual, jsonOptions: { ignoreUnknownFields: false } };
      for (const { service, implementation } of guarded) {
        for (const method of service.methods) {
          const handle = implementation[method.localName as keyof typeof implementation] as never;
          router.rpc(method as never, handle, service === ApiKeyService ? strict : limited(method));
        }
      }
      const small = { ...usual, readMaxBytes: openRequestBytesMax };
      for (const { service, implementation } of open) router.service(service, implementation, small);
      return router.handlers.map((handler) => {
        // A misspelt limit of a key must not leave the key without it.
        const isStrictHere = isStrict || handler.service === ApiKeyService;
        return boundHandler(handler, { limitsOf, isStrict: isStrictHere });
      });
    },
    directMethods: guarded.flatMap(toDirect),
    runner,
    isOpen: ({ service }) => openServices.includes(service),
    isBarred: runner.isBarred,
    health,
    stop: runner.stop,
  };
}

const toDirect = ({ service, implementation }: ServedService): DirectMethod[] =>
  service.methods
    .filter((method) => ['unary', 'server_streaming'].includes(method.methodKind) && !isUpload(method))
    .map((method) => {
      const handle = implementation[method.localName] as unknown as DirectMethod['handle'];
      return { method, limits: limitsOf(method), handle };
    });

/** Requests may be compressed. Responses are not: compressing audio would triple the cost and gain nothing. */
const routerOptions: ConnectRouterOptions = {
  readMaxBytes: requestBytesMax,
  writeMaxBytes: messageBytesMax,
  acceptCompression: [compressionGzip],
  // Unknown values of enums are rejected. Unknown fields do not come so far.
  jsonOptions: { ignoreUnknownFields: false },
  compressMinBytes: 0xffffffff,
};

// All that is served over RPC and the line that every call walks: gate, observe, deadline, key watch, abortable, then
// the service. Made once; the wire (`createHandlers`) and the gateway (`transport`) are two ways into the same.
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { type ConnectRouterOptions, createConnectRouter, type Transport } from '@connectrpc/connect';
import { compressionGzip } from '@connectrpc/connect-node';
import { Health as HealthService } from '../../gen/health/v1/health_pb.ts';
import { ApiKeyService } from '../../gen/sonant/v1/api_key_pb.ts';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { Failure } from '../errors.ts';
import type { KeyManagement } from '../keys/key-management.ts';
import { bodyArrivalMs, readerStallMs, requestBytesMax, uploadArrivalMs, uploadBytesMax } from '../net/limits.ts';
import type { BodyLimits } from '../net/request-body.ts';
import { takeUploadSlot } from '../net/upload-slots.ts';
import type { Admit } from '../operations/admit.ts';
import { streamCallMs, unaryCallMs } from '../operations/limits.ts';
import { createMetered, type Metering } from '../operations/metering.ts';
import { abortable } from './abortable.ts';
import { createApiKeyService } from './api-key-service.ts';
import { boundHandler, type Handler } from './bounded-handler.ts';
import { createDeadline, type TimeLimits } from './deadline.ts';
import { createGate } from './gate.ts';
import { type Health, openHealth } from './health.ts';
import { type IsInForce, openKeyWatch } from './key-watch.ts';
import { messageBytesMax, openRequestBytesMax } from './limits.ts';
import { createLocalTransport, type Line } from './local-transport.ts';
import { createObserve, type OnCallEnd } from './observe.ts';
import { createReflection, reflectionServices } from './reflection.ts';
import { serve } from './served-service.ts';
import { createSpeechService } from './speech-service.ts';
import { createVoiceService, type VoiceServiceOptions } from './voice-service.ts';

export interface ServicesOptions {
  /** What speaks, and what is noted of it. */
  speaking: { delivery: Delivery; metering: Metering };
  /** Which voices there are, and where they are made and kept. */
  voicing: VoiceServiceOptions;
  /** Who may call, whether a key that was admitted still is in force, and where keys are made. */
  access: { admit: Admit; isInForce: IsInForce; desk: KeyManagement };
  /** Called once for every call, for the log and the metrics. */
  onCallEnd: OnCallEnd;
  options?: { reflection?: boolean; timeLimits?: TimeLimits };
}

export interface Services {
  /** The way in for doors of this process. */
  transport: Transport;
  /** The ways in from the wire: gRPC-Web and Connect, and gRPC where there is HTTP/2. */
  createHandlers(options: { grpc: boolean }): Handler[];
  health: Health;
  /** Keys may have ended: looks at those of running streams now. */
  checkKeys(): void;
  /** Ends every call that still runs with `overloaded`. */
  stop(): void;
}

/** These need no key. */
const openServices: readonly DescService[] = [HealthService, ...reflectionServices];

export function createServices({ speaking, voicing, access, onCallEnd, options = {} }: ServicesOptions): Services {
  const { delivery, metering } = speaking;
  const { reflection = true, timeLimits = { unaryCallMs, streamCallMs, readerStallMs } } = options;
  const stopping = new AbortController();
  const observe = createObserve(onCallEnd);
  const keyWatch = openKeyWatch(access.isInForce);
  const line: Line = {
    gate: observe.watchGate(createGate(access.admit, openServices)),
    interceptors: [observe.interceptor, createDeadline(timeLimits, openServices), keyWatch.interceptor, abortable],
    shutdownSignal: stopping.signal,
  };
  const guarded = [
    serve(SpeechService, createSpeechService(delivery, createMetered(metering))),
    serve(VoiceService, createVoiceService(voicing)),
    serve(ApiKeyService, createApiKeyService(access.desk)),
  ];
  const names = guarded.map(({ service }) => service);
  const health = openHealth(names);
  const open = [health.served, ...(reflection ? createReflection([...names, HealthService]) : [])];

  return {
    transport: createLocalTransport([...guarded, ...open], line),
    createHandlers({ grpc }) {
      const wire = { ...wireOptions(line), grpc };
      const router = createConnectRouter(wire);
      const large = { ...wire, readMaxBytes: uploadBytesMax };
      for (const { service, implementation } of guarded) {
        for (const method of service.methods) {
          const handle = implementation[method.localName as keyof typeof implementation] as never;
          router.rpc(method as never, handle, isUpload(method) ? large : wire);
        }
      }
      const small = { ...wire, readMaxBytes: openRequestBytesMax };
      for (const { service, implementation } of open) router.service(service, implementation, small);
      return router.handlers.map((handler) => boundHandler(handler, limitsOf));
    },
    health,
    checkKeys: keyWatch.check,
    stop() {
      keyWatch.close();
      const message = 'The service is stopping; try again.';
      stopping.abort(new Failure('overloaded', { message, retryAfterSeconds: 1 }));
    },
  };
}

/** The one method that is sent more than text. */
const isUpload = (method: DescMethod): boolean => method === VoiceService.method.cloneVoice;

const uploadLimits: BodyLimits = {
  bytesMax: uploadBytesMax,
  arrivalMs: uploadArrivalMs,
  takeSlot: takeUploadSlot,
};

function limitsOf(method: DescMethod): BodyLimits {
  if (isUpload(method)) return uploadLimits;
  const bytesMax = openServices.includes(method.parent) ? openRequestBytesMax : requestBytesMax;
  return { bytesMax, arrivalMs: bodyArrivalMs };
}

/** Requests may come compressed; sound is never compressed again, it costs three times as much and gains nothing. */
const wireOptions = ({ gate, interceptors, shutdownSignal }: Line): ConnectRouterOptions => ({
  requestGate: gate,
  interceptors,
  shutdownSignal,
  readMaxBytes: requestBytesMax,
  writeMaxBytes: messageBytesMax,
  acceptCompression: [compressionGzip],
  // A name that means nothing here, of a field or of a value, is refused, not passed over.
  jsonOptions: { ignoreUnknownFields: false },
  compressMinBytes: 0xffffffff,
});

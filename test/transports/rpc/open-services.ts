// Opens the RPC services with a minimal speech implementation for a test: services, listener, the keys "good" and
// "poor" (without scopes), and the log; also an HTTP/1.1 server with only these services. Closed after the test.
import type { AddressInfo } from 'node:net';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { onTestFinished } from 'vitest';
import { ApiKeyService } from '../../../gen/sonant/v1/api_key_pb.ts';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../../gen/sonant/v1/voice_pb.ts';
import type { Admit } from '../../../src/accounts/keys/admit.ts';
import { type KeyCaller, keyDefaults, type Scope, scopes } from '../../../src/accounts/keys/caller.ts';
import type { KeyManagement } from '../../../src/accounts/keys/key-management.ts';
import type { WebhookSecrets } from '../../../src/accounts/webhooks/webhook-secrets.ts';
import type { EndedCall } from '../../../src/api/call.ts';
import { createKeyHandlers } from '../../../src/api/keys.ts';
import { createLiveOperations, type LiveOperationsOptions } from '../../../src/api/live-speech.ts';
import { createMetering } from '../../../src/api/metering.ts';
import type { OpenCallLimits } from '../../../src/api/open-calls.ts';
import { createRunner } from '../../../src/api/runner.ts';
import type { TimeLimits } from '../../../src/api/running-call.ts';
import { createCallRpc } from '../../../src/api/service-handlers.ts';
import { createSpeechOperations } from '../../../src/api/speech.ts';
import { createVoiceHandlers } from '../../../src/api/voices.ts';
import type { VoiceManagement } from '../../../src/library/voices/voice-management.ts';
import { Failure } from '../../../src/platform/errors.ts';
import type { Tracing } from '../../../src/platform/telemetry/trace.ts';
import { createHttpApp } from '../../../src/transports/http/http-app.ts';
import { createHttpServer } from '../../../src/transports/http/http-server.ts';
import { createConnections } from '../../../src/transports/net/connections.ts';
import { openRpcServer, type RpcServerOptions } from '../../../src/transports/rpc/server.ts';
import { addRpcRoutes, createServices } from '../../../src/transports/rpc/services.ts';
import { openGrpcClient } from './grpc-client.ts';
import { openShortSpeech } from './short-speech.ts';

export const goodKey = { metadata: { 'x-api-key': 'good' } };

/** A caller with its own id. */
export const callerNamed = (callerId: string, scopes: readonly Scope[]): KeyCaller => ({
  callerId,
  keyId: `${callerId}-key`,
  accountId: callerId,
  actorName: callerId,
  scopes,
  limits: keyDefaults.limits,
  grant: { range: { path: callerId }, scopes },
});

/** Limits and records nothing. */
const unlimited = {
  limiter: { takeSynthesis: async () => ({ end() {} }) },
  ledger: { add: async () => {}, checkPending() {} },
};

const admit: Admit = async ({ key }, requiredScopes) => {
  if (key === 'good') return callerNamed('good-caller', scopes);
  if (key === 'poor' && requiredScopes.length > 0) throw new Failure('insufficient_scope', { requiredScopes });
  if (key === 'slowed')
    throw new Failure('rate_limit_exceeded', { retryAfterSeconds: 1.5, limitReason: 'requests', limit: 600 });
  if (key === 'broken') throw new TypeError('a bug in admission');
  if (key === 'poor') return callerNamed('poor-caller', []);
  throw new Failure('invalid_api_key');
};

export interface ServicesTestOptions {
  timeLimits?: TimeLimits;
  openLimits?: OpenCallLimits;
  reflection?: boolean;
  tls?: RpcServerOptions['tls'];
  /** Whether keys are still valid. Default: they are. */
  isInForce?: () => Promise<boolean>;
  keys?: KeyManagement;
  tracing?: Tracing;
}

const always = async () => true;
const unused = { checkUpdate() {} } as unknown as VoiceManagement;
const unusedLive = {} as LiveOperationsOptions['speech'];

export async function openTestServices(options: ServicesTestOptions = {}) {
  const { timeLimits, openLimits, reflection = true, tls, isInForce = always, keys = {} as KeyManagement } = options;
  const { tracing } = options;
  const fakeSpeech = openShortSpeech();
  const calls: EndedCall[] = [];
  const faults: unknown[] = [];
  const onFault = (fault: unknown) => void faults.push(fault);
  const { delivery, voices, plan, speak, estimateSpeech } = fakeSpeech;
  const onCallEnd = (call: EndedCall) => void calls.push(call);
  const runner = createRunner({ admit, isInForce, onCallEnd, tracing, timeLimits, openLimits });
  const metering = createMetering({ ...unlimited, onFault });
  const spoken = { plan, checkCapacity: async () => {}, speak };
  const speechOperations = createSpeechOperations({ speech: spoken, delivery, metering });
  const callRpc = createCallRpc([
    [SpeechService, { deleteAudio: speechOperations.deleteAudio }],
    [VoiceService, createVoiceHandlers({ voices, engines: [], management: unused })],
    [ApiKeyService, createKeyHandlers({ keys, voices, secrets: {} as WebhookSecrets })],
  ]);
  const speaking = { ...speechOperations, estimateSpeech };
  const live = createLiveOperations({ speech: unusedLive, metering });
  const services = createServices({ api: { runner, speech: speaking, live, callRpc }, reflection });
  const address = { host: '127.0.0.1', port: 0 };
  const server = await openRpcServer({ services, address, onFault, ...(tls && { tls }) });
  const web = createHttpApp({
    toServer: (listener) => createHttpServer({ listener, connections: createConnections({ perAddressMax: Infinity }) }),
    isLeaving: () => false,
    isDraining: () => false,
    onRequestEnd: () => {},
  });
  addRpcRoutes(web, services.createHandlers({ grpc: false }));
  await web.listen({ host: '127.0.0.1', port: 0 });
  const target = `127.0.0.1:${server.port}`;
  const webUrl = `http://127.0.0.1:${(web.server.address() as AddressInfo).port}`;
  const speech = openGrpcClient(SpeechService, target);
  onTestFinished(async () => {
    speech.close();
    web.server.closeAllConnections();
    await web.close();
    await server.drain(0);
  });
  const transport = createConnectTransport({ baseUrl: webUrl, httpVersion: '1.1', useBinaryFormat: true });
  return { fakeSpeech, calls, faults, runner, services, server, speech, target, webUrl, transport };
}

/** A typed client of the speech service for each protocol of Connect. */
export const connectClients = ({ transport, webUrl, target }: Awaited<ReturnType<typeof openTestServices>>) => ({
  connect: createClient(SpeechService, transport),
  'connect json': createClient(SpeechService, createConnectTransport({ baseUrl: webUrl, httpVersion: '1.1' })),
  'grpc-web': createClient(SpeechService, createGrpcWebTransport({ baseUrl: webUrl, httpVersion: '1.1' })),
  'grpc-web over HTTP/2': createClient(
    SpeechService,
    createGrpcWebTransport({ baseUrl: `http://${target}`, httpVersion: '2' }),
  ),
});

// Builds the service from a Config: the only file that imports every room. Everything is closed in reverse order.
import { isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { drainDoors } from './app/drain-doors.ts';
import { logEnd } from './app/log-end.ts';
import { openClips } from './app/open-clips.ts';
import { type OpenedSpeech, openSpeech } from './app/open-speech.ts';
import { readTls } from './app/read-tls.ts';
import { createServiceMetrics } from './app/service-metrics.ts';
import { checkSharedSecrets } from './app/shared-secrets.ts';
import { openSharedState, publishKeyChange } from './app/shared-state.ts';
import { signInOptionsOf } from './app/sign-in-options.ts';
import { openStoredVoices, type StoredVoices } from './app/stored-voices.ts';
import { asConfigError, type Config } from './config.ts';
import { openClipSweep } from './delivery/clip-sweep.ts';
import { createDelivery } from './delivery/delivery.ts';
import { readCaptions } from './delivery/stored-captions.ts';
import type { EngineDefinition } from './engines/engine.ts';
import { type Gateway, openGateway } from './gateway/gateway.ts';
import type { EndedRequest } from './gateway/http/ended-request.ts';
import { createTickets } from './gateway/speech/stream-tickets.ts';
import { createPepper } from './keys/api-key.ts';
import { acceptBootstrapKey, type FirstKey, makeFirstKey } from './keys/first-key.ts';
import { type ChangedKey, createKeyManagement, type KeyManagement } from './keys/key-management.ts';
import { createKeyVerifier } from './keys/key-verifier.ts';
import { dayOf } from './limits/usage-day.ts';
import { createUsageLedger } from './limits/usage-ledger.ts';
import { openSharedPort } from './net/shared-port.ts';
import { createAdmit } from './operations/admit.ts';
import { createIdempotency } from './operations/idempotency.ts';
import type { EndedCall } from './rpc/observe.ts';
import { openRpcServer } from './rpc/rpc-server.ts';
import { createServices } from './rpc/services.ts';
import { createSignIn } from './sign-in/sign-in.ts';
import type { ListStored, Voices } from './speech/voice.ts';
import { createAnswerRows } from './store/answer-rows.ts';
import { createApiKeyRows } from './store/api-key-rows.ts';
import { createClipRows } from './store/clip-rows.ts';
import { createFingerprintRows } from './store/fingerprint-rows.ts';
import { isStoreThere, openStore } from './store/open-store.ts';
import { createTicketRows } from './store/ticket-rows.ts';
import { createUsageRows, type UsageRows } from './store/usage-rows.ts';
import type { Log } from './telemetry/log.ts';
import type { VoiceManagement } from './voices/voice-management.ts';
import { createVoicePreview } from './voices/voice-preview.ts';
import { createVoicePurge } from './voices/voice-purge.ts';

/** Speech without listeners, for the command line; with the stored voices if there is a database. */
export interface App extends Pick<OpenedSpeech, 'voices' | 'speech'> {
  close(): Promise<void>;
}

export async function openApp(config: Config, definitions: readonly EngineDefinition[]): Promise<App> {
  await using opened = new AsyncDisposableStack();
  let listStored: ListStored | undefined;
  if (isStoreThere(config)) {
    const storedVoices = await openVoicesOfStore(config, opened);
    listStored = storedVoices.voiceCache.list;
  }
  const { voices, speech, close } = await openSpeech({ config, definitions, listStored });
  opened.defer(close);
  const kept = opened.move();
  return { voices, speech, close: () => kept.disposeAsync() };
}

/** Voice management, for the command line. */
export interface OpenedVoiceManagement extends Pick<StoredVoices, 'rows' | 'vault'> {
  voices: Voices;
  management: VoiceManagement;
  close(): Promise<void>;
}

export async function openVoiceManagement(
  config: Config,
  definitions: readonly EngineDefinition[],
): Promise<OpenedVoiceManagement> {
  await using opened = new AsyncDisposableStack();
  const storedVoices = await openVoicesOfStore(config, opened);
  const speech = await openSpeech({ config, definitions, listStored: storedVoices.voiceCache.list });
  opened.defer(speech.close);
  const kept = opened.move();
  const { rows, vault } = storedVoices;
  const management = storedVoices.createManagement(speech);
  return { rows, vault, voices: speech.voices, management, close: () => kept.disposeAsync() };
}

/** Purges no audio of deleted voices: the service does, when it sees the change. */
async function openVoicesOfStore(config: Config, opened: AsyncDisposableStack): Promise<StoredVoices> {
  const store = await openStore(config);
  opened.defer(() => store.close());
  const storedVoices = await openStoredVoices(config, store, { purge: async () => {}, onFault() {} });
  opened.defer(storedVoices.close);
  return storedVoices;
}

/** Key management, for the command line. */
export interface Keys {
  management: KeyManagement;
  close(): Promise<void>;
}

export async function openKeys(config: Config): Promise<Keys> {
  await using opened = new AsyncDisposableStack();
  const store = await openStore(config);
  opened.defer(() => store.close());
  const onChange = (changed: ChangedKey) => publishKeyChange(config, changed);
  const management = createKeyManagement({ rows: createApiKeyRows(store), pepper: pepperOf(config), onChange });
  const kept = opened.move();
  return { management, close: () => kept.disposeAsync() };
}

/** The usage table, for the command line. */
export async function openUsage(config: Config): Promise<{ usage: UsageRows; close(): Promise<void> }> {
  const store = await openStore(config);
  return { usage: createUsageRows(store), close: () => store.close() };
}

/** The running service. */
export interface Service {
  httpPort: number;
  grpcPort: number;
  baseUrl: string;
  /** The key that was created because there was none. */
  firstKey: FirstKey | undefined;
  /** Reports not ready, lets running requests finish for a while, ends the rest, and closes everything. */
  drain(): Promise<void>;
}

export interface ServiceOptions {
  config: Config;
  definitions: readonly EngineDefinition[];
  log: Log;
  /** Serve gRPC on the HTTP address too. */
  isSinglePort: boolean;
}

export async function openService({ config, definitions, log, isSinglePort }: ServiceOptions): Promise<Service> {
  await using opened = new AsyncDisposableStack();
  const onFault = (fault: unknown) => log.error('a fault that no caller was told of', { fault });
  const store = await openStore(config);
  opened.defer(() => store.close());
  if (config.databaseUrl !== '') await checkSharedSecrets(config, createFingerprintRows(store));
  const { clips, linkTo } = await openClips(config);
  opened.defer(() => clips.close());
  const clipRows = createClipRows(store);
  const sweep = openClipSweep({ clips, index: clipRows, onFault });
  opened.defer(() => sweep.close());
  const purgeVoice = createVoicePurge({ index: clipRows, sweep });
  const gateways: Gateway[] = [];
  const purge = (voiceId: string, madeBeforeMs: number) => {
    for (const gateway of gateways) gateway.forgetVoice(voiceId);
    return purgeVoice(voiceId, madeBeforeMs);
  };
  const storedVoices = await openStoredVoices(config, store, { purge, onFault });
  opened.defer(storedVoices.close);
  const metrics = createServiceMetrics();
  const listStored = storedVoices.voiceCache.list;
  const heart = await openSpeech({ config, definitions, listStored, watch: metrics.engineWatch });
  opened.defer(heart.close);
  metrics.watchSpeech(heart);

  const keyRows = createApiKeyRows(store);
  const pepper = pepperOf(config);
  if (config.bootstrapKey !== '') await acceptBootstrapKey({ rows: keyRows, pepper, key: config.bootstrapKey });
  const firstKey = await makeFirstKey({ rows: keyRows, pepper, dataDir: config.dataDir });
  const keyVerifier = createKeyVerifier({ rows: keyRows, pepper });
  opened.defer(() => keyVerifier.close());
  const usage = createUsageRows(store);
  const spentSince = (ownerId: string, sinceMs: number) => usage.charactersSince(ownerId, dayOf(sinceMs));
  const sharedState = await openSharedState({ config, spentSince, log });
  opened.defer(() => sharedState.close());
  if (sharedState.limiterState()) metrics.watchRedis(() => sharedState.limiterState()!);
  const { limiter, addresses } = sharedState;
  const onKeyChange = (changed: ChangedKey) => {
    keyVerifier.forget();
    return sharedState.publishKeyChange(changed);
  };
  const desk = createKeyManagement({ rows: keyRows, pepper, onChange: onKeyChange });
  const signing = await signInOptionsOf(config);
  const signIn = createSignIn(signing);
  const admit = createAdmit({ keyVerifier, signIn, limits: { limiter, addresses } });

  const tls = await readTls(config);
  let httpPort = config.httpAddr.port;
  const baseUrl = () => config.baseUrl || localUrl(config.httpAddr.host, httpPort, tls !== undefined);
  const { engines, voices, speech } = heart;
  const links = { baseUrl, keepMs: config.audioKeepHours * 3_600_000 };
  const delivery = createDelivery({ speech, voices, clips, index: clipRows, links }, sharedState.singleFlight);
  const onCallEnd = (ended: EndedCall) => {
    metrics.onCallEnd(ended);
    const { failure, ...call } = ended;
    logEnd(log, 'info', 'call', call, failure);
  };
  const onRequestEnd = (ended: EndedRequest) => {
    metrics.onRequestEnd(ended);
    const { failure, ...request } = ended;
    logEnd(log, 'debug', 'request', request, failure);
  };
  const services = createServices({
    speaking: { delivery, metering: { limiter, ledger: createUsageLedger(usage) } },
    voicing: {
      voices,
      engines,
      desk: storedVoices.createManagement(heart),
      preview: createVoicePreview({ voices, delivery }),
    },
    access: { admit, isInForce: keyVerifier.isInForce, desk },
    onCallEnd,
  });
  // Changes by other processes take effect at once where the store can notify.
  const onKeys = () => {
    keyVerifier.forget();
    services.checkKeys();
  };
  opened.defer(store.listen('keys', onKeys));
  opened.defer(store.listen('voices', () => void storedVoices.voiceCache.refresh().catch(onFault)));

  const { isStrict, allowedOrigins, isBehindProxy } = config;
  const rpc = await asConfigError(config, 'SONANT_GRPC_ADDR', () =>
    openRpcServer({
      services,
      onFault,
      isBehindProxy,
      ...(!isSinglePort && { address: config.grpcAddr, ...(tls && { tls }) }),
    }),
  );
  opened.defer(() => rpc.drain(0));
  const gateway = await asConfigError(config, 'SONANT_HTTP_ADDR', () =>
    openGateway({
      services,
      admit,
      signing: { signIn, addresses },
      usage,
      remembering: {
        idempotency: createIdempotency({ rows: createAnswerRows(store), isAlive: clipRows.isAlive }),
        tickets: createTickets({ rows: createTicketRows(store), seal: signing.seal }),
        relay: sharedState.relay,
      },
      files: {
        find: clipRows.find,
        open: (key, range) => clips.open(key, range),
        captionsOf: (clipId) => readCaptions(clips, clipId),
        linkTo,
        isRevocable: ({ voiceId }) => voices.isCloned(voiceId),
      },
      settings: {
        ...(!isSinglePort && { address: config.httpAddr, ...(tls && { tls }) }),
        baseUrl,
        isBehindProxy,
        isStrict,
        allowedOrigins,
      },
      watch: {
        checks: [
          { name: 'store', isReady: async () => (await keyRows.isEmpty()) || true },
          { name: 'engines', isReady: async () => voices.list().length > 0 },
        ],
        onRequestEnd,
        readMetrics: metrics.text,
        onFault,
      },
    }),
  );
  opened.defer(() => gateway.drain(0));
  gateways.push(gateway);
  const doors = { toHttp1: gateway.accept, toHttp2: rpc.accept };
  const shared = isSinglePort
    ? await asConfigError(config, 'SONANT_HTTP_ADDR', () => openSharedPort({ address: config.httpAddr, tls, ...doors }))
    : undefined;
  httpPort = shared?.port ?? gateway.port;
  const kept = opened.move();
  return {
    httpPort,
    grpcPort: shared?.port ?? rpc.port,
    baseUrl: baseUrl(),
    firstKey,
    async drain() {
      // Load balancers see that it is not ready before a request is refused.
      gateway.leave();
      services.health.close();
      await sleep(config.leaveSeconds * 1000);
      shared?.close();
      await drainDoors([rpc, gateway], config.drainSeconds * 1000, onFault);
      // Everything acknowledged is stored already; further faults are logged.
      await kept.disposeAsync().catch(onFault);
    },
  };
}

const pepperOf = ({ keyPepper }: Config) => (keyPepper === '' ? undefined : createPepper(keyPepper));

/** The URL of a listener on this machine; one on all addresses is reached through localhost. */
function localUrl(host: string, port: number, isSecure: boolean): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const name = isEverywhere ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${name}:${port}`;
}

// Builds the service from a Config, and closes its parts in reverse order. Only this file opens every room.
import { isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Accounts, openAccounts } from '../accounts.ts';
import { type Api, openServiceApi } from '../api.ts';
import { openClips, openProvenance } from '../clips.ts';
import { type EngineDefinition, openVoiceDurations } from '../engines.ts';
import { openLibrary } from '../library.ts';
import type { Failure } from '../platform/errors.ts';
import { asConfigError } from '../platform/runtime/config-mistakes.ts';
import type { Address } from '../platform/runtime/setting-types.ts';
import { createFingerprintRows, openSharedRows, openStore } from '../platform/store/open-store.ts';
import type { Log } from '../platform/telemetry/log.ts';
import { openSpeech } from '../speech.ts';
import {
  addRpcRoutes,
  createConnections,
  createServices,
  type Gateway,
  openAdminServer,
  openGateway,
  openRpcServer,
  openSharedPort,
  openWyomingServer,
} from '../transports.ts';
import { checkSettings } from './check-settings.ts';
import type { Config } from './config.ts';
import { beginOpening, logEnd, type Opening, openCallLog } from './opening.ts';
import { checkSharedSecrets } from './secrets.ts';
import { traceStore } from './tracing.ts';

/** Opens everything that is stored: the database and the audio. */
async function openStored(opening: Opening) {
  const { config, opened, tracing } = opening;
  const openedStore = await openStore(config);
  opened.defer(() => openedStore.close());
  const store = tracing ? traceStore(openedStore, config.databaseUrl === '' ? 'sqlite' : 'postgresql') : openedStore;
  if (config.databaseUrl !== '') await checkSharedSecrets(config, createFingerprintRows(store));
  const sharedRows = await openSharedRows(config);
  opened.defer(async () => sharedRows?.close());
  return { store, sharedRows, clips: await openClips(opening, { store, sharedRows }) };
}

export interface Service {
  httpPort: number;
  grpcPort: number;
  /** The port for health and metrics; undefined if they have no port of their own. */
  adminPort: number | undefined;
  /** The port for the Wyoming protocol; undefined if the protocol is not served. */
  wyomingPort: number | undefined;
  baseUrl: string;
  /** The key that was created because the database contained no key. */
  firstKey: Accounts['firstKey'];
  /** The voice of callers who name none; undefined without engines. */
  defaultVoiceId: string | undefined;
  /** Whether no call is running. */
  isIdle(): boolean;
  /** Reports not ready, gives running requests time to finish, aborts the rest, and closes everything. */
  drain(): Promise<void>;
}

export async function openService(options: {
  config: Config;
  definitions: readonly EngineDefinition[];
  log: Log;
  /** Whether gRPC is served on the HTTP address too. */
  isSinglePort: boolean;
}): Promise<Service> {
  const { config, definitions, log, isSinglePort } = options;
  const tls = await checkSettings(config, isSinglePort);
  await using opened = new AsyncDisposableStack();
  const opening = beginOpening({ config, definitions, log, opened });
  const { onFault, metrics, tracing } = opening;
  const stored = await openStored(opening);
  const { store, clips } = stored;
  const accounts = await openAccounts(opening, { ...stored, makeRoom: clips.room.restore });
  const { core, keeping, installs, gateways } = await openSpeaking(opening, stored);
  let httpPort = config.httpAddr.port;
  const baseUrl = () => config.baseUrl || localUrl(config.httpAddr.host, httpPort, tls !== undefined);
  const provenance = openProvenance(config, store, log);
  const { openSigner } = provenance;
  const links = { baseUrl, keepMs: config.audioKeepHours * 3_600_000 };
  const { admit, limiter, addresses, ledger, keyVerifier, webhooks } = accounts;
  const callLog = openCallLog(log);
  opened.defer(() => callLog.close());
  const openedDelivery = clips.openDelivery({ ...core, links, openSigner });
  const api = openServiceApi({
    store,
    clips: openedDelivery,
    core,
    installs,
    provenance,
    onFault,
    accounts,
    voiceManagement: keeping.createManagement(core, openedDelivery.delivery),
    lexicons: keeping.lexicons,
    jobs: {
      speech: core.speech,
      stored: { store, clips, ledger },
      limiter,
      links,
      openSigner,
      metrics,
      onFault,
      findCaller: ({ ownerId, address }) => keyVerifier.verifyOwner(ownerId, address),
      chaptersMax: config.jobChaptersMax,
      webhooks,
    },
    running: { admit, isInForce: keyVerifier.isInForce, metrics, tracing, onCallEnd: callLog.write },
  });
  opened.defer(api.close);
  // Other processes change keys, voices and lexicons. The changes apply at once if the store supports notifications.
  const onKeys = () => {
    keyVerifier.forget();
    api.runner.checkKeys();
  };
  opened.defer(store.listen('keys', onKeys));
  opened.defer(store.listen('voices', () => void keeping.voiceCache.refresh().catch(onFault)));
  opened.defer(store.listen('lexicons', () => void keeping.lexiconCache.refresh().catch(onFault)));

  const { isStrict, publicVoices, voiceNames, allowedOrigins, isBehindProxy } = config;
  const services = createServices({ api, isStrict });
  const connections = createConnections({ perAddressMax: isBehindProxy ? Infinity : config.connectionsPerAddress });
  const listen = (address: Address) => (isSinglePort ? {} : { address, ...(tls && { tls }) });
  const rpc = await asConfigError(config, 'SONANT_GRPC_ADDR', () =>
    openRpcServer({ services, connections, onFault, isBehindProxy, ...listen(config.grpcAddr) }),
  );
  opened.defer(() => rpc.drain(0));
  const ofHttp = { connections, baseUrl, isBehindProxy, isStrict, publicVoices, voiceNames, allowedOrigins };
  const gateway = await asConfigError(config, 'SONANT_HTTP_ADDR', () =>
    openGateway({
      api,
      addRpcRoutes: (app) => addRpcRoutes(app, services.createHandlers({ grpc: false })),
      admit,
      signing: { signIn: accounts.signIn, addresses },
      settings: { ...listen(config.httpAddr), ...ofHttp },
      watch: {
        checks: [
          { name: 'store', isReady: accounts.hasStore },
          { name: 'engines', isReady: async () => core.voices.list().length > 0 },
          { name: 'room for audio', isReady: clips.room.restore },
          { name: 'usage records', isReady: async () => ledger.hasRoom },
        ],
        onRequestEnd: ({ failure, ...request }) => logEnd(log, 'debug', 'request', request, failure),
        metrics,
        readMetrics: config.adminAddr === '' ? metrics.text : undefined,
        onFault,
      },
    }),
  );
  opened.defer(() => gateway.drain(0));
  gateways.push(gateway);
  const wyoming = await openWyoming(opening, api);
  if (wyoming) opened.defer(() => wyoming.drain(0));
  const toServers = { toHttp1: gateway.accept, toHttp2: rpc.accept };
  const shared = isSinglePort
    ? await asConfigError(config, 'SONANT_HTTP_ADDR', () =>
        openSharedPort({ address: config.httpAddr, tls, connections, onFault, ...toServers }),
      )
    : undefined;
  const adminPort = await openAdmin(opening, gateway);
  httpPort = shared?.port ?? gateway.port;
  const kept = opened.move();
  return {
    httpPort,
    grpcPort: shared?.port ?? rpc.port,
    adminPort,
    wyomingPort: wyoming?.port,
    baseUrl: baseUrl(),
    firstKey: accounts.firstKey,
    defaultVoiceId: core.voices.findDefault().offered?.voice.voiceId,
    isIdle: api.runner.isIdle,
    async drain() {
      // Load balancers must see that the service is not ready before it refuses requests.
      gateway.leave();
      services.health.close();
      await sleep(config.leaveSeconds * 1000);
      shared?.close();
      api.runner.leave();
      await drainListeners([rpc, gateway, ...(wyoming ? [wyoming] : [])], config.drainSeconds * 1000, onFault);
      // Everything that was acknowledged has already been stored, so an error is only logged.
      await kept.disposeAsync().catch(onFault);
    },
  };
}

/** Opens the engines, voices, speech synthesis and model installation. */
async function openSpeaking(opening: Opening, { store, clips }: Awaited<ReturnType<typeof openStored>>) {
  const { config, definitions, log, opened, metrics, tracing, onFault } = opening;
  const gateways: Gateway[] = [];
  const durations = await openVoiceDurations(store, onFault);
  opened.defer(durations.close);
  const purge = async (due: ReadonlyMap<string, number>) => {
    for (const gateway of gateways) for (const voiceId of due.keys()) gateway.forgetVoice(voiceId);
    await clips.purgeVoices(due);
    for (const voiceId of due.keys()) await durations.forget(voiceId);
  };
  const keeping = await openLibrary(opening, store, purge);
  const core = await openSpeech({
    config,
    definitions,
    ...keeping.sources,
    metrics,
    isTraced: tracing !== undefined,
    durations,
    log: (level, message, facts) => log[level](message, facts),
  });
  opened.defer(core.close);
  const onEvent = (message: string, facts: object, failure?: Failure) => logEnd(log, 'info', message, facts, failure);
  const installs = await keeping.openModels(
    { definitions, opened: core.engines, onEvent },
    config.fetchVoice === 'on' ? { voices: core.voices, log, onFault } : undefined,
  );
  opened.defer(installs.close);
  return { core, keeping, installs, gateways };
}

/**
 * Opens the operators' port. Returns its number, or undefined if none is configured. The listener closes after all
 * other listeners.
 */
async function openAdmin({ config, opened, metrics, onFault }: Opening, { checks }: Gateway) {
  const { adminAddr: address } = config;
  if (address === '') return undefined;
  const admin = await asConfigError(config, 'SONANT_ADMIN_ADDR', () =>
    openAdminServer({ address, checks, readMetrics: metrics.text, onFault }),
  );
  opened.defer(admin.close);
  return admin.port;
}

/** Opens the Wyoming listener. Returns undefined if it is not configured. */
async function openWyoming({ config, log, onFault }: Opening, api: Api) {
  const { wyomingAddr: address, wyomingKey: key, wyomingAllow: allowed } = config;
  if (address === '') return undefined;
  const onRefused = (from: string) => log.debug('Wyoming connection refused', { address: from });
  return asConfigError(config, 'SONANT_WYOMING_ADDR', () =>
    openWyomingServer({ api, key, address, allowed, onRefused, onFault }),
  );
}

/**
 * Drains all listeners in parallel and waits for all of them, even if one fails, because the parts that they use are
 * closed afterwards.
 */
export async function drainListeners(
  listeners: readonly { drain(timeoutMs: number): Promise<void> }[],
  timeoutMs: number,
  onFault: (fault: unknown) => void,
): Promise<void> {
  const ends = await Promise.allSettled(listeners.map((listener) => listener.drain(timeoutMs)));
  for (const end of ends) if (end.status === 'rejected') onFault(end.reason);
}

/** The URL of a listener for clients on this machine. A listener on all addresses is reached through localhost. */
function localUrl(host: string, port: number, isSecure: boolean): string {
  const isWildcard = host === '0.0.0.0' || host === '::';
  const name = isWildcard ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${name}:${port}`;
}

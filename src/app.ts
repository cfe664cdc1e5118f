// Builds the service from a Config: the only file that imports every room. Everything is closed in reverse order.
import { isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { drainDoors } from './app/drain-doors.ts';
import { logEnd } from './app/log-end.ts';
import { openClips } from './app/open-clips.ts';
import { openSpeech } from './app/open-speech.ts';
import { openWyoming } from './app/open-wyoming.ts';
import { createOperations } from './app/operations.ts';
import { readTls } from './app/read-tls.ts';
import { createServiceMetrics, type ServiceMetrics } from './app/service-metrics.ts';
import { checkSharedSecrets, pepperOf } from './app/shared-secrets.ts';
import { openSharedState } from './app/shared-state.ts';
import { signInOptionsOf } from './app/sign-in-options.ts';
import { openStoredVoices } from './app/stored-voices.ts';
import { asConfigError, type Config } from './config.ts';
import { openClipSweep } from './delivery/clip-sweep.ts';
import type { EngineDefinition } from './engines/engine.ts';
import { type Gateway, openGateway } from './gateway/gateway.ts';
import { acceptBootstrapKey, type FirstKey, makeFirstKey } from './keys/first-key.ts';
import { type ChangedKey, createKeyManagement } from './keys/key-management.ts';
import { createKeyVerifier } from './keys/key-verifier.ts';
import { dayOf } from './limits/usage-period.ts';
import type { Tls } from './net/listen.ts';
import { openSharedPort } from './net/shared-port.ts';
import { createAdmit } from './operations/admit.ts';
import { createRunner, type Runner } from './operations/runner.ts';
import { addRpcRoutes } from './rpc/connect-routes.ts';
import { openRpcServer } from './rpc/rpc-server.ts';
import { createServices, type Services } from './rpc/services.ts';
import { createSignIn } from './sign-in/sign-in.ts';
import { createApiKeyRows } from './store/api-key-rows.ts';
import { createClipRows } from './store/clip-rows.ts';
import { createFingerprintRows } from './store/fingerprint-rows.ts';
import { openStore } from './store/open-store.ts';
import type { RowStore } from './store/row-store.ts';
import { createUsageRows } from './store/usage-rows.ts';
import type { Log } from './telemetry/log.ts';
import { createVoicePurge } from './voices/voice-purge.ts';

/** All of it, serving. */
export interface Service {
  httpPort: number;
  grpcPort: number;
  /** Undefined where the Wyoming protocol is not served. */
  wyomingPort: number | undefined;
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

/** What every stage of opening the service works with. */
interface Opening extends Pick<ServiceOptions, 'config' | 'definitions' | 'log'> {
  opened: AsyncDisposableStack;
  metrics: ServiceMetrics;
  onFault(fault: unknown): void;
}

export async function openService({ config, definitions, log, isSinglePort }: ServiceOptions): Promise<Service> {
  await using opened = new AsyncDisposableStack();
  const onFault = (fault: unknown) => log.error('a fault that no caller was told of', { fault });
  const opening: Opening = { config, definitions, log, opened, metrics: createServiceMetrics(), onFault };
  const stored = await openStored(opening);
  const speaking = await openSpeaking(opening, stored);
  const access = await openAccess(opening, stored.store);
  const tls = await readTls(config);
  let httpPort = config.httpAddr.port;
  const baseUrl = () => config.baseUrl || localUrl(config.httpAddr.host, httpPort, tls !== undefined);
  const operations = createOperations({
    core: speaking.core,
    keys: access.keys,
    voiceManagement: speaking.voiceManagement,
    store: stored.store,
    storedClips: stored.storedClips,
    links: { baseUrl, keepMs: config.audioKeepHours * 3_600_000 },
    limiter: access.sharing.limiter,
    singleFlight: access.sharing.singleFlight,
    seal: access.signing.seal,
  });
  const runner = openRunner(opening, access);
  opened.defer(() => runner.stop());
  // What other processes change takes effect at once where the store can notify.
  const onKeys = () => {
    access.keyVerifier.forget();
    runner.checkKeys();
  };
  opened.defer(stored.store.listen('keys', onKeys));
  opened.defer(stored.store.listen('voices', () => void speaking.voiceCache.refresh().catch(onFault)));

  const services = createServices({ runner, ...operations });
  const listeners = { opening, tls, isSinglePort };
  const rpc = await openRpc(listeners, services);
  const gateway = await openHttp(listeners, { runner, services, operations, access, core: speaking.core, baseUrl });
  speaking.gateways.push(gateway);
  const wyoming = await openWyoming({ config, log, onFault, runner, operations });
  if (wyoming) opened.defer(() => wyoming.drain(0));
  const accept = { toHttp1: gateway.accept, toHttp2: rpc.accept };
  const shared = isSinglePort
    ? await asConfigError(config, 'SONANT_HTTP_ADDR', () =>
        openSharedPort({ address: config.httpAddr, tls, ...accept }),
      )
    : undefined;
  httpPort = shared?.port ?? gateway.port;
  const kept = opened.move();
  return {
    httpPort,
    grpcPort: shared?.port ?? rpc.port,
    wyomingPort: wyoming?.port,
    baseUrl: baseUrl(),
    firstKey: access.firstKey,
    async drain() {
      // Load balancers see that it is not ready before a request is refused.
      gateway.leave();
      services.health.close();
      await sleep(config.leaveSeconds * 1000);
      shared?.close();
      runner.leave();
      await drainDoors([rpc, gateway, ...(wyoming ? [wyoming] : [])], config.drainSeconds * 1000, onFault);
      // All that was acknowledged is stored already; what else goes wrong now is for the log.
      await kept.disposeAsync().catch(onFault);
    },
  };
}

/** The database, and the store of clips. */
async function openStored({ config, opened, onFault }: Opening) {
  const store = await openStore(config);
  opened.defer(() => store.close());
  if (config.databaseUrl !== '') await checkSharedSecrets(config, createFingerprintRows(store));
  const storedClips = await openClips(config);
  opened.defer(() => storedClips.clips.close());
  const sweep = openClipSweep({ clips: storedClips.clips, index: createClipRows(store), onFault });
  opened.defer(() => sweep.close());
  return { store, storedClips, sweep };
}

/** The engines, the voices and speech. */
async function openSpeaking(
  { config, definitions, opened, metrics, onFault }: Opening,
  { store, sweep }: Awaited<ReturnType<typeof openStored>>,
) {
  const purgeVoice = createVoicePurge(createClipRows(store), sweep);
  const gateways: Gateway[] = [];
  const purge = (voiceId: string, madeBeforeMs: number) => {
    for (const gateway of gateways) gateway.forgetVoice(voiceId);
    return purgeVoice(voiceId, madeBeforeMs);
  };
  const keeping = await openStoredVoices(config, store, { purge, onFault });
  opened.defer(keeping.close);
  const { voiceCache } = keeping;
  const core = await openSpeech({ config, definitions, listStored: voiceCache.list, watch: metrics.engineWatch });
  opened.defer(core.close);
  metrics.watchSpeech(core);
  return { core, voiceCache, voiceManagement: keeping.createManagement(core), gateways };
}

/** Keys, limits and sign-in: whatever admission needs. */
async function openAccess({ config, log, opened, metrics }: Opening, store: RowStore) {
  const rows = createApiKeyRows(store);
  const pepper = pepperOf(config);
  if (config.bootstrapKey !== '') await acceptBootstrapKey({ rows, pepper, key: config.bootstrapKey });
  const firstKey = await makeFirstKey({ rows, pepper, dataDir: config.dataDir });
  const keyVerifier = createKeyVerifier({ rows, pepper });
  opened.defer(() => keyVerifier.close());
  const usage = createUsageRows(store);
  const spentSince = (ownerId: string, sinceMs: number) => usage.charactersSince(ownerId, dayOf(sinceMs));
  const sharing = await openSharedState({ config, spentSince, log });
  opened.defer(() => sharing.close());
  if (sharing.limiterState()) metrics.watchRedis(() => sharing.limiterState()!);
  const onChange = (changed: ChangedKey) => {
    keyVerifier.forget();
    return sharing.publishKeyChange(changed);
  };
  const keys = createKeyManagement({ rows, pepper, onChange });
  const signing = await signInOptionsOf(config);
  const signIn = createSignIn(signing);
  const { limiter, addresses } = sharing;
  const admit = createAdmit({ keyVerifier, signIn, limits: { limiter, addresses } });
  return { rows, firstKey, keyVerifier, sharing, keys, signing, signIn, admit };
}

type Access = Awaited<ReturnType<typeof openAccess>>;

const openRunner = ({ log, metrics }: Opening, { admit, keyVerifier }: Access): Runner =>
  createRunner({
    admit,
    isInForce: keyVerifier.isInForce,
    onCallEnd(ended) {
      metrics.onCallEnd(ended);
      const { failure, ...call } = ended;
      logEnd(log, 'info', 'call', call, failure);
    },
  });

interface Listeners {
  opening: Opening;
  tls: Tls | undefined;
  isSinglePort: boolean;
}

async function openRpc({ opening, tls, isSinglePort }: Listeners, services: Services) {
  const { config, opened, onFault } = opening;
  const { isBehindProxy, grpcAddr: address } = config;
  const own = isSinglePort ? {} : { address, ...(tls && { tls }) };
  const rpc = await asConfigError(config, 'SONANT_GRPC_ADDR', () =>
    openRpcServer({ services, onFault, isBehindProxy, ...own }),
  );
  opened.defer(() => rpc.drain(0));
  return rpc;
}

interface HttpParts {
  runner: Runner;
  services: Services;
  operations: ReturnType<typeof createOperations>;
  access: Access;
  core: Awaited<ReturnType<typeof openSpeech>>;
  baseUrl(): string;
}

async function openHttp({ opening, tls, isSinglePort }: Listeners, parts: HttpParts): Promise<Gateway> {
  const { config, log, opened, metrics, onFault } = opening;
  const { runner, services, operations, access, core, baseUrl } = parts;
  const { isStrict, allowedOrigins, isBehindProxy, httpAddr: address } = config;
  const own = isSinglePort ? {} : { address, ...(tls && { tls }) };
  const gateway = await asConfigError(config, 'SONANT_HTTP_ADDR', () =>
    openGateway({
      runner,
      operations,
      addRpcRoutes: (app) => addRpcRoutes(app, services.createHandlers({ grpc: false })),
      admit: access.admit,
      signing: { signIn: access.signIn, addresses: access.sharing.addresses },
      relay: access.sharing.relay,
      settings: { ...own, baseUrl, isBehindProxy, isStrict, allowedOrigins },
      watch: {
        checks: [
          { name: 'store', isReady: async () => (await access.rows.isEmpty()) || true },
          { name: 'engines', isReady: async () => core.voices.list().length > 0 },
        ],
        onRequestEnd(ended) {
          metrics.onRequestEnd(ended);
          const { failure, ...request } = ended;
          logEnd(log, 'debug', 'request', request, failure);
        },
        readMetrics: metrics.text,
        onFault,
      },
    }),
  );
  opened.defer(() => gateway.drain(0));
  return gateway;
}

/** The URL of a listener on this machine; one on all addresses is reached through localhost. */
function localUrl(host: string, port: number, isSecure: boolean): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const name = isEverywhere ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${name}:${port}`;
}

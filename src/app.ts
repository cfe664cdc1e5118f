// Builds the service from a Config: the only file that knows everyone. What it opens, it closes in reverse.
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { createAddressLimit } from './access/address-limit.ts';
import { createAdmit } from './access/admit.ts';
import { createPepper } from './access/api-key.ts';
import { acceptBootstrapKey, type FirstKey, makeFirstKey } from './access/first-key.ts';
import { createIssuer } from './access/issuer.ts';
import { createKeyDesk, type KeyDesk } from './access/key-desk.ts';
import { createKeyring } from './access/keyring.ts';
import { createLedger } from './access/ledger.ts';
import { createLimiter } from './access/limiter.ts';
import { readOwnSecret } from './access/own-secret.ts';
import { createSeal } from './access/seal.ts';
import { createSignIn, type SignInOptions } from './access/sign-in.ts';
import { dayOf } from './access/usage-day.ts';
import { openLocalClips } from './clips/local-clips.ts';
import { type Config, ConfigError, type ConfigMistake } from './config.ts';
import type { EngineDefinition } from './engines/engine.ts';
import { type Failure, failureTable } from './errors.ts';
import { openGateway } from './gateway/gateway.ts';
import { openSharedPort } from './gateway/shared-port.ts';
import type { EndedCall } from './rpc/observe.ts';
import { openRpcServer } from './rpc/rpc-server.ts';
import { createServices } from './rpc/services.ts';
import { openClipSweep } from './speech/clip-sweep.ts';
import { createDelivery } from './speech/delivery.ts';
import { createSlots } from './speech/slots.ts';
import { createSpeech, type Speech } from './speech/synthesize.ts';
import { createVoices, type Voices } from './speech/voice.ts';
import { createApiKeyRows } from './store/api-key-rows.ts';
import { createClipRows } from './store/clip-rows.ts';
import { openSqlite } from './store/sqlite.ts';
import { createUsageRows, type UsageRows } from './store/usage-rows.ts';
import type { Log } from './telemetry/log.ts';

/** The heart alone. */
export interface App {
  voices: Voices;
  speech: Speech;
  close(): Promise<void>;
}

export async function openApp(config: Config, definitions: readonly EngineDefinition[]): Promise<App> {
  await using opened = new AsyncDisposableStack();
  const results = await Promise.allSettled(
    definitions.map(async (definition) => {
      const engine = await openEngine(config, definition);
      if (engine) opened.defer(() => engine.close());
      return engine;
    }),
  );
  const engines = results.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value ?? [];
  });
  const voices = createVoices(engines);
  const { speakingMax, waitingMax } = config;
  const speech = createSpeech({ voices, slots: createSlots({ speakingMax, waitingMax }) });
  const kept = opened.move();
  return { voices, speech, close: () => kept.disposeAsync() };
}

/** The keys alone, for the command line. */
export interface Keys {
  desk: KeyDesk;
  close(): Promise<void>;
}

export async function openKeys(config: Config): Promise<Keys> {
  await using opened = new AsyncDisposableStack();
  const store = await openSqlite(databaseOf(config));
  opened.defer(() => store.close());
  const desk = createKeyDesk({ rows: createApiKeyRows(store), pepper: pepperOf(config), onChange() {} });
  const kept = opened.move();
  return { desk, close: () => kept.disposeAsync() };
}

/** The ledger alone, for the command line. */
export async function openUsage(config: Config): Promise<{ usage: UsageRows; close(): Promise<void> }> {
  const store = await openSqlite(databaseOf(config));
  return { usage: createUsageRows(store), close: () => store.close() };
}

/** All of it, serving. */
export interface Service {
  httpPort: number;
  grpcPort: number;
  baseUrl: string;
  /** The key that was made because there was none. */
  firstKey: FirstKey | undefined;
  /** Lets what runs finish for a while, ends the rest, and closes everything. */
  drain(): Promise<void>;
}

export interface ServiceOptions {
  config: Config;
  definitions: readonly EngineDefinition[];
  log: Log;
  /** Both doors on the HTTP address. */
  isSinglePort: boolean;
}

export async function openService({ config, definitions, log, isSinglePort }: ServiceOptions): Promise<Service> {
  await using opened = new AsyncDisposableStack();
  const onFault = (fault: unknown) => log.error('a fault that no caller was told of', { fault });
  const app = await openApp(config, definitions);
  opened.defer(() => app.close());
  const store = await openSqlite(databaseOf(config));
  opened.defer(() => store.close());
  const clips = await openLocalClips({ dir: join(config.dataDir, 'audio') });
  opened.defer(() => clips.close());
  const clipRows = createClipRows(store);
  const sweep = openClipSweep({ clips, index: clipRows, onFault });
  opened.defer(() => sweep.close());

  const keyRows = createApiKeyRows(store);
  const pepper = pepperOf(config);
  if (config.bootstrapKey !== '') await acceptBootstrapKey({ rows: keyRows, pepper, key: config.bootstrapKey });
  const firstKey = await makeFirstKey({ rows: keyRows, pepper, dataDir: config.dataDir });
  const keyring = createKeyring({ rows: keyRows, pepper });
  opened.defer(() => keyring.close());
  const desk = createKeyDesk({ rows: keyRows, pepper, onChange: keyring.forget });
  const usage = createUsageRows(store);
  const limiter = createLimiter({ spentSince: (ownerId, sinceMs) => usage.charactersSince(ownerId, dayOf(sinceMs)) });
  const addresses = createAddressLimit({ perMinute: config.badKeysPerMinute });
  const signIn = createSignIn(await signInOptionsOf(config));
  const admit = createAdmit({ keyring, signIn, limits: { limiter, addresses } });

  const tls = await readTls(config);
  let httpPort = config.httpAddr.port;
  const baseUrl = () => config.baseUrl || localUrl(config.httpAddr.host, httpPort, tls !== undefined);
  const { voices, speech } = app;
  const links = { baseUrl, keepMs: config.audioKeepHours * 3_600_000 };
  const delivery = createDelivery({ speech, voices, clips, index: clipRows, links });
  const onCallEnd = ({ failure, ...call }: EndedCall) => logEnd(log, 'info', 'call', call, failure);
  const services = createServices({
    speaking: { delivery, voices, metering: { limiter, ledger: createLedger(usage) } },
    access: { admit, isInForce: keyring.isInForce, desk },
    onCallEnd,
  });

  const { isStrict, allowedOrigins, isBehindProxy } = config;
  const rpc = await blame(config, 'SONANT_GRPC_ADDR', () =>
    openRpcServer({
      services,
      onFault,
      isBehindProxy,
      ...(!isSinglePort && { address: config.grpcAddr, ...(tls && { tls }) }),
    }),
  );
  opened.defer(() => rpc.drain(0));
  const gateway = await blame(config, 'SONANT_HTTP_ADDR', () =>
    openGateway({
      services,
      admit,
      signing: { signIn, addresses },
      usage,
      files: { find: clipRows.find, open: (key, range) => clips.open(key, range) },
      settings: {
        ...(!isSinglePort && { address: config.httpAddr, ...(tls && { tls }) }),
        ...{ baseUrl, isBehindProxy, isStrict, allowedOrigins },
      },
      watch: {
        checks: [
          { name: 'store', isReady: async () => (await keyRows.isEmpty()) || true },
          { name: 'engines', isReady: async () => voices.list().length > 0 },
        ],
        onRequestEnd: ({ failure, ...request }) => logEnd(log, 'debug', 'request', request, failure),
        onFault,
      },
    }),
  );
  opened.defer(() => gateway.drain(0));
  const doors = { toHttp1: gateway.accept, toHttp2: rpc.accept };
  const shared = isSinglePort
    ? await blame(config, 'SONANT_HTTP_ADDR', () => openSharedPort({ address: config.httpAddr, tls, ...doors }))
    : undefined;
  httpPort = shared?.port ?? gateway.port;
  const kept = opened.move();
  return {
    httpPort,
    grpcPort: shared?.port ?? rpc.port,
    baseUrl: baseUrl(),
    firstKey,
    async drain() {
      const drainMs = config.drainSeconds * 1000;
      shared?.close();
      await Promise.all([rpc.drain(drainMs), gateway.drain(drainMs)]);
      await kept.disposeAsync();
    },
  };
}

const databaseOf = ({ dataDir }: Config) => join(dataDir, 'sonant.db');
const pepperOf = ({ keyPepper }: Config) => (keyPepper === '' ? undefined : createPepper(keyPepper));

/** With TLS, or on this machine. */
const isSafeUrl = (url: string) => /^(https:|http:\/\/(localhost|127\.[\d.]+|\[::1\])(:|\/|$))/.test(url);

async function signInOptionsOf(config: Config): Promise<SignInOptions> {
  const { oidcIssuer, oidcClientId: clientId, oidcClientSecret: clientSecret, oidcInsecure } = config;
  const mistakes: ConfigMistake[] = [];
  const mistake = (name: string, allowed: string) => mistakes.push({ name, source: 'for SONANT_OIDC_ISSUER', allowed });
  if (oidcIssuer !== '') {
    if (clientId === '') mistake('SONANT_OIDC_CLIENT_ID', 'must be what Sonant is called there');
    const rules = [config.oidcSubjects, config.oidcDomains, config.oidcGroups];
    if (rules.every((rule) => rule.length === 0))
      mistake('SONANT_OIDC_SUBJECTS', 'must say who may make keys, or SONANT_OIDC_DOMAINS or SONANT_OIDC_GROUPS must');
    if (config.baseUrl !== '' && !isSafeUrl(config.baseUrl))
      mistake('SONANT_BASE_URL', 'must begin with https: browsers keep no sign-in without TLS, but on this machine');
  }
  if (oidcIssuer !== '' && config.baseUrl !== '' && new URL(config.baseUrl).pathname !== '/')
    mistake('SONANT_BASE_URL', 'must have no path: signing in works at the top of a host only');
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  const isInsecure = oidcInsecure || (oidcIssuer.startsWith('http:') && isSafeUrl(oidcIssuer));
  const issuer = { issuer: oidcIssuer, clientId, clientSecret, audience: config.oidcAudience || clientId, isInsecure };
  return {
    seal: createSeal(config.secret || (await readOwnSecret(config.dataDir))),
    issuer: oidcIssuer === '' ? undefined : createIssuer(issuer),
    whoMay: { subjects: config.oidcSubjects, domains: config.oidcDomains, groups: config.oidcGroups },
    clients: config.oauthClients,
    keyScopes: config.oauthKeyScopes,
  };
}

/** Where this machine itself reaches a listener: one on all addresses is reached on the machine's own. */
function localUrl(host: string, port: number, isSecure: boolean): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const name = isEverywhere ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${name}:${port}`;
}

/** A fault of ours is an error, one of what we stand on a warning; what callers did wrong is told at the usual level. */
function logEnd(log: Log, usual: 'debug' | 'info', what: string, ended: object, failure: Failure | undefined): void {
  if (!failure) return void log[usual](what, { ...ended });
  const { reason, cause } = failure;
  const isOurs = failureTable[reason].status >= 500;
  const level = reason === 'internal_error' ? 'error' : isOurs && cause !== undefined ? 'warn' : usual;
  log[level](what, { ...ended, reason, ...(isOurs && { cause }) });
}

/** Does what a setting asks for; if that cannot be, the setting gets the blame. */
async function blame<T>({ inForce }: Config, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { value, source } = inForce.find(({ setting }) => setting.name === name)!;
    throw new ConfigError([{ name, given: String(value), source, allowed: (error as Error).message }]);
  }
}

/** The certificate and its key, tried out; undefined without. */
export async function readTls(config: Config): Promise<{ cert: string; key: string } | undefined> {
  const { tlsCert, tlsKey } = config;
  if (tlsCert === '' && tlsKey === '') return undefined;
  const read = (name: string, file: string) =>
    blame(config, name, async () => {
      if (file === '') throw new Error('SONANT_TLS_CERT and SONANT_TLS_KEY go together');
      return readFile(file, 'utf8');
    });
  const tls = { cert: await read('SONANT_TLS_CERT', tlsCert), key: await read('SONANT_TLS_KEY', tlsKey) };
  await blame(config, 'SONANT_TLS_CERT', async () => createSecureContext({ cert: tls.cert }));
  await blame(config, 'SONANT_TLS_KEY', async () => createSecureContext(tls));
  return tls;
}

/** An optional engine that is broken, and that nobody has asked for by a setting, is as good as absent; doctor tells. */
async function openEngine(config: Config, { name, settings, isOptional, open }: EngineDefinition) {
  try {
    return await open(config.engines[name]!, config.dataDir);
  } catch (error) {
    const own = new Set<unknown>(Object.values(settings));
    const isAskedFor = config.inForce.some(({ setting, source }) => own.has(setting) && source !== 'default');
    if (isOptional && !isAskedFor) return undefined;
    throw error;
  }
}

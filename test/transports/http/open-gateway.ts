// Opens the HTTP gateway for a test on a free port, with the tone engine and real rows, clips, keys and services in
// separate stores (storage.ts); also returns what was logged. Closed after the test, or when `onClose` is called.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Admit, createAdmit } from '../../../src/accounts/keys/admit.ts';
import { createApiKeyRows } from '../../../src/accounts/keys/api-key-rows.ts';
import {
  createUsageLedger,
  createUsageRows,
  dayOf,
  type UsageLedgerOptions,
} from '../../../src/accounts/limits/usage-ledger.ts';
import { openLimits } from '../../../src/accounts/open-accounts.ts';
import { createSeal } from '../../../src/accounts/sign-in/sealed-tokens.ts';
import { createSignIn, type SignInOptions } from '../../../src/accounts/sign-in/sign-in.ts';
import { createWebhookRows } from '../../../src/accounts/webhooks/webhook-rows.ts';
import { createWebhookSecrets } from '../../../src/accounts/webhooks/webhook-secrets.ts';
import type { EndedCall } from '../../../src/api/call.ts';
import { type JobHandlersOptions, openJobHandlers } from '../../../src/api/jobs.ts';
import { openServiceApi } from '../../../src/api/open-service-api.ts';
import type { TimeLimits } from '../../../src/api/running-call.ts';
import { loadConfig } from '../../../src/app/config.ts';
import type { RoomLimits } from '../../../src/clips/clip-room.ts';
import { createClips, openClipStore } from '../../../src/clips/open-clips.ts';
import { createInspect } from '../../../src/clips/provenance/inspector.ts';
import type { OpenSigner } from '../../../src/clips/provenance/places.ts';
import { type ClipStore, isStored } from '../../../src/clips/stores/clip-store.ts';
import type { LinkTo } from '../../../src/clips/stores/s3-bucket.ts';
import type { Engine } from '../../../src/engines/engine.ts';
import { openLibrary } from '../../../src/library/open-library.ts';
import { openSharedRows, openStore } from '../../../src/platform/store/open-store.ts';
import type { Marking } from '../../../src/speech/cast.ts';
import { Schedule } from '../../../src/speech/schedule.ts';
import { createSpeech } from '../../../src/speech/synthesize.ts';
import type { Verifier } from '../../../src/speech/verification.ts';
import { createVoices } from '../../../src/speech/voice.ts';
import { type GatewayOptions, openGateway } from '../../../src/transports/gateway.ts';
import type { EndedRequest } from '../../../src/transports/http/http-app.ts';
import { addRpcRoutes, createServices } from '../../../src/transports/rpc/services.ts';
import { openKeys } from '../../accounts/keys/open-keys.ts';
import { certificatesOf } from '../../clips/provenance/signing.ts';
import { createStorage } from '../../distributed/storage.ts';
import { openTone, type ToneOptions, type ToneTrouble } from '../../engines/tone-engine.ts';

export interface GatewayTestOptions {
  trouble?: ToneTrouble;
  settings?: Partial<GatewayOptions['settings']>;
  /** The value of SONANT_DEFAULT_VOICE. */
  defaultVoice?: string;
  checks?: GatewayOptions['watch']['checks'];
  admit?: (real: Admit) => Admit;
  speakingMax?: number;
  retentionMs?: number;
  /** The store of audio, if it differs from the other stores. */
  store?: { clips: ClipStore; linkTo?: LinkTo | undefined };
  /** Whether limits on keys and addresses are enforced. */
  isLimited?: boolean;
  badKeysPerMinute?: number;
  signing?: Partial<SignInOptions>;
  room?: Partial<RoomLimits>;
  ledger?: Pick<UsageLedgerOptions, 'pendingRowsMax' | 'retryMs'>;
  engine?: ToneOptions;
  /** Engines to use instead of the tone engine. */
  engines?: Engine[];
  timeLimits?: TimeLimits;
  /** Signs the manifests of stored audio and of job files. Default: there are no manifests. */
  openSigner?: OpenSigner;
  /** Reads the certificates of the service. Default: the certificate of `openSigner`. */
  readOwnCertificates?(): Promise<Uint8Array[]>;
  /** Number of job chapters that are synthesized at once. */
  jobChaptersMax?: number;
  /** Information for the tags of files. Default: files have no tags. */
  marking?: Marking;
  /** Has a recognizer hear speech. Default: there is none. */
  verifier?: Verifier;
}

/** A voice whose name is not Latin, so that headers must encode the name. */
export const farVoice = { voiceId: 'far', name: 'Бьорк 声 🎙' };

const unlimited = { takeSynthesis: async () => ({ end() {} }) };

export async function openTestGateway(
  options: GatewayTestOptions = {},
  onClose: (close: () => Promise<void>) => void = onTestFinished,
) {
  const {
    trouble,
    engine: tuning,
    settings,
    checks = [],
    admit = (real) => real,
    speakingMax = 64,
    retentionMs = 86_400_000,
  } = options;
  const { isLimited = false, badKeysPerMinute = 60, signing, timeLimits } = options;
  const folder = mkdtempSync(join(tmpdir(), 'sonant-gateway-'));
  const storage = await createStorage(folder);
  const env = { ...storage.settings, SONANT_BAD_KEYS_PER_MINUTE: String(badKeysPerMinute) };
  const config = loadConfig({ env, folder, engines: [] });
  const store = await openStore(config);
  const opened = options.store ?? (await openClipStore(config));
  const tone = openTone({ ...tuning, ...(trouble && { trouble }) });
  const engine: Engine = { ...tone, voices: [...tone.voices, { ...tone.voices[0]!, ...farVoice }] };
  const faults: unknown[] = [];
  const onFault = (fault: unknown) => void faults.push(fault);
  const limits = { bytesMax: 0, accountBytesMax: 0, ...options.room };
  const sharedRows = await openSharedRows(config);
  const storedClips = createClips({ store, sharedRows, linkTo: undefined, ...opened, limits, onFault });
  const { index: rows, memory, room, purgeVoices } = storedClips;
  const { clips } = memory;
  const opening = new AsyncDisposableStack();
  const keeping = await openLibrary({ settings: config, opened: opening, onFault }, store, purgeVoices);
  const { engines = [engine] } = options;
  const voices = createVoices(engines, { ...keeping.sources, preferred: options.defaultVoice });
  const schedule = new Schedule({ speakingMax, waitingMax: 256 });
  const { openSigner } = options;
  const speech = createSpeech({
    voices,
    lexicons: keeping.sources.lexicons,
    schedule,
    marking: options.marking,
    verifier: options.verifier,
  });
  const baseUrl = 'http://sonant.test';
  const calls: EndedCall[] = [];
  const requests: EndedRequest[] = [];
  const usage = createUsageRows(store);
  const ledger = createUsageLedger(usage, { onFault, ...options.ledger });
  const spentSince = (keyId: string, sinceMs: number) => usage.charactersSince(keyId, dayOf(sinceMs));
  const sharing = openLimits({ settings: config, store, sharedRows, spentSince });
  const { limiter, addresses } = sharing;
  const keyVerifier = openKeys({ rows: createApiKeyRows(store) });
  const seal = createSeal('a secret of the tests');
  const signInRules = { subjects: [], domains: [], groups: [] };
  const signIn = createSignIn({ seal, issuer: undefined, signInRules, clients: [], keyScopes: [], ...signing });
  const realAdmit = admit(createAdmit({ keyVerifier, signIn, ...(isLimited && { limits: { limiter, addresses } }) }));
  const installs = await keeping.openModels({ definitions: [], opened: engines, onEvent() {} });
  const links = { baseUrl: () => baseUrl, keepMs: retentionMs };
  type OwnJobs = Partial<Omit<JobHandlersOptions, 'stored'>> & {
    store?: JobHandlersOptions['stored']['store'];
    clips?: Partial<JobHandlersOptions['stored']['clips']>;
  };
  const jobsOptions = ({ store: ownStore = store, clips: ownClips, ...more }: OwnJobs = {}): JobHandlersOptions => ({
    speech,
    stored: { store: ownStore, clips: { ...storedClips, ...ownClips }, ledger },
    links,
    openSigner,
    onFault,
    chaptersMax: 4,
    limiter: isLimited ? limiter : unlimited,
    findCaller: ({ ownerId, address }) => keyVerifier.verifyOwner(ownerId, address),
    ...more,
  });
  const openOwnJobs = (own?: OwnJobs) => openJobHandlers(jobsOptions(own));
  const readOwn = options.readOwnCertificates ?? (async () => (openSigner ? certificatesOf(openSigner) : []));
  const onCallEnd = (call: EndedCall) => void calls.push(call);
  const openedDelivery = storedClips.openDelivery({ speech, voices, links, openSigner });
  const api = openServiceApi({
    store,
    clips: openedDelivery,
    jobs: jobsOptions({ chaptersMax: options.jobChaptersMax ?? 4 }),
    running: { admit: realAdmit, isInForce: keyVerifier.isInForce, onCallEnd, timeLimits },
    core: { engines, voices, speech },
    accounts: {
      keys: keyVerifier.management,
      usage,
      ledger,
      limiter: isLimited ? limiter : unlimited,
      seal,
      webhookSecrets: createWebhookSecrets({ rows: createWebhookRows(store), seal }),
    },
    installs,
    voiceManagement: keeping.createManagement({ engines, voices, speech }, openedDelivery.delivery),
    lexicons: keeping.lexicons,
    onFault,
    provenance: { inspect: createInspect(readOwn, rows) },
  });
  const services = createServices({ api, isStrict: settings?.isStrict ?? false });
  store.listen('keys', () => {
    keyVerifier.forget();
    api.runner.checkKeys();
  });
  store.listen('voices', () => void keeping.voiceCache.refresh().catch(onFault));
  const gateway = await openGateway({
    api,
    addRpcRoutes: (app) => addRpcRoutes(app, services.createHandlers({ grpc: false })),
    admit: realAdmit,
    signing: { signIn, addresses },
    settings: {
      address: { host: '127.0.0.1', port: 0 },
      baseUrl: () => baseUrl,
      isStrict: false,
      allowedOrigins: [],
      ...settings,
    },
    watch: { checks, onRequestEnd: (request) => requests.push(request), readMetrics: () => '', onFault },
  });
  onClose(async () => {
    await gateway.drain(0);
    await api.close();
    await tone.close();
    await clips.close();
    await keyVerifier.close();
    await opening.disposeAsync();
    await storedClips.close();
    await ledger.close();
    await sharing.close();
    await sharedRows?.close();
    await store.close();
    rmSync(folder, { recursive: true });
  });

  const makeKey = async (scopes?: readonly string[]) => (await keyVerifier.create(scopes ? { scopes } : {})).key;
  const key = await makeKey();
  const url = `http://127.0.0.1:${gateway.port}`;
  /** Converts a public address to the real one. */
  const here = (address: string) => address.replace(baseUrl, url);
  /** A request with the key; a body is sent as JSON. */
  const send = (path: string, { body, headers, ...init }: Omit<RequestInit, 'body'> & { body?: unknown } = {}) =>
    fetch(here(path.startsWith('/') ? url + path : path), {
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      ...init,
      headers: { 'X-API-Key': key, ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
    });
  const speak = (body: object, init: Omit<RequestInit, 'body'> = {}) =>
    send('/api/audio/speech', { body: { voice_id: 'tone-low', ...body }, ...init });
  return {
    gateway,
    api,
    runner: api.runner,
    services,
    tone,
    schedule,
    keyVerifier,
    makeKey,
    key,
    url,
    here,
    send,
    speak,
    calls,
    requests,
    faults,
    folder,
    storage,
    store,
    /** The clip store, without the memory cache. */
    clips: opened.clips,
    isStored: (clipKey: string) => isStored(opened.clips, clipKey),
    rows,
    limiter,
    usage,
    ledger,
    room,
    sweep: storedClips.sweep,
    storedClips,
    speech,
    /** Sweeps the jobs as the service does from time to time. */
    async sweepJobs() {
      const jobs = openOwnJobs({ chaptersMax: 0 });
      await jobs.sweep();
      await jobs.close();
    },
    /** A second process that works on the jobs of the same stores. */
    openOwnJobs,
  };
}

export type TestGateway = Awaited<ReturnType<typeof openTestGateway>>;

export const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

export const errorOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { error: string }).error,
];

export const failureOf = async (response: Response) => {
  const { error, message } = (await response.json()) as { error: string; message: string };
  return [response.status, error, message];
};

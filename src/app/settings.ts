// The settings of the service, in the order in which commands list them. Engines declare their own settings.
import { totalmem } from 'node:os';
import { parseApiKey } from '../access/api-key.ts';
import { defaultScopes, isScope, scopes } from '../access/scopes.ts';
import { isAddressBlock } from '../net/client-addresses.ts';
import { defaultDataDir } from '../runtime/installation.ts';
import {
  addressSetting,
  choiceSetting,
  flagSetting,
  integerSetting,
  listSetting,
  optionalAddressSetting,
  textSetting,
} from '../runtime/setting-types.ts';
import { type LogLevel, logLevels } from '../telemetry/log.ts';

const secretCharsMin = 32;
/** Share of the memory that audio may use while it is being generated. */
const audioMemoryShare = 0.5;

const isWebUrl = (given: string) => /^https?:\/\/[^/]/.test(given) && URL.canParse(given);
const isUrlWithoutSlash = (given: string) => isWebUrl(given) && !given.endsWith('/');
/** Whether paths can be appended to the URL: it has no query, no fragment and no trailing slash. */
const isBaseUrl = (given: string) =>
  /^https?:\/\/[^/?#]+(\/[^?#]*)?$/.test(given) && !given.endsWith('/') && URL.canParse(given);

export const serviceSettings = {
  httpAddr: addressSetting({
    name: 'SONANT_HTTP_ADDR',
    help: 'Address of the HTTP listener: REST, SSE, Connect and gRPC-Web',
    fallback: '127.0.0.1:8080',
  }),
  grpcAddr: addressSetting({
    name: 'SONANT_GRPC_ADDR',
    help: 'Address of the gRPC listener',
    fallback: '127.0.0.1:50051',
  }),
  adminAddr: optionalAddressSetting({
    name: 'SONANT_ADMIN_ADDR',
    help: 'Address of a separate listener for /healthz, /readyz and /metrics, without TLS; /metrics is then served only there',
  }),
  connectionsPerAddress: integerSetting({
    name: 'SONANT_CONNECTIONS_PER_ADDRESS',
    help: 'Most connections of one client address (an IPv6 /64 network counts as one); not enforced with SONANT_BEHIND_PROXY',
    min: 1,
    max: 4096,
    fallback: 512,
  }),
  baseUrl: textSetting({
    name: 'SONANT_BASE_URL',
    help: 'Public base URL, the start of every link to audio; default: the HTTP address',
    allowed: 'an http or https URL without a slash at its end',
    isAllowed: isUrlWithoutSlash,
  }),
  tlsCert: textSetting({
    name: 'SONANT_TLS_CERT',
    help: 'File with the TLS certificate chain (PEM); with SONANT_TLS_KEY, both listeners use TLS',
    allowed: 'a path',
  }),
  tlsKey: textSetting({
    name: 'SONANT_TLS_KEY',
    help: 'File with the private key of the TLS certificate (PEM)',
    allowed: 'a path',
  }),
  isBehindProxy: flagSetting({
    name: 'SONANT_BEHIND_PROXY',
    help: 'A proxy terminates TLS: use the client address from X-Forwarded-For, and do not warn about serving without TLS',
  }),
  allowedOrigins: listSetting({
    name: 'SONANT_CORS_ORIGINS',
    help: 'Origins whose pages may call the API from a browser, separated by commas',
    allowed: 'origins such as https://example.com',
    isItem: (item) => URL.canParse(item) && new URL(item).origin === item,
  }),
  wyomingAddr: optionalAddressSetting({
    name: 'SONANT_WYOMING_ADDR',
    help: 'Address of the listener for Home Assistant (the Wyoming protocol), such as 127.0.0.1:10200; default: it is off',
  }),
  wyomingKey: textSetting({
    name: 'SONANT_WYOMING_KEY',
    help: 'API key used for all clients of SONANT_WYOMING_ADDR; needs the scopes speech:stream and voices:read',
    allowed: 'an API key as sonant key create prints them',
    isAllowed: (given) => parseApiKey(given) !== undefined,
    secret: true,
  }),
  wyomingAllow: listSetting({
    name: 'SONANT_WYOMING_ALLOW',
    help: 'Addresses, besides this machine, that may connect to SONANT_WYOMING_ADDR, where clients send no key; separated by commas',
    allowed: 'IP addresses and CIDR blocks such as 192.168.1.0/24',
    isItem: isAddressBlock,
  }),
  isStrict: flagSetting({
    name: 'SONANT_STRICT',
    help: 'Reject unknown fields and query parameters instead of listing them in X-Ignored-Fields',
  }),
  bootstrapKey: textSetting({
    name: 'SONANT_BOOTSTRAP_KEY',
    help: 'API key, in the form that sonant key create prints, accepted from the first start; a former bootstrap key is revoked',
    allowed: 'an API key as sonant key create prints them',
    isAllowed: (given) => parseApiKey(given) !== undefined,
    secret: true,
  }),
  firstKeyFile: textSetting({
    name: 'SONANT_FIRST_KEY_FILE',
    // The first start writes a key to the file.
    explicitOnly: true,
    help: 'File for the key that the first start creates, readable only by its owner; default: first-key in the data folder',
    allowed: 'a path',
  }),
  keyPepper: textSetting({
    name: 'SONANT_KEY_PEPPER',
    help: 'Secret for the hashes of API keys (HMAC); changing it invalidates all keys created with the old one',
    secret: true,
  }),
  masterKey: textSetting({
    name: 'SONANT_MASTER_KEY',
    help: 'Secret that encrypts cloned voices; default: the file master-key in the data folder, created when it is first needed',
    allowed: `at least ${secretCharsMin} characters`,
    isAllowed: (given) => given.length >= secretCharsMin,
    secret: true,
  }),
  areSecretsNew: flagSetting({
    name: 'SONANT_NEW_SECRETS',
    help: 'Accept secrets that differ from those used with the shared database before',
  }),
  badKeysPerMinute: integerSetting({
    name: 'SONANT_BAD_KEYS_PER_MINUTE',
    help: 'Attempts without a valid API key per address and minute; more are rejected with Retry-After',
    min: 1,
    max: 1_000_000,
    fallback: 60,
  }),
  oidcIssuer: textSetting({
    name: 'SONANT_OIDC_ISSUER',
    help: 'OpenID Connect issuer for the sign-in at /oauth/get-key; without it, create keys with sonant key',
    allowed: 'an https URL (http on this machine alone)',
    isAllowed: isWebUrl,
  }),
  oidcClientId: textSetting({
    name: 'SONANT_OIDC_CLIENT_ID',
    help: 'Client id of Sonant at the issuer; its redirect URI is SONANT_BASE_URL/oauth/callback',
  }),
  oidcClientSecret: textSetting({
    name: 'SONANT_OIDC_CLIENT_SECRET',
    help: 'Client secret of Sonant at the issuer; empty for a public client',
    secret: true,
  }),
  oidcAudience: textSetting({
    name: 'SONANT_OIDC_AUDIENCE',
    help: 'Audience that a token of the issuer must name to be exchanged; default: the client id',
  }),
  oidcSubjects: listSetting({
    name: 'SONANT_OIDC_SUBJECTS',
    help: 'Subjects who may create keys; * for everyone who can sign in at the issuer',
    allowed: 'subjects separated by commas, or *',
    isItem: (item) => item !== '',
  }),
  oidcDomains: listSetting({
    name: 'SONANT_OIDC_DOMAINS',
    help: 'Domains whose verified e-mail addresses may create keys',
    allowed: 'domains such as example.com',
    isItem: (item) => /^[a-z0-9.-]+\.[a-z0-9-]+$/i.test(item),
  }),
  oidcGroups: listSetting({
    name: 'SONANT_OIDC_GROUPS',
    help: 'Groups (the claim groups) whose members may create keys',
    allowed: 'groups separated by commas',
    isItem: (item) => item !== '',
  }),
  oauthClients: listSetting({
    name: 'SONANT_OAUTH_CLIENTS',
    help: 'Machines that may create keys with client credentials, each as id:SHA-256 of its secret in hexadecimal',
    allowed: 'id:64 hexadecimal digits, separated by commas',
    isItem: (item) => /^[\w.-]{1,64}:[0-9a-f]{64}$/i.test(item),
  }),
  oauthKeyScopes: listSetting({
    name: 'SONANT_OAUTH_KEY_SCOPES',
    help: `Scopes that keys created by signing in may have; default: ${[...defaultScopes, 'usage:read'].join(', ')}`,
    allowed: `scopes, of ${scopes.join(', ')}`,
    isItem: isScope,
  }),
  oidcInsecure: flagSetting({
    name: 'SONANT_OIDC_INSECURE',
    help: 'Allow an issuer without TLS on another machine',
  }),
  secret: textSetting({
    name: 'SONANT_SECRET',
    help: 'Secret that encrypts sign-in cookies, tokens, tickets and webhook secrets; the same for all replicas; default: generated and stored in the data folder',
    allowed: `empty, or at least ${secretCharsMin} characters`,
    secret: true,
    isAllowed: (given) => given.length >= secretCharsMin,
  }),
  audioKeepHours: integerSetting({
    name: 'SONANT_AUDIO_KEEP_HOURS',
    help: 'Hours until stored audio expires',
    min: 1,
    max: 8760,
    fallback: 24,
  }),
  audioMibMax: integerSetting({
    name: 'SONANT_AUDIO_MIB_MAX',
    help: 'MiB of stored audio in total; 0: half of the file system of the data folder, or no limit in a bucket',
    min: 0,
    max: 1_000_000_000,
    fallback: 0,
  }),
  lexiconsPerAccount: integerSetting({
    name: 'SONANT_LEXICONS_PER_ACCOUNT',
    help: 'Most lexicons of an account: a key that the operator created and all keys derived from it',
    min: 0,
    max: 10_000,
    fallback: 100,
  }),
  voicesPerAccount: integerSetting({
    name: 'SONANT_VOICES_PER_ACCOUNT',
    help: 'Most voices that an account may create; keys with the scope admin, and the command line, are not limited',
    min: 0,
    max: 10_000,
    fallback: 200,
  }),
  audioMibPerKey: integerSetting({
    name: 'SONANT_AUDIO_MIB_PER_KEY',
    help: 'MiB of stored audio of an account: a key and all keys derived from it; 0: a quarter of the total limit',
    min: 0,
    max: 1_000_000_000,
    fallback: 0,
  }),
  s3Bucket: textSetting({
    name: 'SONANT_S3_BUCKET',
    help: 'Bucket for stored audio; without it, audio is stored in the data folder',
    allowed: 'the name of a bucket',
    isAllowed: (given) => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(given),
  }),
  s3Endpoint: textSetting({
    name: 'SONANT_S3_ENDPOINT',
    help: "Address of the S3 service; default: Amazon's, in the region of AWS_REGION",
    allowed: 'an http or https URL without a slash at its end',
    isAllowed: isBaseUrl,
  }),
  s3Prefix: textSetting({
    name: 'SONANT_S3_PREFIX',
    help: 'Prefix of the keys in the bucket, such as sonant/',
    allowed: 'letters, digits, - _ . and /, ending but not beginning with /',
    isAllowed: (given) => /^([\w-][\w.-]*\/){1,20}$/.test(given),
  }),
  s3Links: choiceSetting<'proxy' | 'presigned' | 'public'>({
    name: 'SONANT_S3_LINKS',
    help: 'How audio URLs are served: proxy streams through Sonant, presigned and public redirect to the store',
    choices: ['proxy', 'presigned', 'public'],
    fallback: 'proxy',
  }),
  s3PublicUrl: textSetting({
    name: 'SONANT_S3_PUBLIC_URL',
    help: 'For public links, the address of the bucket; for presigned links, the address of the S3 service if clients use another than SONANT_S3_ENDPOINT',
    allowed: 'an http or https URL without a slash at its end',
    isAllowed: isBaseUrl,
  }),
  webhookAllow: listSetting({
    name: 'SONANT_WEBHOOK_ALLOW',
    help: 'Destinations of webhooks besides public addresses, also without TLS: host names, addresses and CIDR blocks, separated by commas',
    allowed: 'host names such as hooks.internal, addresses, or CIDR blocks such as 10.0.0.0/8',
    isItem: (item) => isAddressBlock(item) || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(item),
  }),
  leaveSeconds: integerSetting({
    name: 'SONANT_LEAVE_SECONDS',
    help: 'Seconds after SIGTERM during which requests are still accepted while /readyz reports not ready, for load balancers',
    min: 0,
    max: 3600,
    fallback: 0,
  }),
  drainSeconds: integerSetting({
    name: 'SONANT_DRAIN_SECONDS',
    help: 'Seconds that running requests have to finish when the service stops',
    min: 0,
    max: 3600,
    fallback: 20,
  }),
  logLevel: choiceSetting<LogLevel>({
    name: 'SONANT_LOG_LEVEL',
    help: 'Lowest level to log, on standard error',
    choices: logLevels,
    fallback: 'info',
  }),
  dataDir: textSetting({
    name: 'SONANT_DATA_DIR',
    // Its subfolder libraries/ contains code.
    explicitOnly: true,
    help: 'Folder for everything that Sonant stores; put your own voices into its subfolder voices/',
    allowed: 'a path',
    fallback: defaultDataDir(),
    isAllowed: (given) => given.trim() !== '',
  }),
  modelsFile: textSetting({
    name: 'SONANT_MODELS',
    explicitOnly: true,
    help: 'File with your own models to install, JSON or TOML; a model replaces the built-in model of the same name',
    allowed: 'a path that ends in .json or .toml',
    isAllowed: (given) => /\.(json|toml)$/i.test(given),
  }),
  modelsUrl: textSetting({
    name: 'SONANT_MODELS_URL',
    help: 'Mirror of the models: a URL to which Sonant appends /RELEASE/FILE, such as /tts-models/vits-piper-de_DE-thorsten-medium.tar.bz2',
    allowed: 'an http or https URL without a slash at its end',
    isAllowed: isUrlWithoutSlash,
  }),
  modelsOffline: flagSetting({
    name: 'SONANT_MODELS_OFFLINE',
    help: '1: download no models, neither through the API nor with sonant voice get, which still accepts files',
  }),
  fetchVoice: choiceSetting<'on' | 'off'>({
    name: 'SONANT_FETCH_VOICE',
    help: 'Whether a service without a natural voice fetches one in the background (about 20 MB)',
    choices: ['on', 'off'],
    fallback: 'on',
  }),
  databaseUrl: textSetting({
    name: 'SONANT_DATABASE_URL',
    help: 'PostgreSQL database, as postgres://user:password@host/name; default: SQLite, the file sonant.db in the data folder',
    allowed: 'a URL that begins with postgres://',
    isAllowed: (given) => /^postgres(ql)?:\/\/./.test(given),
    secret: true,
  }),
  databasePool: integerSetting({
    name: 'SONANT_DATABASE_POOL',
    help: 'Most connections of a process to PostgreSQL, besides one for LISTEN and four for limits',
    min: 1,
    max: 1000,
    fallback: 10,
  }),
  databaseStatementMs: integerSetting({
    name: 'SONANT_DATABASE_STATEMENT_MS',
    help: 'Time limit of a PostgreSQL statement, in milliseconds',
    min: 100,
    max: 600_000,
    fallback: 5_000,
  }),
  isDatabasePooled: flagSetting({
    name: 'SONANT_DATABASE_PGBOUNCER',
    help: 'The database is reached through PgBouncer or another transaction pooler: no session state, no LISTEN',
  }),
  provenance: choiceSetting<'on' | 'off'>({
    name: 'SONANT_PROVENANCE',
    help: 'Whether audio files state that they are synthetic speech, in their tags and in C2PA manifests. Laws may require this mark, such as Art. 50 of the EU AI Act',
    choices: ['on', 'off'],
    fallback: 'on',
  }),
  provenanceOperator: textSetting({
    name: 'SONANT_PROVENANCE_OPERATOR',
    help: 'Name of the operator, stated in the tags of audio files and in self-signed certificates; default: none is stated',
    allowed: 'up to 200 characters without control characters',
    isAllowed: (given) => /^[^\p{C}]{0,200}$/u.test(given),
  }),
  provenanceCert: textSetting({
    name: 'SONANT_PROVENANCE_CERT',
    help: 'File with the certificate chain (PEM, P-256) that signs C2PA manifests, the same for all replicas; default: a self-signed certificate in the data folder, made at the first use',
    allowed: 'a path',
  }),
  provenanceKey: textSetting({
    name: 'SONANT_PROVENANCE_KEY',
    help: 'File with the private key of SONANT_PROVENANCE_CERT (PEM)',
    allowed: 'a path',
  }),
  defaultVoice: textSetting({
    name: 'SONANT_DEFAULT_VOICE',
    help: 'Id or alias of the default voice, which is first in lists, the command line and the console, and speaks if a request may omit the voice. Overrides sonant voice default; default: that voice, or else the first voice of the first engine',
    allowed: 'the id or an alias of a voice',
  }),
  speakingMax: integerSetting({
    name: 'SONANT_SPEAKING_MAX',
    help: 'Requests that are synthesized at once; more wait',
    min: 1,
    max: 10_000,
    fallback: 64,
  }),
  waitingMax: integerSetting({
    name: 'SONANT_WAITING_MAX',
    help: 'Requests that wait for synthesis; more are rejected with Retry-After',
    min: 0,
    max: 100_000,
    fallback: 256,
  }),
  waitingSeconds: integerSetting({
    name: 'SONANT_WAITING_SECONDS',
    help: 'Longest wait for synthesis, in seconds; a request that would wait longer is rejected at once, with Retry-After',
    min: 1,
    max: 3600,
    fallback: 5,
  }),
  soundMemoryMb: integerSetting({
    name: 'SONANT_SOUND_MEMORY_MB',
    help: 'Most memory, in MB, for the audio of requests being synthesized; more requests wait. Default: half of the memory that the process may use',
    min: 1,
    max: 1_000_000,
    fallback: Math.max(1, Math.floor(audioMemoryShare * memoryMb())),
  }),
  jobChaptersMax: integerSetting({
    name: 'SONANT_JOB_CHAPTERS',
    help: 'Chapters of jobs that this process speaks at once, after interactive requests; 0 to leave jobs to other replicas',
    min: 0,
    max: 1000,
    fallback: 4,
  }),
};

/** Memory of the machine, or of the container if the container has less. */
function memoryMb(): number {
  const constrained = process.constrainedMemory();
  return Math.min(totalmem(), constrained > 0 ? constrained : Infinity) / 2 ** 20;
}

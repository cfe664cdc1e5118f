// The settings of the service, without those of the engines, in the order in which they are listed. A folder with several
// settings declares them itself.
import { totalmem } from 'node:os';
import { parseApiKey } from '../access/api-key.ts';
import { oauthSettings } from '../access/oauth-settings.ts';
import { redisSettings } from '../access/redis-settings.ts';
import { wyomingSettings } from '../compat/wyoming/wyoming-settings.ts';
import { s3Settings } from '../delivery/stores/s3-settings.ts';
import { modelsSettings } from '../models/models-settings.ts';
import {
  addressSetting,
  choiceSetting,
  flagSetting,
  integerSetting,
  listSetting,
  optionalAddressSetting,
  textSetting,
} from '../runtime/setting.ts';
import { databaseSettings } from '../store/database-settings.ts';
import { type LogLevel, logLevels } from '../telemetry/log.ts';
import { otlpSettings } from '../telemetry/otlp-settings.ts';
import { webhookSettings } from '../webhooks/webhook-settings.ts';

/** For sound that is made, of all memory. */
const memoryShare = 0.5;

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
    help: 'Address of a listener of its own for /healthz, /readyz and /metrics, without TLS; /metrics is then served only there',
  }),
  connectionsPerAddress: integerSetting({
    name: 'SONANT_CONNECTIONS_PER_ADDRESS',
    help: 'Connections of one client address, an IPv6 /64 network being one; not enforced with SONANT_BEHIND_PROXY',
    min: 1,
    max: 4096,
    fallback: 512,
  }),
  baseUrl: textSetting({
    name: 'SONANT_BASE_URL',
    help: 'Public base URL, which links to audio begin with; default: the HTTP address',
    allowed: 'an http or https URL without a slash at its end',
    isAllowed: (given) => /^https?:\/\/[^/]/.test(given) && !given.endsWith('/') && URL.canParse(given),
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
    help: 'A proxy terminates TLS: the client address is taken from X-Forwarded-For, and serving without TLS gives no warning',
  }),
  allowedOrigins: listSetting({
    name: 'SONANT_CORS_ORIGINS',
    help: 'Origins whose pages may call the API from a browser, separated by commas',
    allowed: 'origins such as https://example.com',
    isItem: (item) => URL.canParse(item) && new URL(item).origin === item,
  }),
  ...wyomingSettings,
  isStrict: flagSetting({
    name: 'SONANT_STRICT',
    help: 'Reject unknown fields and query parameters, instead of listing them in X-Ignored-Fields',
  }),
  bootstrapKey: textSetting({
    name: 'SONANT_BOOTSTRAP_KEY',
    help: 'An API key, in the form that sonant key create prints, that is accepted from the first start on; the former one is revoked',
    allowed: 'an API key as sonant key create prints them',
    isAllowed: (given) => parseApiKey(given) !== undefined,
    secret: true,
  }),
  keyPepper: textSetting({
    name: 'SONANT_KEY_PEPPER',
    help: 'Secret for the hashes of API keys (HMAC); a change invalidates the keys that were created with the old one',
    secret: true,
  }),
  masterKey: textSetting({
    name: 'SONANT_MASTER_KEY',
    help: 'Secret that encrypts cloned voices; default: the file master-key in the data folder, created when it is first needed',
    allowed: 'at least 32 characters',
    isAllowed: (given) => given.length >= 32,
    secret: true,
  }),
  areSecretsNew: flagSetting({
    name: 'SONANT_NEW_SECRETS',
    help: 'Accept that the secrets differ from those the shared database was created with',
  }),
  badKeysPerMinute: integerSetting({
    name: 'SONANT_BAD_KEYS_PER_MINUTE',
    help: 'Attempts without a valid API key per address and minute; further ones are rejected with Retry-After',
    min: 1,
    max: 1_000_000,
    fallback: 60,
  }),
  ...oauthSettings,
  ...redisSettings,
  audioKeepHours: integerSetting({
    name: 'SONANT_AUDIO_KEEP_HOURS',
    help: 'Hours until stored audio expires',
    min: 1,
    max: 8760,
    fallback: 24,
  }),
  audioMibMax: integerSetting({
    name: 'SONANT_AUDIO_MIB_MAX',
    help: 'MiB of stored audio in all; 0: half of the file system of the data folder, in a bucket no limit',
    min: 0,
    max: 1_000_000_000,
    fallback: 0,
  }),
  lexiconsPerAccount: integerSetting({
    name: 'SONANT_LEXICONS_PER_ACCOUNT',
    help: 'Lexicons of an account: a key that the operator made and all keys that descend from it',
    min: 0,
    max: 10_000,
    fallback: 100,
  }),
  voicesPerAccount: integerSetting({
    name: 'SONANT_VOICES_PER_ACCOUNT',
    help: 'Voices that an account may make; keys with the scope admin, and the command line, are not limited',
    min: 0,
    max: 10_000,
    fallback: 200,
  }),
  audioMibPerKey: integerSetting({
    name: 'SONANT_AUDIO_MIB_PER_KEY',
    help: 'MiB of stored audio of a key and all keys that it created; 0: a quarter of the limit in all',
    min: 0,
    max: 1_000_000_000,
    fallback: 0,
  }),
  ...s3Settings,
  ...webhookSettings,
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
    help: 'Lowest level that is logged, on standard error',
    choices: logLevels,
    fallback: 'info',
  }),
  dataDir: textSetting({
    name: 'SONANT_DATA_DIR',
    help: 'Folder for everything that Sonant stores; put your own voices into its subfolder voices/',
    allowed: 'a path',
    fallback: './data',
    isAllowed: (given) => given.trim() !== '',
  }),
  ...modelsSettings,
  ...databaseSettings,
  defaultVoice: textSetting({
    name: 'SONANT_DEFAULT_VOICE',
    help: 'Id or alias of the default voice: lists, the command line and the console begin with it, and it speaks where an API lets the voice out. It goes before the voice of sonant voice default; else that one, or the first of the first engine',
    allowed: 'the id or an alias of a voice',
  }),
  speakingMax: integerSetting({
    name: 'SONANT_SPEAKING_MAX',
    help: 'Requests that are synthesized at once; further ones wait',
    min: 1,
    max: 10_000,
    fallback: 64,
  }),
  waitingMax: integerSetting({
    name: 'SONANT_WAITING_MAX',
    help: 'Requests that wait for synthesis; further ones are rejected with Retry-After',
    min: 0,
    max: 100_000,
    fallback: 256,
  }),
  waitingSeconds: integerSetting({
    name: 'SONANT_WAITING_SECONDS',
    help: 'Seconds that a request waits until synthesis begins; one that would wait longer is rejected at once, with Retry-After',
    min: 1,
    max: 3600,
    fallback: 5,
  }),
  soundMemoryMb: integerSetting({
    name: 'SONANT_SOUND_MEMORY_MB',
    help: 'Memory, in MB, that the sound of all that is synthesized at once may take at most; further requests wait. Default: half of what the process may use',
    min: 1,
    max: 1_000_000,
    fallback: Math.max(1, Math.floor(memoryShare * memoryMb())),
  }),
  ...otlpSettings,
  jobChaptersMax: integerSetting({
    name: 'SONANT_JOB_CHAPTERS',
    help: 'Chapters of jobs that this process speaks at once, after interactive requests; 0 to leave jobs to other replicas',
    min: 0,
    max: 1000,
    fallback: 4,
  }),
};

/** Of the machine or, if that is less, of the container. */
function memoryMb(): number {
  const constrained = process.constrainedMemory();
  return Math.min(totalmem(), constrained > 0 ? constrained : Infinity) / 2 ** 20;
}

// The settings that are no engine's, in the order in which they are told. A room with several of its own declares them
// itself, and they are only named here.

import { s3Settings } from '../clips/s3-settings.ts';
import { parseApiKey } from '../keys/api-key.ts';
import { redisSettings } from '../limits/redis-settings.ts';
import { addressSetting, choiceSetting, flagSetting, integerSetting, listSetting, textSetting } from '../setting.ts';
import { oauthSettings } from '../sign-in/oauth-settings.ts';
import { databaseSettings } from '../store/database-settings.ts';
import { type LogLevel, logLevels } from '../telemetry/log.ts';

export const ownSettings = {
  httpAddr: addressSetting({
    name: 'SONANT_HTTP_ADDR',
    help: 'Where REST, SSE, Connect and gRPC-Web are served',
    fallback: '127.0.0.1:8080',
  }),
  grpcAddr: addressSetting({
    name: 'SONANT_GRPC_ADDR',
    help: 'Where gRPC is served',
    fallback: '127.0.0.1:50051',
  }),
  baseUrl: textSetting({
    name: 'SONANT_BASE_URL',
    help: 'What the public addresses of audio begin with; default: the HTTP address',
    allowed: 'an http or https URL without a slash at its end',
    fallback: '',
    isAllowed: (given) =>
      given === '' || (/^https?:\/\/[^/]/.test(given) && !given.endsWith('/') && URL.canParse(given)),
  }),
  tlsCert: textSetting({
    name: 'SONANT_TLS_CERT',
    help: 'File with the TLS certificate chain (PEM); with SONANT_TLS_KEY, both doors speak TLS',
    allowed: 'a path',
    fallback: '',
  }),
  tlsKey: textSetting({
    name: 'SONANT_TLS_KEY',
    help: 'File with the key of the TLS certificate (PEM)',
    allowed: 'a path',
    fallback: '',
  }),
  isBehindProxy: flagSetting({
    name: 'SONANT_BEHIND_PROXY',
    help: 'A proxy in front does the TLS: no warning for serving without it',
  }),
  allowedOrigins: listSetting({
    name: 'SONANT_CORS_ORIGINS',
    help: 'Origins whose pages may call from a browser, with commas between them',
    allowed: 'origins such as https://example.com',
    isItem: (item) => URL.canParse(item) && new URL(item).origin === item,
  }),
  isStrict: flagSetting({
    name: 'SONANT_STRICT',
    help: 'Refuse members of a request that mean nothing, in place of naming them in X-Ignored-Fields',
  }),
  bootstrapKey: textSetting({
    name: 'SONANT_BOOTSTRAP_KEY',
    help: 'A well-formed API key that is accepted from the first start on',
    allowed: 'an API key as sonant key create prints them',
    fallback: '',
    isAllowed: (given) => given === '' || parseApiKey(given) !== undefined,
    secret: true,
  }),
  keyPepper: textSetting({
    name: 'SONANT_KEY_PEPPER',
    help: 'Secret that hashes of API keys are made with; keys made with another one end with a change',
    fallback: '',
    secret: true,
  }),
  masterKey: textSetting({
    name: 'SONANT_MASTER_KEY',
    help: 'Secret that voices of people are encrypted with; default: the file master-key in the data folder, made when it is first needed',
    allowed: 'at least 32 characters',
    fallback: '',
    isAllowed: (given) => given === '' || given.length >= 32,
    secret: true,
  }),
  areSecretsNew: flagSetting({
    name: 'SONANT_NEW_SECRETS',
    help: 'On a shared database, the secrets are meant to be others than before',
  }),
  badKeysPerMinute: integerSetting({
    name: 'SONANT_BAD_KEYS_PER_MINUTE',
    help: 'Attempts without a valid API key that an address may make in a minute; further ones are told to wait',
    min: 1,
    max: 1_000_000,
    fallback: 60,
  }),
  ...oauthSettings,
  ...redisSettings,
  audioKeepHours: integerSetting({
    name: 'SONANT_AUDIO_KEEP_HOURS',
    help: 'Hours that stored audio is kept',
    min: 1,
    max: 8760,
    fallback: 24,
  }),
  ...s3Settings,
  leaveSeconds: integerSetting({
    name: 'SONANT_LEAVE_SECONDS',
    help: 'Seconds that it goes on taking requests when it is told to stop, while /readyz says no, so that balancers hear of it',
    min: 0,
    max: 3600,
    fallback: 0,
  }),
  drainSeconds: integerSetting({
    name: 'SONANT_DRAIN_SECONDS',
    help: 'Seconds that requests may go on when the service is told to stop',
    min: 0,
    max: 3600,
    fallback: 20,
  }),
  logLevel: choiceSetting<LogLevel>({
    name: 'SONANT_LOG_LEVEL',
    help: 'The least that is logged, on standard error',
    choices: logLevels,
    fallback: 'info',
  }),
  dataDir: textSetting({
    name: 'SONANT_DATA_DIR',
    help: 'Folder for everything that Sonant keeps; your own voices go into its folder voices/',
    allowed: 'a path',
    fallback: './data',
    isAllowed: (given) => given.trim() !== '',
  }),
  ...databaseSettings,
  speakingMax: integerSetting({
    name: 'SONANT_SPEAKING_MAX',
    help: 'Requests that speak at once; further ones wait',
    min: 1,
    max: 10_000,
    fallback: 64,
  }),
  waitingMax: integerSetting({
    name: 'SONANT_WAITING_MAX',
    help: 'Requests that wait for their turn; further ones are told to come back',
    min: 0,
    max: 100_000,
    fallback: 256,
  }),
};

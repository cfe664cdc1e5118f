// The settings of the transports: listeners, TLS, CORS and the Wyoming protocol.
import { apiKeySetting } from '../accounts/settings.ts';
import { isAddressBlock } from '../platform/net/client-addresses.ts';
import {
  addressSetting,
  flagSetting,
  integerSetting,
  listSetting,
  optionalAddressSetting,
  pathSetting,
  urlSetting,
} from '../platform/runtime/setting-types.ts';

export const transportSettings = {
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
    range: [1, 4096],
    fallback: 512,
  }),
  baseUrl: urlSetting({
    name: 'SONANT_BASE_URL',
    help: 'Public base URL, the start of every link to audio; default: the HTTP address',
  }),
  tlsCert: pathSetting({
    name: 'SONANT_TLS_CERT',
    help: 'File with the TLS certificate chain (PEM); with SONANT_TLS_KEY, both listeners use TLS',
  }),
  tlsKey: pathSetting({
    name: 'SONANT_TLS_KEY',
    help: 'File with the private key of the TLS certificate (PEM)',
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
  wyomingKey: apiKeySetting({
    name: 'SONANT_WYOMING_KEY',
    help: 'API key used for all clients of SONANT_WYOMING_ADDR; needs the scopes speech:stream and voices:read',
  }),
  wyomingAllow: listSetting({
    name: 'SONANT_WYOMING_ALLOW',
    help: 'Addresses, besides this machine, that may connect to SONANT_WYOMING_ADDR, where clients send no key; separated by commas',
    allowed: 'IP addresses and CIDR blocks such as 192.168.1.0/24',
    isItem: isAddressBlock,
  }),
  publicVoices: flagSetting({
    name: 'SONANT_PUBLIC_VOICES',
    help: 'List public voices and models at /v1/audio/voices and /v1/audio/models without a key, for clients such as Open WebUI',
  }),
  voiceNames: listSetting({
    name: 'SONANT_VOICE_NAMES',
    help: "Voices that speak for OpenAI's voice names, besides aliases; default: Kokoro's voices where they are installed, else the default voice",
    allowed: 'pairs such as alloy=clara, separated by commas',
    isItem: (item) => /^[^\s=]+\s*=\s*[^\s=]+$/.test(item),
  }),
  isStrict: flagSetting({
    name: 'SONANT_STRICT',
    help: 'Reject unknown fields and query parameters instead of listing them in X-Ignored-Fields',
  }),
};

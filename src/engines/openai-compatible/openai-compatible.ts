// Any server with OpenAI's HTTP interface for speech: OpenAI itself, or a server of your own with open models (Kokoro-FastAPI,
// vLLM-Omni, speaches, LocalAI). It is requested to send raw samples, 16 bits and one channel, as they are made; speed,
// sample rate and format are applied outside the engine, since such servers differ in them.
import { Failure, toFailure } from '../../errors.ts';
import { integerSetting, listSetting, textSetting } from '../../runtime/setting.ts';
import { defineEngine, type Engine, type EngineReport, type ServerTools, type Voice } from '../engine.ts';
import { barePcm } from '../pcm-stream.ts';
import { openVoiceList } from '../voice-list.ts';
import { findAddresses } from './server-addresses.ts';
import { createServerGroup, type ServerGroupOptions } from './server-group.ts';
import { createSpeechServer, type ListedVoice, type SpeechServer } from './speech-server.ts';

const name = 'openai-compatible';
const inspectMsMax = 10_000;
const segmentCharsMax = 600;

export interface OpenAiCompatibleOptions {
  url: string;
  apiKey: string;
  model: string;
  /** The voices to offer; empty for those that the server lists. */
  voices: readonly string[];
  languages: readonly string[];
  sampleRateHz: number;
  /** 0 is no limit. */
  requestsPerMinute: number;
  requestsAtOnce: number;
}

const toVoice = ({ id, name: listedName }: ListedVoice, { model, languages }: OpenAiCompatibleOptions): Voice => ({
  voiceId: id,
  name: listedName,
  description: `Speaks by the model ${model}.`,
  kind: 'stock',
  engine: name,
  languageCodes: languages,
  labels: { model },
  version: model,
  gainDb: 0,
});

export async function openOpenAiCompatible(
  options: OpenAiCompatibleOptions,
  grouping: ServerTools & Partial<ServerGroupOptions> = {},
): Promise<Engine> {
  const { url, sampleRateHz, requestsPerMinute, requestsAtOnce } = options;
  const server = createServerGroup({
    urls: urlsOf(url),
    createServer: (one) => createSpeechServer({ ...options, url: one }),
    secondsOf: ({ length }) => length / 2 / sampleRateHz,
    requestsAtOnce,
    ...grouping,
  });
  const list = await openVoiceList({
    load: async (signal) => (await findVoices(server, options, signal)).map((voice) => toVoice(voice, options)),
  });

  return {
    name,
    get voices() {
      return list.voices();
    },
    capabilities: {
      speakingRates: { min: 1, max: 1 },
      timings: false,
      readsNumbers: true,
      segmentCharsMax,
      segmentsAtOnce: 2,
      get segmentsSpokenMax() {
        return server.seats;
      },
      ...(requestsPerMinute > 0 && { segmentsPerMinute: requestsPerMinute }),
    },
    get servers() {
      return server.servers;
    },
    speak: ({ voice, text }, signal) => barePcm(server.speak({ voice: voice.voiceId, text }, signal), sampleRateHz),
    async close() {
      list.close();
      server.close();
    },
  };
}

const urlsOf = (url: string) => url.split(',').map((one) => one.trim());

/** The voices that are configured, or else those that the server lists. */
async function findVoices(
  server: SpeechServer,
  { url, voices }: OpenAiCompatibleOptions,
  signal: AbortSignal,
): Promise<ListedVoice[]> {
  if (voices.length > 0) return voices.map((id) => ({ id, name: id }));
  const listed = await server.listVoices(signal);
  if (listed && listed.length > 0) return listed;
  const message = `${url} does not say which voices it has; name them in SONANT_OPENAI_VOICES`;
  throw new Failure('engine_unavailable', { message });
}

/** Why it does not work, for the operator. */
function whyNot(error: unknown, { url }: OpenAiCompatibleOptions): string {
  const { facts, message, cause } = toFailure(error);
  // When a server is not reached, `fetch` has the reason in the cause of its error.
  const detail = cause instanceof Error ? ((cause.cause as Error | undefined)?.message ?? cause.message) : message;
  return facts.message ?? `${url}: ${detail}`;
}

async function open(options: OpenAiCompatibleOptions, tools?: ServerTools): Promise<Engine> {
  try {
    return await openOpenAiCompatible(options, tools);
  } catch (error) {
    throw new Failure('engine_unavailable', { message: whyNot(error, options) }, toFailure(error).cause);
  }
}

async function inspect(options: OpenAiCompatibleOptions): Promise<EngineReport> {
  if (options.url === '') return { state: 'absent', message: 'SONANT_OPENAI_URL names no server' };
  try {
    const signal = AbortSignal.timeout(inspectMsMax);
    let voices = options.voices;
    for (const url of await findAddresses({ urls: urlsOf(options.url) })) {
      const server = createSpeechServer({ ...options, url });
      // Even where voices are configured, only the server's answer shows that it is there.
      const listed = await server.listVoices(signal);
      if (options.voices.length === 0) voices = (listed ?? []).map(({ id }) => id);
      if (voices.length === 0) await findVoices(server, options, signal);
    }
    return { state: 'ready', message: `${options.url}, ${voices.length} voices` };
  } catch (error) {
    return { state: 'broken', message: whyNot(error, options) };
  }
}

const isUrl = (given: string) => /^(dns\+)?https?:\/\/[^/]/.test(given) && !given.endsWith('/') && URL.canParse(given);
const languagesUsual = ['en'];
const isLanguage = (text: string) => /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(text);

export const openAiCompatible = defineEngine({
  name,
  isOptional: true,
  settings: {
    url: textSetting({
      name: 'SONANT_OPENAI_URL',
      help: 'A server that speaks OpenAI’s interface for speech, such as http://localhost:8880/v1, or several with commas between them; dns+http:// stands for all addresses of the name',
      allowed: 'http, https or dns+http URLs without a slash at their ends',
      isAllowed: (given) => urlsOf(given).every(isUrl),
    }),
    apiKey: textSetting({
      name: 'SONANT_OPENAI_API_KEY',
      help: 'The API key of that server',
      secret: true,
    }),
    model: textSetting({ name: 'SONANT_OPENAI_MODEL', help: 'The model that it is to speak by', fallback: 'tts-1' }),
    voices: listSetting({
      name: 'SONANT_OPENAI_VOICES',
      help: 'Its voices to offer; default: those that it lists',
      allowed: 'ids of 1 to 128 characters with commas between them',
      isItem: (item) => item.length <= 128,
    }),
    languages: listSetting({
      name: 'SONANT_OPENAI_LANGUAGES',
      help: 'Languages that its voices speak; default: en',
      allowed: 'BCP-47 codes such as en or de-AT, with commas between them',
      isItem: isLanguage,
    }),
    sampleRateHz: integerSetting({
      name: 'SONANT_OPENAI_SAMPLE_RATE',
      help: 'Sample rate of the bare samples that it sends, in hertz',
      min: 8_000,
      max: 48_000,
      fallback: 24_000,
    }),
    requestsPerMinute: integerSetting({
      name: 'SONANT_OPENAI_PER_MINUTE',
      help: 'Requests that it takes in a minute; 0 is no limit',
      min: 0,
      max: 100_000,
      fallback: 0,
    }),
    requestsAtOnce: integerSetting({
      name: 'SONANT_OPENAI_AT_ONCE',
      help: 'Requests that each server takes at once',
      min: 1,
      max: 10_000,
      fallback: 8,
    }),
  },
  inspect: (settings) => inspect(settings),
  open: async (settings, _dataDir, _log, tools) => {
    if (settings.url === '') return undefined;
    const languages = settings.languages.length > 0 ? settings.languages : languagesUsual;
    return open({ ...settings, languages }, tools);
  },
});

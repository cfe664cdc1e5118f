// Any server with OpenAI's HTTP interface for speech: OpenAI itself, or your own server with open models (vLLM-Omni,
// SGLang-Omni, Kokoro-FastAPI, speaches, LocalAI). Speed, sample rate and format are applied outside the engine, since
// the servers differ in their support. Voices are cloned by servers that accept recordings.

import { Failure, toFailure } from '../../platform/errors.ts';
import { choiceSetting, integerSetting, listSetting, textSetting } from '../../platform/runtime/setting-types.ts';
import { createMetrics, type Metrics } from '../../platform/telemetry/prometheus.ts';
import {
  defineEngine,
  type Engine,
  type EngineLog,
  type EngineReport,
  type EngineServer,
  type Segment,
  type Voice,
} from '../engine.ts';
import { openVoiceList } from '../voice-list.ts';
import { findAddresses } from './server-addresses.ts';
import { createServerGroup, type ServerGroupOptions, warmUpMsMax, warmUpText } from './server-group.ts';
import {
  createSpeechServer,
  type ListedVoice,
  type ServerListing,
  type SpeechServer,
  type SpeechServerOptions,
  soundForms,
} from './speech-server.ts';
import { createUploadCloning, type UploadedVoice, unpackRecording } from './uploaded-voices.ts';

const name = 'openai-compatible';
const inspectMsMax = 10_000;
const segmentCharsMax = 600;
/** The warm-up is delayed so that commands that only list voices exit before it starts. */
const warmUpAfterMs = 1_000;
const deleteMsMax = 5_000;
/** A server's voices and abilities may change when it restarts. */
const refreshMs = 5 * 60_000;

export interface OpenAiCompatibleOptions extends SpeechServerOptions {
  /** The voices to offer; empty to offer the voices that the server lists. */
  voices: readonly string[];
  languages: readonly string[];
  /** 0 means no limit. */
  requestsPerMinute: number;
  requestsAtOnce: number;
  refreshMs?: number;
}

const toVoice = (
  { id, name: listedName }: ListedVoice,
  { model, languages }: { model: string; languages: readonly string[] },
): Voice => ({
  voiceId: id,
  name: listedName,
  description: `Speaks with the model ${model}.`,
  kind: 'stock',
  engine: name,
  languageCodes: languages,
  labels: { model },
  version: model,
  gainDb: 0,
});

export async function openOpenAiCompatible(
  options: OpenAiCompatibleOptions,
  grouping: Partial<ServerGroupOptions> = {},
  log?: EngineLog,
  metrics: Metrics = createMetrics(),
): Promise<Engine> {
  const { url, languages, requestsPerMinute, requestsAtOnce } = options;
  const server = createServerGroup({
    urls: urlsOf(url),
    createServer: (one) => createSpeechServer({ ...options, url: one }),
    requestsAtOnce,
    ...watchStreams(metrics),
    ...grouping,
  });
  watchServers(metrics, () => server.servers);
  const closing = new AbortController();
  const clones = createCloneCopies(server, log);
  const cloning = createUploadCloning({ languageCodes: languages, upload: server.uploadClone, forget: clones.forget });
  let canClone = false;
  let foundModel = options.model;
  const list = await openVoiceList({
    server: { engine: name, log },
    async load(signal) {
      const { model, voices, uploaded } = await findVoices(server, options, signal);
      canClone = uploaded !== undefined;
      foundModel = model;
      void clones.sweep(uploaded ?? []);
      return voices.map((voice) => toVoice(voice, { model, languages }));
    },
    refreshMs: options.refreshMs ?? refreshMs,
    mayBeEmpty: true,
  });
  const warmUp = async () => {
    const [first] = list.voices();
    if (!first || options.sampleRateHz > 0) return;
    // A failure is ignored here, because the first request from a caller reports it.
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(warmUpMsMax)]);
    await Array.fromAsync(server.speak({ voice: first.voiceId, text: warmUpText }, signal)).catch(() => {});
  };
  const timer = setTimeout(warmUp, warmUpAfterMs).unref();

  return {
    name,
    get voices() {
      return list.voices();
    },
    capabilities: {
      speakingRates: { min: 1, max: 1 },
      // OpenAI's tts-1 models and Kokoro follow no instructions. Kokoro and all of OpenAI's models accept no seed.
      get instructions() {
        return !/^tts-1|kokoro/i.test(foundModel);
      },
      get seed() {
        return !/^(tts-1|gpt-)|kokoro/i.test(foundModel);
      },
      timings: false,
      readsNumbers: true,
      segmentCharsMax,
      segmentsAtOnce: 2,
      get segmentsSpokenMax() {
        return server.seats;
      },
      ...(requestsPerMinute > 0 && { segmentsPerMinute: requestsPerMinute }),
    },
    get cloning() {
      return canClone ? cloning : undefined;
    },
    get servers() {
      return server.servers;
    },
    async *speak({ voice, text, instructions, seed, clone }: Segment, signal) {
      const manner = { instructions, seed };
      if (!clone) return yield* server.speak({ voice: voice.voiceId, text, ...manner }, signal);
      const recording = unpackRecording(clone);
      clones.noteUse(recording.name);
      yield* server.speak({ voice: recording.name, text, ...manner, clone: recording }, signal);
    },
    async close() {
      clearTimeout(timer);
      closing.abort(new Failure('engine_unavailable'));
      list.close();
      server.close();
    },
  };
}

/** Counts the streams of servers. The time series of a removed server are deleted. */
function watchStreams(metrics: Metrics): Pick<ServerGroupOptions, 'onStream' | 'onServerGone'> {
  const firstSoundHelp = 'Time to the first sound of a request at a server of an engine.';
  const firstSound = metrics.distribution('sonant_engine_server_first_sound_seconds', firstSoundHelp);
  const underrunHelp = 'Sum of the gaps that a listener would hear in a stream of a server of an engine.';
  const underrun = metrics.distribution('sonant_engine_underrun_seconds', underrunHelp);
  return {
    onStream(server, { firstSoundMs, underrunSeconds }) {
      if (firstSoundMs === undefined) return;
      firstSound({ engine: name, server }, firstSoundMs / 1000);
      underrun({ engine: name, server }, underrunSeconds);
    },
    onServerGone(server) {
      for (const observe of [firstSound, underrun]) observe.forget({ engine: name, server });
    },
  };
}

function watchServers(metrics: Metrics, list: () => readonly EngineServer[]): void {
  const gauge = (metric: string, help: string, value: 'outstanding' | 'waiting' | 'limit') =>
    metrics.gauge(metric, help, () =>
      list().map((each) => [{ engine: name, server: each.name }, each[value]] as const),
    );
  const outstandingHelp = 'Requests of this process under way at a server of an engine.';
  gauge('sonant_engine_server_outstanding', outstandingHelp, 'outstanding');
  const waitingHelp = 'Requests of this process under way at a server of an engine, without any sound yet.';
  gauge('sonant_engine_server_waiting', waitingHelp, 'waiting');
  const limitHelp = 'Requests of this process that a server of an engine gets at once; 0 while it gets none.';
  gauge('sonant_engine_server_limit', limitHelp, 'limit');
}

/** Deletes the copies of clones on servers. A copy that could not be deleted is deleted when a server lists it. */
function createCloneCopies(server: SpeechServer, log: EngineLog | undefined) {
  const forgotten = new Set<string>();
  const remove = async (cloneName: string) => {
    try {
      await server.deleteClone(cloneName, AbortSignal.timeout(deleteMsMax));
    } catch (error) {
      const { message } = (toFailure(error).cause as Error | undefined) ?? (error as Error);
      log?.('warn', 'a clone could not be deleted from a server; trying again later', { clone: cloneName, message });
    }
  };
  return {
    /**
     * Called when a clone is spoken, because another voice that was imported from the same file may still use a
     * forgotten clone.
     */
    noteUse: (cloneName: string) => void forgotten.delete(cloneName),
    forget(cloneName: string): Promise<void> {
      forgotten.add(cloneName);
      return remove(cloneName);
    },
    async sweep(uploaded: readonly UploadedVoice[]): Promise<void> {
      for (const each of uploaded) if (forgotten.has(each.name)) await remove(each.name);
    },
  };
}

const urlsOf = (url: string) => url.split(',').map((one) => one.trim());

/** The configured voices, or else the voices that the server lists. */
async function findVoices(
  server: SpeechServer,
  { url, voices, model }: OpenAiCompatibleOptions,
  signal: AbortSignal,
): Promise<ServerListing & { voices: ListedVoice[] }> {
  const listed = await server.listVoices(signal).catch((error): ServerListing => {
    if (voices.length === 0 || model === '') throw error;
    return { model, voices: undefined, uploaded: undefined };
  });
  if (voices.length > 0) return { ...listed, voices: voices.map((id) => ({ id, name: id })) };
  // A model that can only clone has no voices of its own.
  const mayBeEmpty = listed.uploaded !== undefined;
  if (listed.voices && (mayBeEmpty || listed.voices.length > 0)) return { ...listed, voices: listed.voices };
  const message = `${url} does not list its voices; name them in SONANT_OPENAI_VOICES`;
  throw new Failure('engine_unavailable', { message });
}

/** The reason why the server does not work, for the operator. */
function whyNot(error: unknown, { url }: OpenAiCompatibleOptions): string {
  const { facts, message, cause } = toFailure(error);
  // If a server cannot be reached, the cause of the `fetch` error contains the reason.
  const detail = cause instanceof Error ? ((cause.cause as Error | undefined)?.message ?? cause.message) : message;
  return facts.message ?? `${url}: ${detail}`;
}

async function inspect(options: OpenAiCompatibleOptions): Promise<EngineReport> {
  if (options.url === '') return { state: 'absent', message: 'SONANT_OPENAI_URL is not set' };
  try {
    const signal = AbortSignal.timeout(inspectMsMax);
    let report = '';
    for (const url of await findAddresses({ urls: urlsOf(options.url) })) {
      const server = createSpeechServer({ ...options, url, deletesClones: false });
      // The voices are listed even if voices are configured, because only a response shows that the server works.
      await server.listVoices(signal);
      const { model, voices, uploaded } = await findVoices(server, options, signal);
      report = `model ${model}, ${voices.length} voices${uploaded ? ', can clone voices' : ''}`;
    }
    return { state: 'ready', message: `${options.url}, ${report}` };
  } catch (error) {
    return { state: 'broken', message: whyNot(error, options) };
  }
}

// `dns+https` is not allowed, because a certificate is valid for a name, not for the addresses of the name.
const isUrl = (given: string) =>
  /^(https?|dns\+http):\/\/[^/]/.test(given) && !given.endsWith('/') && URL.canParse(given);
const languagesUsual = ['en'];
const isLanguage = (text: string) => /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(text);

export const openAiCompatible = defineEngine({
  name,
  isOptional: true,
  settings: {
    url: textSetting({
      name: 'SONANT_OPENAI_URL',
      help: 'Server with OpenAI’s speech API, such as http://localhost:8880/v1, or several servers separated by commas; dns+http:// stands for all addresses of the host name',
      allowed: 'http, https or dns+http URLs, separated by commas, without a slash at the end',
      isAllowed: (given) => urlsOf(given).every(isUrl),
    }),
    apiKey: textSetting({
      name: 'SONANT_OPENAI_API_KEY',
      help: 'API key of the server',
      secret: true,
    }),
    model: textSetting({
      name: 'SONANT_OPENAI_MODEL',
      help: 'Model to request from the server; default: the model that the server lists, or tts-1',
    }),
    form: choiceSetting<SpeechServerOptions['form']>({
      name: 'SONANT_OPENAI_FORMAT',
      help: 'Format of the server’s audio: pcm, wav or sse for a stream, or file for a complete WAV; auto: pcm, or file if the server refuses pcm',
      choices: ['auto', ...soundForms],
      fallback: 'auto',
    }),
    voices: listSetting({
      name: 'SONANT_OPENAI_VOICES',
      help: 'Voices of the server to offer; default: all voices that it lists',
      allowed: 'ids of 1 to 128 characters, separated by commas',
      isItem: (item) => item.length <= 128,
    }),
    languages: listSetting({
      name: 'SONANT_OPENAI_LANGUAGES',
      help: 'Languages of the server’s voices; default: en',
      allowed: 'BCP-47 codes such as en or de-AT, separated by commas',
      isItem: isLanguage,
    }),
    sampleRateHz: integerSetting({
      name: 'SONANT_OPENAI_SAMPLE_RATE',
      help: 'Sample rate of raw samples in hertz, if the server does not state it; 0: measured with one sentence',
      range: [0, 48_000],
      fallback: 0,
    }),
    requestsPerMinute: integerSetting({
      name: 'SONANT_OPENAI_PER_MINUTE',
      help: 'Requests a minute that the server accepts; 0: no limit',
      range: [0, 100_000],
      fallback: 0,
    }),
    requestsAtOnce: integerSetting({
      name: 'SONANT_OPENAI_AT_ONCE',
      help: 'Requests at once that each server accepts from this process',
      range: [1, 10_000],
      fallback: 8,
    }),
  },
  inspect: (settings) => inspect(settings),
  open: async (settings, _dataDir, log, metrics) => {
    if (settings.url === '') return undefined;
    const languages = settings.languages.length > 0 ? settings.languages : languagesUsual;
    return openOpenAiCompatible({ ...settings, languages }, {}, log, metrics);
  },
});

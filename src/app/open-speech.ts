// Opens speech: engines, voices and synthesis.
import packageFile from '../../package.json' with { type: 'json' };
import { createEngineGuards, type Engine, type EngineDefinition, type EngineLog, type Voice } from '../engines.ts';
import { createMetrics, type Metrics } from '../platform/telemetry/prometheus.ts';
import {
  createSpeech,
  createVoices,
  type Lexicons,
  type Marking,
  Schedule,
  type StoredVoices as VoiceSource,
} from '../speech.ts';
import type { Config } from './config.ts';

interface OpenSpeechOptions {
  config: Config;
  definitions: readonly EngineDefinition[];
  stored?: VoiceSource | undefined;
  lexicons?: Lexicons | undefined;
  readChanges?: (() => Promise<unknown>) | undefined;
  metrics?: Metrics;
  /** Wraps each engine, for tracing. */
  wrap?: (engine: Engine) => Engine;
  log?: EngineLog;
}

export async function openSpeech(options: OpenSpeechOptions) {
  const { config, definitions, stored, lexicons, readChanges, metrics = createMetrics(), wrap, log } = options;
  const guards = createEngineGuards(metrics);
  await using opened = new AsyncDisposableStack();
  const results = await Promise.allSettled(
    definitions.map(async (definition) => {
      const bare = await openEngine(config, definition, log, metrics);
      const engine = bare && wrap ? wrap(bare) : bare;
      if (engine) opened.defer(guards(engine).close);
      return engine;
    }),
  );
  const engines = results.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value ?? [];
  });
  const { defaultVoice } = config;
  const onLeftOut = (leftOut: readonly Voice[]) => {
    const message = 'voices are left out, because another engine has voices with the same ids';
    log?.('warn', message, {
      count: leftOut.length,
      voices: leftOut.slice(0, 10).map(({ engine, voiceId }) => `${voiceId} of ${engine}`),
    });
  };
  const voices = createVoices(engines, { stored, readChanges, preferred: defaultVoice, onLeftOut });
  // Voices are left out with a warning at the start, not with the first request.
  voices.leftOut();
  if (defaultVoice !== '' && !voices.lookUp(defaultVoice))
    log?.('warn', 'the voice of SONANT_DEFAULT_VOICE does not exist; using another default voice', {
      defaultVoice,
    });
  const { speakingMax, waitingMax, waitingSeconds, soundMemoryMb } = config;
  const schedule = new Schedule({ speakingMax, waitingMax, bytesMax: soundMemoryMb * 2 ** 20, metrics });
  metrics.gauge('sonant_engine_waiting', 'Requests and segments waiting for a slot of an engine.', () => {
    const { engines: lines } = schedule.state;
    return engines.map(
      ({ name }) => [{ engine: name }, lines.find((line) => line.name === name)?.waiting ?? 0] as const,
    );
  });
  const speech = createSpeech({
    voices,
    lexicons,
    schedule,
    guards,
    marking: markingOf(config),
    waitMsMax: waitingSeconds * 1000,
  });
  const kept = opened.move();
  return { engines, voices, guards, schedule, speech, close: () => kept.disposeAsync() };
}

/** The provenance marks for generated audio; undefined if marking is off. */
const markingOf = ({ provenance, provenanceOperator: operator }: Config): Marking | undefined =>
  provenance === 'off' ? undefined : { software: `Sonant ${packageFile.version}`, operator };

/** Opens an engine. A broken optional engine is skipped if none of its settings is set; `sonant doctor` reports it. */
async function openEngine(
  config: Config,
  { name, settings, isOptional, open }: EngineDefinition,
  log: EngineLog | undefined,
  metrics: Metrics,
) {
  try {
    return await open(config.engines[name]!, config.dataDir, log, metrics);
  } catch (error) {
    const own = new Set<unknown>(Object.values(settings));
    const isConfigured = config.inForce.some(({ setting, source }) => own.has(setting) && source !== 'default');
    if (!isOptional || isConfigured) throw error;
    log?.('warn', 'engine unavailable; continuing without it', { engine: name, fault: error });
    return undefined;
  }
}

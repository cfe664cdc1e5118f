// Opens speech: the engines that are available, their voices and the stored ones, and synthesis.
import type { Engine, EngineDefinition, EngineLog } from '../engines/engine.ts';
import { createEngineGuards, type EngineWatch } from '../speech/engine-guard.ts';
import type { Lexicons } from '../speech/lexicons.ts';
import { createSlots, type SlotsOptions } from '../speech/queue/slots.ts';
import type { StoredVoices } from '../speech/stored-voices.ts';
import { createSpeech } from '../speech/synthesize.ts';
import { createVoices } from '../speech/voice.ts';
import type { Config } from './config.ts';

export type OpenedSpeech = Awaited<ReturnType<typeof openSpeech>>;

export interface OpenSpeechOptions {
  config: Config;
  definitions: readonly EngineDefinition[];
  stored?: StoredVoices | undefined;
  lexicons?: Lexicons | undefined;
  readChanges?: (() => Promise<unknown>) | undefined;
  watch?: EngineWatch;
  onAdmit?: SlotsOptions['onAdmit'];
  /** Measures an engine from outside. */
  wrap?: (engine: Engine) => Engine;
  log?: EngineLog;
}

export async function openSpeech(options: OpenSpeechOptions) {
  const { config, definitions, stored, lexicons, readChanges, watch, onAdmit, wrap, log } = options;
  const guards = createEngineGuards(watch);
  await using opened = new AsyncDisposableStack();
  const results = await Promise.allSettled(
    definitions.map(async (definition) => {
      const bare = await openEngine(config, definition, log);
      const engine = bare && wrap ? wrap(bare) : bare;
      if (engine) opened.defer(() => guards(engine).close());
      return engine;
    }),
  );
  const engines = results.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value ?? [];
  });
  const { defaultVoice } = config;
  const voices = createVoices(engines, { stored, readChanges, preferred: defaultVoice });
  if (defaultVoice !== '' && !voices.lookUp(defaultVoice))
    log?.('warn', 'the voice of SONANT_DEFAULT_VOICE is not there; until it is, another is the default', {
      defaultVoice,
    });
  const { speakingMax, waitingMax, waitingSeconds, soundMemoryMb } = config;
  const slots = createSlots({ speakingMax, waitingMax, bytesMax: soundMemoryMb * 2 ** 20, onAdmit });
  const speech = createSpeech({ voices, lexicons, slots, guards, waitMsMax: waitingSeconds * 1000 });
  const kept = opened.move();
  return { engines, voices, guards, slots, speech, close: () => kept.disposeAsync() };
}

/** An optional engine that is broken is skipped if none of its settings is set; `sonant doctor` reports it. */
async function openEngine(
  config: Config,
  { name, settings, isOptional, open }: EngineDefinition,
  log: EngineLog | undefined,
) {
  try {
    return await open(config.engines[name]!, config.dataDir, log);
  } catch (error) {
    const own = new Set<unknown>(Object.values(settings));
    const isConfigured = config.inForce.some(({ setting, source }) => own.has(setting) && source !== 'default');
    if (!isOptional || isConfigured) throw error;
    log?.('warn', 'an engine is broken and left out', { engine: name, fault: error });
    return undefined;
  }
}

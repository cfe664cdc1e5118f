// The heart alone: the engines that are there, the voices they bring and those that are kept in the database, and speech.
import type { Config } from '../config.ts';
import type { Engine, EngineDefinition } from '../engines/engine.ts';
import { createEngineGuards, type EngineGuards, type EngineWatch } from '../speech/engine-guard.ts';
import { createSlots, type Slots } from '../speech/slots.ts';
import { createSpeech, type Speech } from '../speech/synthesize.ts';
import { createVoices, type ListStored, type Voices } from '../speech/voice.ts';

export interface OpenedSpeech {
  engines: readonly Engine[];
  voices: Voices;
  guards: EngineGuards;
  slots: Slots;
  speech: Speech;
  close(): Promise<void>;
}

export interface OpenSpeechOptions {
  config: Config;
  definitions: readonly EngineDefinition[];
  listStored?: ListStored | undefined;
  watch?: EngineWatch;
}

export async function openSpeech({ config, definitions, listStored, watch }: OpenSpeechOptions): Promise<OpenedSpeech> {
  const guards = createEngineGuards(watch);
  await using opened = new AsyncDisposableStack();
  const results = await Promise.allSettled(
    definitions.map(async (definition) => {
      const engine = await openEngine(config, definition);
      if (engine) opened.defer(() => guards(engine).close());
      return engine;
    }),
  );
  const engines = results.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value ?? [];
  });
  const voices = createVoices(engines, listStored);
  const { speakingMax, waitingMax } = config;
  const slots = createSlots({ speakingMax, waitingMax });
  const speech = createSpeech({ voices, slots, guards });
  const kept = opened.move();
  return { engines, voices, guards, slots, speech, close: () => kept.disposeAsync() };
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

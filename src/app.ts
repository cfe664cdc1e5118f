// Builds the service from a Config: the only file that knows everyone. What it opens, it closes in reverse.
import type { Config } from './config.ts';
import type { Engine, EngineDefinition } from './engines/engine.ts';
import { createSlots } from './speech/slots.ts';
import { createSpeech, type Speech } from './speech/synthesize.ts';
import { createVoices, type Voices } from './speech/voice.ts';

export interface App {
  voices: Voices;
  speech: Speech;
  close(): Promise<void>;
}

export async function openApp(config: Config, definitions: readonly EngineDefinition[]): Promise<App> {
  const engines: Engine[] = [];
  const close = async () => {
    for (const engine of engines.toReversed()) await engine.close();
  };
  try {
    for (const definition of definitions) {
      const engine = await openEngine(config, definition);
      if (engine) engines.push(engine);
    }
    const voices = createVoices(engines);
    const { speakingMax, waitingMax } = config;
    const speech = createSpeech({ voices, slots: createSlots({ speakingMax, waitingMax }) });
    return { voices, speech, close };
  } catch (error) {
    await close();
    throw error;
  }
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

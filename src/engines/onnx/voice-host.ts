// The workers that speak: for all voices together as many as the setting allows, each with a voice's model in memory;
// the worker that was used longest ago makes room for another voice. One more thread for each accent reads phonemes.
import { Host } from '../../runtime/host.ts';
import { processLink, threadLink } from '../../runtime/worker-links.ts';
import type { PhonemeWord } from '../../text/phonemes/english.ts';
import type { SpokenPcm } from '../engine.ts';
import type { Accent } from './kokoro-letters.ts';
import { compileRuntime, type FoundRuntime, type WasmModule } from './onnx-runtime.ts';
import type { PhonemeStart, PhonemeTask } from './phoneme-worker.ts';
import { phonemesMax, toSpokenParts } from './spoken-parts.ts';
import type { VoiceStart, VoiceTask } from './voice-worker.ts';

/** A text and how to speak it. */
export interface AskedSpeech extends PhonemeTask, Omit<VoiceTask, 'parts' | 'level'> {
  accent: Accent;
  /** The gain that will bring the voice to its loudness; it decides what is silence. */
  gainDb: number;
}

export interface VoiceHost {
  /** Speaks with a model. */
  speak(model: string, asked: AskedSpeech, signal: AbortSignal, isBackground?: boolean): AsyncGenerator<SpokenPcm>;
  /** Starts a worker for the model, and one for an accent. */
  open(model: string, accent: Accent): Promise<void>;
  /** Ends the workers of the model after their tasks. */
  end(model: string): void;
  close(): Promise<void>;
}

const startMsMax = 60_000;
/** A worker stops after a window, which takes up to 150 ms. */
const stopMsMax = 1_000;
/** Sound is what is louder than this after the gain. */
const soundDbfs = -40;

/** `folderOf` returns the folder of a model. */
export function openVoiceHost(
  { is, entry }: FoundRuntime,
  workersMax: number,
  folderOf: (model: string) => string,
): VoiceHost {
  let compiled: Promise<WasmModule> | undefined;
  const voices: Host<VoiceTask, SpokenPcm> = new Host<VoiceTask, SpokenPcm>({
    open({ group, isBackground }) {
      const folder = folderOf(group);
      const file = new URL('./voice-worker.ts', import.meta.url);
      if (is === 'wasm') {
        compiled ??= compileRuntime(entry);
        const data = compiled.then((module): VoiceStart => ({ folder, runtime: { is, entry, module } }));
        return threadLink<VoiceTask, SpokenPcm>({ file, data, isBackground });
      }
      const { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
      const env = { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH, NODE_COMPILE_CACHE };
      const data: VoiceStart = { folder, runtime: { is, entry } };
      return processLink<VoiceTask, SpokenPcm>({ name: "the voice's process", file, env, data, isBackground });
    },
    workersMax,
    startMsMax,
    stopMsMax,
    makeRoom: (idle) =>
      idle
        .toSorted((one, other) => one.usedAtMs - other.usedAtMs)
        .slice(0, Math.max(0, voices.workers.length - workersMax)),
  });
  /** Folders that have the dictionaries of an accent: those of the models that were asked for last. */
  const dictionaries = new Map<string, PhonemeStart>();
  const phonemes = new Host<PhonemeTask, readonly PhonemeWord[]>({
    open({ group, isBackground }) {
      const file = new URL('./phoneme-worker.ts', import.meta.url);
      return threadLink({ file, data: Promise.resolve(dictionaries.get(group)!), isBackground });
    },
    workersMax: 1,
    startMsMax,
    stopMsMax,
  });

  return {
    async *speak(model, { text, phonemes: stated, accent, gainDb, ...how }, signal, isBackground = false) {
      const task = { text, ...(stated && { phonemes: stated }) };
      dictionaries.set(accent, { folder: folderOf(model), accent });
      const [words = []] = await Array.fromAsync(phonemes.run(task, signal, { group: accent }));
      const parts = toSpokenParts(text, words, phonemesMax);
      const level = 10 ** ((soundDbfs - gainDb) / 20);
      if (parts.length > 0) yield* voices.run({ parts, level, ...how }, signal, { group: model, isBackground });
    },
    async open(model, accent) {
      dictionaries.set(accent, { folder: folderOf(model), accent });
      await Promise.all([voices.open(model), phonemes.open(accent)]);
    },
    end: (model) => voices.end(model),
    async close() {
      await Promise.all([voices.close(), phonemes.close()]);
    },
  };
}

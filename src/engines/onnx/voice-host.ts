// The workers that speak: for all voices together as many as the setting allows, each with a voice's model in memory;
// the worker that was used longest ago makes room for another voice. One more thread for each accent reads phonemes.
import { Host } from '../../runtime/host.ts';
import { processLink, threadLink } from '../../runtime/worker-links.ts';
import type { PhonemeWord } from '../../text/phonemes/english.ts';
import type { SpokenPcm } from '../engine.ts';
import { compileRuntime, type FoundRuntime, type WasmModule } from './onnx-runtime.ts';
import type { PhonemeStart, PhonemeTask } from './phoneme-worker.ts';
import { phonemesMax, toSpokenParts } from './spoken-parts.ts';
import type { VoiceStart, VoiceTask } from './voice-worker.ts';

/** A text and how to speak it. */
export interface AskedSpeech extends PhonemeTask, Omit<VoiceTask, 'parts' | 'level'> {
  /** The gain that will bring the voice to its loudness; it decides what is silence. */
  gainDb: number;
}

export interface VoiceHost {
  /** Speaks with the voice of a group. */
  speak(group: string, asked: AskedSpeech, signal: AbortSignal, isBackground?: boolean): AsyncGenerator<SpokenPcm>;
  /** Starts a worker for the voice. */
  open(group: string): Promise<void>;
  /** Ends the workers of the voice after their tasks. */
  end(group: string): void;
  close(): Promise<void>;
}

const startMsMax = 60_000;
/** A worker stops after a window, which takes up to 150 ms. */
const stopMsMax = 1_000;
/** Sound is what is louder than this after the gain. */
const soundDbfs = -40;

/** `voiceOf` returns the folder and the accent of a voice, by the name of its group. */
export function openVoiceHost(
  { is, entry }: FoundRuntime,
  workersMax: number,
  voiceOf: (group: string) => PhonemeStart,
): VoiceHost {
  let compiled: Promise<WasmModule> | undefined;
  const voices: Host<VoiceTask, SpokenPcm> = new Host<VoiceTask, SpokenPcm>({
    open({ group, isBackground }) {
      const { folder } = voiceOf(group);
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
  const phonemes = new Host<PhonemeTask, readonly PhonemeWord[]>({
    open({ group, isBackground }) {
      const file = new URL('./phoneme-worker.ts', import.meta.url);
      return threadLink({ file, data: Promise.resolve(voiceOf(group)), isBackground });
    },
    workersMax: 1,
    startMsMax,
    stopMsMax,
  });
  /** The group of the first voice of each accent reads the phonemes for all. */
  const readers = new Map<string, string>();
  const readerOf = (group: string): string => {
    const { accent } = voiceOf(group);
    const reader = readers.get(accent) ?? group;
    readers.set(accent, reader);
    return reader;
  };

  return {
    async *speak(group, { text, phonemes: stated, gainDb, ...how }, signal, isBackground = false) {
      const task = { text, ...(stated && { phonemes: stated }) };
      const [words = []] = await Array.fromAsync(phonemes.run(task, signal, { group: readerOf(group) }));
      const parts = toSpokenParts(text, words, phonemesMax);
      const level = 10 ** ((soundDbfs - gainDb) / 20);
      if (parts.length > 0) yield* voices.run({ parts, level, ...how }, signal, { group, isBackground });
    },
    async open(group) {
      await Promise.all([voices.open(group), phonemes.open(readerOf(group))]);
    },
    end: (group) => voices.end(group),
    async close() {
      await Promise.all([voices.close(), phonemes.close()]);
    },
  };
}

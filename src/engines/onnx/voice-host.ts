// The workers that speak: for all voices together as many as the setting allows, each with a voice's model in memory;
// the worker that was used longest ago makes room for another voice. One more thread for each accent reads phonemes.
import { Failure, toFailure } from '../../platform/errors.ts';
import { Host } from '../../platform/runtime/host.ts';
import { processLink, threadLink } from '../../platform/runtime/worker-links.ts';
import type { WasmModule } from '../../platform/web-assembly.ts';
import type { SpokenPcm } from '../engine.ts';
import { libraryUsual, missingPackage } from '../espeak-ng/espeak-ng.ts';
import type { PhonemeWord } from '../phonemes/tokens.ts';
import { toLetterWords } from './espeak-words.ts';
import type { EspeakStart } from './espeak-worker.ts';
import { toForeignLetters } from './kokoro-letters.ts';
import { compileRuntime, type FoundRuntime } from './onnx-runtime.ts';
import type { PhonemeStart, PhonemeTask } from './phoneme-worker.ts';
import { toPiperIpa } from './piper-letters.ts';
import type { Reading } from './reading.ts';
import type { SpokenPart, SpokenWord } from './utterance-sound.ts';
import type { VoiceStart, VoiceTask } from './voice-worker.ts';

// Joins the phonemes of words to the parts that a model computes at once.

/** The models are trained with up to 510 phonemes; shorter parts start sooner. */
const phonemesMax = 400;

const punctuation = /^[;:,.!?—…"“”()]+$/;
const pause = /^[;:,.!?—…]/;

/** Parts of at most `phonemesMax` phonemes; they end after a pause, or else after a word. */
function toSpokenParts(text: string, words: readonly PhonemeWord[]): SpokenPart[] {
  const parts: SpokenPart[] = [];
  for (let left = words.flatMap(splitWord); left.length > 0; ) {
    const count = countThatFit(left);
    const part = toPart(text, left.slice(0, count));
    if (part.words.length > 0) parts.push(part);
    left = left.slice(count);
  }
  return parts;
}

/** Splits an endless word, and its range with it. */
function splitWord(word: PhonemeWord): PhonemeWord[] {
  const { start, end, phonemes } = word;
  const count = Math.ceil(phonemes.length / phonemesMax);
  if (count < 2) return [word];
  const at = (n: number) => start + Math.round(((end - start) * n) / count);
  return Array.from({ length: count }, (_, n) => ({
    start: at(n),
    end: at(n + 1),
    phonemes: phonemes.slice(n * phonemesMax, (n + 1) * phonemesMax),
  }));
}

function countThatFit(words: readonly PhonemeWord[]): number {
  let length = 0;
  let afterPause = 0;
  for (const [n, { phonemes }] of words.entries()) {
    length += phonemes.length + 1;
    if (length > phonemesMax + 1 && n > 0) return afterPause || n;
    if (pause.test(phonemes)) afterPause = n + 1;
  }
  return words.length;
}

function toPart(text: string, entries: readonly PhonemeWord[]): SpokenPart {
  const phonemes: string[] = [];
  const words: SpokenWord[] = [];
  for (const [n, entry] of entries.entries()) {
    const next = entries[n + 1];
    const first = phonemes.length;
    phonemes.push(...entry.phonemes);
    const end = phonemes.length;
    const isBeforeSpace = next !== undefined && /\s/.test(text.slice(entry.end, next.start));
    if (isBeforeSpace) phonemes.push(' ');
    if (punctuation.test(entry.phonemes)) continue;
    const isBeforePause = next === undefined || pause.test(next.phonemes);
    words.push({ from: entry.start, to: entry.end, first, end, isBeforeSpace, isBeforePause });
  }
  return { phonemes, words };
}

/** A text and how to speak it. */
export interface AskedSpeech extends PhonemeTask, Omit<VoiceTask, 'parts' | 'level'> {
  reading: Reading;
  /** The gain that will bring the voice to its loudness; it decides what is silence. */
  gainDb: number;
}

export interface VoiceHost {
  speak(model: string, asked: AskedSpeech, signal: AbortSignal, isBackground?: boolean): AsyncGenerator<SpokenPcm>;
  /** Starts a worker for the model, and one for its phonemes, unless there are some. */
  open(model: string, reading: Reading): Promise<void>;
  /** Ends the workers of the model after their tasks. */
  end(model: string): void;
  close(): Promise<void>;
}

const startMsMax = 60_000;
/** A worker stops after a stage of a window, which takes up to 150 ms. */
const stopMsMax = 1_000;
const keptBytes = 2 ** 26;
/** Sound is what is louder than this after the gain. */
const soundDbfs = -40;

/** A request may have started a worker already. */
async function openOne<Task, Piece>(host: Host<Task, Piece>, group: string): Promise<void> {
  if (!host.workers.some((worker) => worker.group === group)) await host.open(group);
}

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
      // Separate arenas for the threads of Node would take 15 MiB more. Memory that is given back after each run costs 5
      // percent of the CPU time, but the file of a model must be given back.
      const memory = {
        MALLOC_ARENA_MAX: '1',
        MALLOC_MMAP_THRESHOLD_: `${keptBytes / 4}`,
        MALLOC_TRIM_THRESHOLD_: `${keptBytes}`,
      };
      const env = { PATH, LD_LIBRARY_PATH, DYLD_LIBRARY_PATH, NODE_COMPILE_CACHE, ...memory };
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
  /** How each worker of phonemes starts: with the dictionaries of the model that was asked for last. */
  const readers = new Map<string, PhonemeStart | EspeakStart>();
  const phonemes = new Host<PhonemeTask, readonly PhonemeWord[]>({
    open({ group, isBackground }) {
      const start = readers.get(group)!;
      if ('accent' in start) {
        const file = new URL('./phoneme-worker.ts', import.meta.url);
        return threadLink({ file, data: Promise.resolve(start), isBackground });
      }
      const { HOME, ESPEAK_DATA_PATH, LD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
      const env = { HOME, ESPEAK_DATA_PATH, LD_LIBRARY_PATH, NODE_COMPILE_CACHE };
      const file = new URL('./espeak-worker.ts', import.meta.url);
      return processLink({ name: 'the process of eSpeak NG', file, env, data: start, isBackground });
    },
    workersMax: 1,
    startMsMax,
    stopMsMax,
  });
  /** The group of the workers that read so; undefined if no worker is needed. */
  function readerOf(model: string, reading: Reading): string | undefined {
    if (reading.by === 'letters') return undefined;
    const [group, start] =
      reading.by === 'english'
        ? [reading.accent, { folder: folderOf(model), accent: reading.accent }]
        : [`espeak ${reading.voice}`, { library: libraryUsual, voice: reading.voice }];
    readers.set(group, start);
    return group;
  }
  async function read(model: string, reading: Reading, task: PhonemeTask, signal: AbortSignal) {
    const group = readerOf(model, reading);
    if (group === undefined) return toLetterWords(task.text, task.phonemes);
    try {
      const [words = []] = await Array.fromAsync(phonemes.run(task, signal, { group }));
      if (reading.by === 'english' && reading.notation === 'piper') return toPiperIpa(words, task.text, reading.accent);
      if (reading.by !== 'espeak' || reading.notation !== 'kokoro') return words;
      return words.map((word) => ({ ...word, phonemes: toForeignLetters(word.phonemes) }));
    } catch (error) {
      const missing = reading.by === 'espeak' && missingPackage(String(toFailure(error).cause));
      if (!missing) throw error;
      const message = `This voice needs the phonemes of eSpeak NG: ${missing}.`;
      throw new Failure('engine_unavailable', { message }, error);
    }
  }

  return {
    async *speak(model, { text, phonemes: stated, reading, gainDb, ...how }, signal, isBackground = false) {
      const words = await read(model, reading, { text, ...(stated && { phonemes: stated }) }, signal);
      const parts = toSpokenParts(text, words);
      const level = 10 ** ((soundDbfs - gainDb) / 20);
      if (parts.length > 0) yield* voices.run({ parts, level, ...how }, signal, { group: model, isBackground });
    },
    async open(model, reading) {
      const group = readerOf(model, reading);
      await Promise.all([openOne(voices, model), group !== undefined && openOne(phonemes, group)]);
    },
    end: (model) => voices.end(model),
    async close() {
      await Promise.all([voices.close(), phonemes.close()]);
    },
  };
}

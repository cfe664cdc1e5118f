// eSpeak NG: small, fast, more than a hundred languages. The operator must install it; it is never bundled, because of
// its GPL licence. Its library runs in small child processes, one segment at a time in each, and gives exact word
// times. The engine is absent if the library is not installed.
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Failure, toFailure } from '../../platform/errors.ts';
import { Host } from '../../platform/runtime/host.ts';
import { pipeLink } from '../../platform/runtime/worker-links.ts';
import {
  defineEngine,
  type Engine,
  type EngineReport,
  type Segment,
  type SpokenPcm,
  type WordTime,
} from '../engine.ts';
import { withoutInnerStops } from '../inner-stops.ts';
import { toEspeakPhonemes } from './espeak-phonemes.ts';
import { parseEspeakVoices } from './espeak-voices.ts';
import { type LibraryFacts, type LibraryRequest, libraryCodec, type SoundMark } from './library-frames.ts';

export interface EspeakNgOptions {
  /** Name or path of the library. */
  library?: string;
  processesMax?: number;
  idleMsMax?: number;
  /** How long a process may work on an aborted segment before it is killed. */
  stopMsMax?: number;
  /** Called with the id of each process that is started. */
  onStart?(pid: number | undefined): void;
}

type LibraryHost = Host<LibraryRequest, Int16Array, LibraryFacts, SoundMark[]>;

export const libraryUsual = 'libespeak-ng.so.1';
/** eSpeak NG's default of 100 makes the loudest voices clip. */
const amplitude = 80;
const usualWordsPerMinute = 175;
/**
 * Two processes more than cores: while one process waits for the service to read its audio and to send the next
 * sentence, another process can use the core.
 */
const processesUsual = availableParallelism() + 2;
const startMsMax = 30_000;
const stopMsUsual = 2_000;
const idleMsUsual = 600_000;
/** A process needs little memory and only one thread. */
const childFlags = ['--max-semi-space-size=1', '--max-old-space-size=64', '--v8-pool-size=0'];
const childFile = fileURLToPath(new URL('./library-child.ts', import.meta.url));
/** A sentence takes milliseconds, so a process that sends nothing for this long hangs. */
const firstSoundMsMax = 30_000;
const segmentCharsMax = 240;
/** Speed factors that are accurate to within 3 %. At other speeds, the error varies between texts. */
const speakingRates = { min: 0.92, max: 1.08 };

/** The real speed grows with words per minute to the power of 1.07 (measured with version 1.51). */
const toWordsPerMinute = (rate: number): number => Math.round(usualWordsPerMinute * rate ** (1 / 1.07));

/** Pitch factors. Factor 1 is 50 on eSpeak NG's scale of 0 to 99, and an octave is 69 (measured with version 1.51). */
const pitches = { min: 0.61, max: 1.6 };
const toPitch = (factor: number): number => Math.round(50 + 69 * Math.log2(factor));

const messageOf = (error: unknown): string => (toFailure(error).cause as Error).message;

const koffiMissing = 'koffi is not installed';

/** The missing library and the package that contains it; undefined for other faults. */
export function missingPackage(fault: string): string | undefined {
  if (fault === koffiMissing) return `${koffiMissing}; install it with "npm install koffi"`;
  return /no such file|image not found/i.test(fault)
    ? `${libraryUsual} is not installed; install it with "apt install libespeak-ng1"`
    : undefined;
}

/**
 * Opens the engine; undefined if the library is not installed. Throws if the library does not work, or if a configured
 * library is missing.
 */
export async function openEspeakNg(options: EspeakNgOptions = {}): Promise<Engine | undefined> {
  try {
    return await openLibrary(options);
  } catch (error) {
    const { library = libraryUsual } = options;
    if (library === libraryUsual && missingPackage(messageOf(error))) return undefined;
    throw error;
  }
}

async function openLibrary(options: EspeakNgOptions): Promise<Engine> {
  const { library = libraryUsual, processesMax = processesUsual } = options;
  findLoader();
  const host = openHost({ ...options, library, processesMax });
  const { version, sampleRateHz, voiceTable } = await host.open();
  const voices = parseEspeakVoices(voiceTable);
  const files = new Map(voices.map(({ voiceId, file }) => [voiceId, file]));

  return {
    name: 'espeak-ng',
    voices: voices.map(({ file: _, ...voice }) => ({ ...voice, version })),
    capabilities: {
      isSynthetic: true,
      speakingRates,
      pitches,
      timings: true,
      isRepeatable: true,
      readsNumbers: true,
      segmentCharsMax,
      // Audio arrives while a segment is being spoken, so a short segment would not start earlier.
      firstSegmentCharsMax: segmentCharsMax,
      segmentsAtOnce: 2,
      firstSoundMsMax,
      segmentsSpokenMax: processesMax,
    },
    toPhonemes: (ipa, _voice, languageCode) => toEspeakPhonemes(ipa, languageCode),
    async *speak(segment, signal): AsyncGenerator<SpokenPcm> {
      const spoken = toSpokenText({ ...segment, text: withoutInnerStops(segment.text) });
      if (spoken.text === '') return;
      const { text, timings } = segment;
      const pieces = host.run(toRequest(segment, spoken, files.get(segment.voice.voiceId)!), signal);
      let sampleCount = 0;
      try {
        for (;;) {
          const { done, value } = await pieces.next();
          if (!done) {
            sampleCount += value.length;
            yield { samples: value, sampleRateHz };
          } else {
            if (!timings || sampleCount === 0) return;
            const words = toWordTimes(text, spoken.sourceIndices(), { marks: value, sampleRateHz, sampleCount });
            return yield { samples: new Int16Array(), sampleRateHz, words };
          }
        }
      } finally {
        await pieces.return([]);
      }
    },
    close: () => host.close(),
  };
}

function toRequest(segment: Segment, { text }: SpokenText, voice: string): LibraryRequest {
  const { speakingRate, pitch = 1, timings } = segment;
  const wordsPerMinute = toWordsPerMinute(speakingRate);
  return { text, voice, wordsPerMinute, amplitude, pitch: toPitch(pitch), marks: timings };
}

function openHost(options: EspeakNgOptions & { library: string; processesMax: number }): LibraryHost {
  const { library, processesMax, idleMsMax = idleMsUsual, stopMsMax = stopMsUsual, onStart } = options;
  const { HOME, ESPEAK_DATA_PATH, LD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
  return new Host({
    open() {
      const link = pipeLink({
        name: `the process of ${library}`,
        command: process.execPath,
        args: [...childFlags, childFile, library],
        env: { HOME, ESPEAK_DATA_PATH, LD_LIBRARY_PATH, NODE_COMPILE_CACHE },
        codec: libraryCodec,
      });
      onStart?.(link.pid);
      return link;
    },
    workersMax: processesMax,
    startMsMax,
    stopMsMax,
    idleMsMax,
  });
}

/** Throws if koffi, which loads the library, is not installed. */
function findLoader(): void {
  try {
    import.meta.resolve('koffi');
  } catch (cause) {
    throw new Failure('engine_unavailable', {}, new Error(koffiMissing, { cause }));
  }
}

async function inspect({ library }: { library: string }): Promise<EngineReport> {
  if (library === '') return { state: 'absent', message: 'turned off by an empty SONANT_ESPEAK_LIBRARY' };
  try {
    const engine = await openLibrary({ library });
    await engine.close();
    return { state: 'ready', message: `version ${engine.voices[0]!.version}, ${engine.voices.length} voices` };
  } catch (error) {
    const fault = messageOf(error);
    const missing = library === libraryUsual ? missingPackage(fault) : undefined;
    return missing ? { state: 'absent', message: missing } : { state: 'broken', message: fault };
  }
}

export const espeakNg = defineEngine({
  name: 'espeak-ng',
  isOptional: true,
  settings: {
    library: {
      name: 'SONANT_ESPEAK_LIBRARY',
      explicitOnly: true,
      help: 'Name or path of the eSpeak NG library; empty turns eSpeak NG off',
      allowed: 'a name, a path, or empty',
      fallback: libraryUsual,
      parse: (given: string) => (given.includes('\0') ? undefined : given.trim()),
    },
  },
  startsProgram: true,
  inspect,
  open: async ({ library }) => (library === '' ? undefined : openEspeakNg({ library })),
});

/**
 * Removes text that eSpeak NG would execute: control characters (\1 starts a command, \0 ends the text) and phonemes in
 * double brackets.
 */
const toPlainText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .replace(/\[(?=\[)/g, '[ ')
    .trim();

const isControl = (char: string): boolean => /[\u0000-\u001f\u007f-\u009f]/.test(char);

/** Returns, for each code point of the plain text, its index in the original text. */
function toSourceIndices(text: string, plain: string): number[] {
  const source = text.toWellFormed();
  const indices: number[] = [];
  let at = 0;
  while (at < source.length && (isControl(source[at]!) || source[at]!.trim() === '')) at++;
  for (const char of plain) {
    indices.push(at);
    if (source.startsWith(char, at)) at += char.length;
    // A space replaces a run of control characters, or was inserted between two brackets.
    else while (at < source.length && isControl(source[at]!)) at++;
  }
  return indices;
}

interface SpokenText {
  text: string;
  /** Returns, for each code point of `text`, its index in the segment's text. */
  sourceIndices(): number[];
}

export function toSpokenText({ text, phonemes = [] }: Pick<Segment, 'text' | 'phonemes'>): SpokenText {
  const parts: { spoken: string; from: number; source: string | undefined }[] = [];
  let at = 0;
  for (const range of phonemes) {
    const source = text.slice(at, range.from);
    parts.push({ spoken: toPlainText(source), from: at, source });
    parts.push({ spoken: ` ${range.phonemes}`, from: range.from, source: undefined });
    at = range.to;
  }
  const rest = text.slice(at);
  parts.push({ spoken: toPlainText(rest), from: at, source: rest });
  const all = parts.map(({ spoken }) => spoken).join('');
  const spoken = all.trim();
  return {
    text: spoken,
    sourceIndices() {
      const indices = parts.flatMap(({ spoken, from, source }) =>
        source === undefined
          ? Array.from(spoken, () => from)
          : toSourceIndices(source, spoken).map((index) => from + index),
      );
      return indices.slice(all.length - all.trimStart().length);
    },
  };
}

interface MarkedSound {
  marks: readonly SoundMark[];
  sampleRateHz: number;
  sampleCount: number;
}

/** Quotation marks and similar signs before a word. */
const opening = /(?:^|\s)([^\s\p{L}\p{N}]+)$/u;

interface Begun {
  from: number;
  sample: number;
  /** End of the previous word in the audio. */
  beforeUntil: number;
}

/** `indices` has, for each code point that was passed to the library, its index in `text`. */
function toWordTimes(
  text: string,
  indices: readonly number[],
  { marks, sampleRateHz, sampleCount }: MarkedSound,
): WordTime[] {
  const begun: Begun[] = [];
  for (const { position, sample, audibleUntil } of marks) {
    const at = indices[position - 1];
    const before = begun.at(-1)?.from ?? -1;
    if (at === undefined || at <= before) continue;
    const from = at - (opening.exec(text.slice(Math.max(before, 0), at))?.[1]?.length ?? 0);
    begun.push({ from, sample, beforeUntil: audibleUntil });
  }
  const last = { from: text.length, sample: sampleCount, beforeUntil: marks.at(-1)?.audibleUntil ?? sampleCount };
  return begun.flatMap((word, n) => {
    const next = begun[n + 1] ?? last;
    const end = Math.min(next.sample, Math.max(next.beforeUntil, word.sample + 1));
    const parts = partsOf(text, n === 0 ? 0 : word.from, next.from);
    const letters = parts.reduce((sum, part) => sum + part.letters, 0);
    let sample = word.sample;
    return parts.map(({ from, to, letters: share }) => {
      const startSeconds = sample / sampleRateHz;
      sample += ((end - word.sample) * share) / letters;
      return { from, to, startSeconds, endSeconds: sample / sampleRateHz };
    });
  });
}

/** The words in a range of text, or its other spoken parts if the range has no words. */
function partsOf(text: string, from: number, to: number): { from: number; to: number; letters: number }[] {
  const parts = [...text.slice(from, to).matchAll(/\S+/g)].map(({ 0: part, index }) => {
    const letters = part.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
    return { from: from + index, to: from + index + part.length, letters };
  });
  const words = parts.filter(({ letters }) => letters > 0);
  return words.length > 0 ? words : parts.slice(0, 1).map((part) => ({ ...part, letters: 1 }));
}

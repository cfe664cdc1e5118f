// eSpeak NG: small, fast, more than a hundred languages. It is what the operator installed, never bundled, since it is GPL;
// where it is not installed the engine is absent. Its library speaks in small processes of its own; where that does not
// work, each segment is one run of its program. Both sound alike.
import { availableParallelism } from 'node:os';
import { toFailure } from '../../errors.ts';
import {
  defineEngine,
  type Engine,
  type EngineLog,
  type EngineReport,
  type Segment,
  type SpokenPcm,
} from '../engine.ts';
import { withoutInnerStops } from '../inner-stops.ts';
import { type LibraryWayOptions, openLibraryWay } from './by-library.ts';
import { openProgramWay } from './by-program.ts';
import { toEspeakPhonemes } from './espeak-phonemes.ts';
import { toSpokenText } from './plain-text.ts';
import type { EspeakRequest, SpeakingWay } from './speaking-way.ts';

export interface EspeakNgOptions extends Omit<LibraryWayOptions, 'library' | 'processesMax'> {
  /** Name on PATH, or path. */
  program: string;
  /** Its name or path; `auto` for the one of the default program; none for the program only. */
  library?: string;
  /** How long a run of the program may keep its reader waiting in all. */
  waitMsMax?: number;
  runsAtOnce?: number;
}

const programUsual = 'espeak-ng';
const libraryUsual = 'libespeak-ng.so.1';
const libraryAuto = 'auto';
/** eSpeak NG's default of 100 makes the loudest voices clip. */
const amplitude = 80;
const usualWordsPerMinute = 175;
/**
 * How many processes there are beyond one for each core. The library speaks a sentence in 5 ms, and under load the service
 * is about as late to read it and to send the next one: meanwhile another process has the core.
 */
const processesUsual = availableParallelism() + 2;
/** It speaks hundreds of times faster than real time: later, it hangs. */
const firstSoundMsMax = 30_000;
const segmentCharsMax = 240;
/** Within these, words per minute give the rate within 3 %; beyond, texts and languages differ too much. */
const speakingRates = { min: 0.92, max: 1.08 };

/** The real speed grows with words per minute to the power of 1.07 (measured with version 1.51). */
const toWordsPerMinute = (rate: number): number => Math.round(usualWordsPerMinute * rate ** (1 / 1.07));

/** Factors on the pitch: eSpeak NG's measure of 0 to 99 is 50 for 1, and 69 more for an octave (measured with version 1.51). */
const pitches = { min: 0.61, max: 1.6 };
const toPitch = (factor: number): number => Math.round(50 + 69 * Math.log2(factor));

const messageOf = (error: unknown): string => (toFailure(error).cause as Error).message;

interface OpenedWay {
  way: SpeakingWay | undefined;
  /** Why the library does not speak. */
  fault?: string;
}

/** Of another program than the usual one, no library is known. */
const libraryFor = ({ program, library = '' }: EspeakNgOptions): string => {
  if (library !== libraryAuto) return library;
  return program === programUsual ? libraryUsual : '';
};

async function openWay(options: EspeakNgOptions): Promise<OpenedWay> {
  const library = libraryFor(options);
  const { program, waitMsMax } = options;
  if (library === '') return { way: await openProgramWay({ program, waitMsMax }) };
  try {
    return { way: await openLibraryWay({ ...options, library, processesMax: options.runsAtOnce ?? processesUsual }) };
  } catch (error) {
    return { way: await openProgramWay({ program, waitMsMax }), fault: messageOf(error) };
  }
}

/** Opens eSpeak NG; undefined where it is not installed. */
export async function openEspeakNg(options: EspeakNgOptions, log?: EngineLog): Promise<Engine | undefined> {
  const { way, fault } = await openWay(options);
  if (!way) return undefined;
  if (fault) log?.('warn', 'eSpeak NG speaks by its program, not by its library', { fault });
  const { version, voices, timings } = way;
  const files = new Map(voices.map(({ voiceId, file }) => [voiceId, file]));

  const speak = (segment: Segment, signal: AbortSignal): AsyncIterable<SpokenPcm> => {
    const spoken = toSpokenText({ ...segment, text: withoutInnerStops(segment.text) });
    if (spoken.text === '') return silent();
    const { voice, speakingRate, pitch = 1 } = segment;
    const wordsPerMinute = toWordsPerMinute(speakingRate);
    const how = { voice: files.get(voice.voiceId)!, wordsPerMinute, amplitude, pitch: toPitch(pitch) };
    const request: EspeakRequest = { spoken, ...how };
    return way.speak(request, segment, signal);
  };

  return {
    name: 'espeak-ng',
    voices: voices.map(({ file: _, ...voice }) => ({ ...voice, version })),
    capabilities: {
      isSynthetic: true,
      speakingRates,
      pitches,
      timings,
      isRepeatable: way.name === 'library',
      readsNumbers: true,
      segmentCharsMax,
      // Its sound comes while it works on a segment, so that a short one is heard no sooner.
      firstSegmentCharsMax: segmentCharsMax,
      segmentsAtOnce: 2,
      firstSoundMsMax,
      segmentsSpokenMax: options.runsAtOnce ?? (way.name === 'library' ? processesUsual : availableParallelism()),
    },
    toPhonemes: (ipa, _voice, languageCode) => toEspeakPhonemes(ipa, languageCode),
    speak,
    close: () => way.close(),
  };
}

async function* silent(): AsyncGenerator<SpokenPcm> {}

async function inspect(options: EspeakNgOptions): Promise<EngineReport> {
  const { program } = options;
  if (program === '') return { state: 'absent', message: 'turned off by an empty SONANT_ESPEAK_PROGRAM' };
  try {
    const { way, fault } = await openWay(options);
    if (!way) {
      const message = `there is no ${program} here; "apt install espeak-ng" or "brew install espeak-ng" brings it`;
      return { state: 'absent', message };
    }
    await way.close();
    const message = `version ${way.version}, ${way.voices.length} voices, by its ${way.name}`;
    return { state: 'ready', message: fault ? `${message}, since ${fault}` : message };
  } catch (error) {
    return { state: 'broken', message: `${program} does not answer as it should: ${messageOf(error)}` };
  }
}

export const espeakNg = defineEngine({
  name: 'espeak-ng',
  isOptional: true,
  settings: {
    program: {
      name: 'SONANT_ESPEAK_PROGRAM',
      help: 'The eSpeak NG program, by name on PATH or by path; empty turns eSpeak NG off. Default: espeak-ng',
      allowed: 'a name or a path, or nothing',
      fallback: programUsual,
      parse: (given: string) => (given.includes('\0') ? undefined : given.trim()),
    },
    library: {
      name: 'SONANT_ESPEAK_LIBRARY',
      help: `The eSpeak NG library, by name or path; empty uses the program only. Default: ${libraryAuto}, which is ${libraryUsual} where the program is the default one`,
      allowed: 'a name or a path, auto, or nothing',
      fallback: libraryAuto,
      parse: (given: string) => (given.includes('\0') ? undefined : given.trim()),
    },
  },
  inspect: ({ program, library }) => inspect({ program, library }),
  open: async ({ program, library }, dataDir, log) =>
    program === '' ? undefined : openEspeakNg({ program, library, dataDir }, log),
});

// eSpeak NG: small, fast, more than a hundred languages. It is a program that the operator installed, never bundled, since
// it is GPL; where it is not installed the engine is absent. Each segment is one run of the program, text on stdin and a
// WAV on stdout, with as many runs at once as there are cores.
import { availableParallelism } from 'node:os';
import { Failure, toFailure } from '../../errors.ts';
import { defineEngine, type Engine, type EngineReport, type Segment, type SpokenPcm } from '../engine.ts';
import { wavPcm } from '../pcm-stream.ts';
import { toEspeakPhonemes } from './espeak-phonemes.ts';
import { type EspeakVoice, parseEspeakVoices } from './espeak-voices.ts';
import { startProgram } from './program-run.ts';

export interface EspeakNgOptions {
  /** Name on PATH, or path. */
  program: string;
  /** How long a run may keep its reader waiting in all. */
  waitMsMax?: number;
  runsAtOnce?: number;
}

const waitMsUsual = 30_000;
const outputWaitMsMax = 10_000;
const outputBytesMax = 1_048_576;
/** eSpeak NG's default of 100 makes the loudest voices clip. */
const amplitude = 80;
const usualWordsPerMinute = 175;
/** Within these, words per minute give the rate within 3 %; beyond, texts and languages differ too much. */
const speakingRates = { min: 0.92, max: 1.08 };

/** The real speed grows with words per minute to the power of 1.07 (measured with version 1.51). */
const toWordsPerMinute = (rate: number): number => Math.round(usualWordsPerMinute * rate ** (1 / 1.07));

/** Factors on the pitch: eSpeak NG's measure of 0 to 99 is 50 for 1, and 69 more for an octave (measured with version 1.51). */
const pitches = { min: 0.61, max: 1.6 };
const toPitch = (factor: number): string => String(Math.round(50 + 69 * Math.log2(factor)));

/**
 * Removes what eSpeak NG would execute instead of speaking: control characters (\1 starts a command, \0 ends the text)
 * and phonemes in double brackets.
 */
const toPlainText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .replace(/\[(?=\[)/g, '[ ')
    .trim();

/** The text with the phonemes that are stated for parts of it. */
function toSpokenText({ text, phonemes = [] }: Segment): string {
  let spoken = '';
  let at = 0;
  for (const range of phonemes) {
    spoken += `${toPlainText(text.slice(at, range.from))} ${range.phonemes}`;
    at = range.to;
  }
  return (spoken + toPlainText(` ${text.slice(at)}`.replace(/^ (?=\p{P})/u, ''))).trim();
}

/** The whole output of the program for one option. */
async function outputOf(program: string, option: string): Promise<string> {
  let output = Buffer.alloc(0);
  for await (const piece of startProgram({ program, args: [option], input: '', waitMsMax: outputWaitMsMax }).output()) {
    output = Buffer.concat([output, piece]);
    if (output.length > outputBytesMax) throw new Failure('engine_error', {}, new Error(`${program} does not end`));
  }
  return output.toString('utf8');
}

const readVersion = async (program: string): Promise<string> =>
  /\d+\.\d+[\w.-]*/.exec(await outputOf(program, '--version'))?.[0] ?? 'unknown';

const causeOf = (error: unknown) => toFailure(error).cause as NodeJS.ErrnoException;
const isMissing = (error: unknown): boolean => causeOf(error).code === 'ENOENT';

/** Undefined where there is no such program. */
async function listVoices(program: string): Promise<EspeakVoice[] | undefined> {
  try {
    const voices = parseEspeakVoices(await outputOf(program, '--voices'));
    if (voices.length === 0) throw new Failure('engine_error', {}, new Error(`${program} lists no voices`));
    return voices;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new Failure('engine_unavailable', {}, causeOf(error));
  }
}

/** Opens eSpeak NG; undefined where there is no such program. */
export async function openEspeakNg(options: EspeakNgOptions): Promise<Engine | undefined> {
  const { program, waitMsMax = waitMsUsual, runsAtOnce = availableParallelism() } = options;
  const listed = await listVoices(program);
  if (!listed) return undefined;
  const version = await readVersion(program);
  const files = new Map(listed.map(({ voiceId, file }) => [voiceId, file]));
  const argsFor = ({ voice, speakingRate, pitch = 1 }: Segment): string[] => {
    const rate = String(toWordsPerMinute(speakingRate));
    const how = ['-v', files.get(voice.voiceId)!, '-s', rate, '-a', String(amplitude), '-p', toPitch(pitch)];
    // -b 1 is UTF-8. Without -m, markup is read out as text.
    return ['--stdin', '--stdout', '-b', '1', ...how];
  };

  async function* speak(segment: Segment, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const text = toSpokenText(segment);
    if (text === '') return;
    const run = startProgram({ program, args: argsFor(segment), input: text, waitMsMax });
    const kill = () => void run.kill();
    signal.addEventListener('abort', kill, { once: true });
    try {
      yield* wavPcm(run.output());
    } finally {
      signal.removeEventListener('abort', kill);
      await run.kill();
    }
  }

  return {
    name: 'espeak-ng',
    voices: listed.map(({ file: _, ...voice }) => ({ ...voice, version })),
    capabilities: {
      isSynthetic: true,
      speakingRates,
      pitches,
      timings: false,
      readsNumbers: true,
      segmentCharsMax: 240,
      segmentsAtOnce: 2,
      segmentsSpokenMax: runsAtOnce,
    },
    toPhonemes: (ipa, _voice, languageCode) => toEspeakPhonemes(ipa, languageCode),
    speak,
    close: async () => {},
  };
}

async function inspect(program: string): Promise<EngineReport> {
  if (program === '') return { state: 'absent', message: 'turned off by an empty SONANT_ESPEAK_PROGRAM' };
  try {
    const voices = await listVoices(program);
    if (!voices) {
      const message = `there is no ${program} here; "apt install espeak-ng" or "brew install espeak-ng" brings it`;
      return { state: 'absent', message };
    }
    return { state: 'ready', message: `version ${await readVersion(program)}, ${voices.length} voices` };
  } catch (error) {
    return { state: 'broken', message: `${program} does not answer as it should: ${causeOf(error).message}` };
  }
}

export const espeakNg = defineEngine({
  name: 'espeak-ng',
  isOptional: true,
  settings: {
    program: {
      name: 'SONANT_ESPEAK_PROGRAM',
      help: 'The eSpeak NG program, by name on PATH or by path; empty turns it off. Default: espeak-ng',
      allowed: 'a name or a path, or nothing',
      fallback: 'espeak-ng',
      parse: (given: string) => (given.includes('\0') ? undefined : given.trim()),
    },
  },
  inspect: ({ program }) => inspect(program),
  open: async ({ program }) => (program === '' ? undefined : openEspeakNg({ program })),
});

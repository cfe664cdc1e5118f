// eSpeak NG: small, quick, more than a hundred languages. It is the operator's own program, found on the machine and
// never bundled, since it is GPL; where it is not installed there is no such engine. Each segment is one run of it, text
// on stdin and a WAV on stdout. It runs as many at once as there are cores; others wait in line, urgent ones first.
import { availableParallelism } from 'node:os';
import { Failure, toFailure } from '../../errors.ts';
import { audiblePcm } from '../audible-pcm.ts';
import type { Engine, EngineReport, Segment, SpokenPcm } from '../engine.ts';
import { defineEngine } from '../engine.ts';
import { wavPcm } from '../pcm-stream.ts';
import { createWaitingLine } from '../waiting-line.ts';
import type { EspeakVoice } from './espeak-voices.ts';
import { parseEspeakVoices } from './espeak-voices.ts';
import type { ProgramRun } from './program-run.ts';
import { startProgram } from './program-run.ts';

export interface EspeakNgOptions {
  /** Name on PATH, or path. */
  program: string;
  /** How long a segment's reader may be kept waiting in all. */
  waitMsMax?: number;
  runsAtOnce?: number;
}

const waitMsUsual = 30_000;
const askWaitMsMax = 10_000;
const answerBytesMax = 1_048_576;
const textCharsMax = 1_000;
/** Leaves room above: at eSpeak NG's own 100 the loudest voices clip. */
const amplitude = 80;
const usualWordsPerMinute = 175;
/** Within these, words per minute give the rate within 3 %; beyond, texts and languages differ too much. */
const speakingRates = { min: 0.92, max: 1.08 };

/** Its real speed goes with words per minute to the power of 1.07 (measured with version 1.51). */
const toWordsPerMinute = (rate: number): number => Math.round(usualWordsPerMinute * rate ** (1 / 1.07));

/**
 * Takes away what eSpeak NG would obey instead of saying: control characters (\1 starts a command, \0 ends the text) and
 * phonemes in double brackets.
 */
const toPlainText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .replace(/\[(?=\[)/g, '[ ')
    .trim();

/** All that the program answers to one option. */
async function ask(program: string, option: string): Promise<string> {
  let answer = Buffer.alloc(0);
  for await (const piece of startProgram({ program, args: [option], input: '', waitMsMax: askWaitMsMax }).output()) {
    answer = Buffer.concat([answer, piece]);
    if (answer.length > answerBytesMax) throw new Failure('engine_error', {}, new Error(`${program} does not end`));
  }
  return answer.toString('utf8');
}

const askVersion = async (program: string): Promise<string> =>
  /\d+\.\d+[\w.-]*/.exec(await ask(program, '--version'))?.[0] ?? 'unknown';

const causeOf = (error: unknown) => toFailure(error).cause as NodeJS.ErrnoException;
const isMissing = (error: unknown): boolean => causeOf(error).code === 'ENOENT';

/** Who speaks; undefined where there is no such program. */
async function listVoices(program: string): Promise<EspeakVoice[] | undefined> {
  try {
    const voices = parseEspeakVoices(await ask(program, '--voices'));
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
  const version = await askVersion(program);
  const files = new Map(listed.map(({ voiceId, file }) => [voiceId, file]));
  const line = createWaitingLine(runsAtOnce);
  const closing = new AbortController();
  const running = new Set<ProgramRun>();

  const argsFor = ({ voice, speakingRate }: Segment): string[] => {
    const rate = String(toWordsPerMinute(speakingRate));
    const how = ['-v', files.get(voice.voiceId)!, '-s', rate, '-a', String(amplitude)];
    // 1 is UTF-8. Without -m, markup is read out as text.
    return ['--stdin', '--stdout', '-b', '1', ...how];
  };

  /** A run that holds a place in the line until it is gone: not until its sound is read. */
  async function start(segment: Segment, text: string, signal: AbortSignal): Promise<ProgramRun> {
    const leave = await line.enter(segment.urgent, signal);
    try {
      signal.throwIfAborted();
      const run = startProgram({ program, args: argsFor(segment), input: text, waitMsMax });
      running.add(run);
      void run.gone.then(() => {
        running.delete(run);
        leave();
      });
      return run;
    } catch (error) {
      leave();
      signal.throwIfAborted();
      throw new Failure('engine_error', {}, error);
    }
  }

  async function* speak(segment: Segment, callersSignal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const signal = AbortSignal.any([callersSignal, closing.signal]);
    signal.throwIfAborted();
    const text = toPlainText(segment.text);
    if (text === '') return;
    if (text.length > textCharsMax) throw new Failure('engine_error', {}, new Error('far too long for a segment'));
    const run = await start(segment, text, signal);
    const kill = () => void run.kill();
    signal.addEventListener('abort', kill, { once: true });
    if (signal.aborted) kill();
    try {
      for await (const pcm of audiblePcm(wavPcm(run.output()), text)) {
        yield pcm;
        signal.throwIfAborted();
      }
    } catch (error) {
      // A run that was killed has failed too, but that is not why.
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', kill);
    }
  }

  return {
    name: 'espeak-ng',
    voices: listed.map(({ file: _, ...voice }) => ({ ...voice, version })),
    capabilities: {
      speakingRates,
      timings: false,
      readsNumbers: true,
      segmentCharsMax: 240,
      segmentsAtOnce: 2,
      segmentsSpokenMax: runsAtOnce,
    },
    speak,
    async close() {
      closing.abort(new Failure('engine_unavailable'));
      await Promise.all([...running].map((run) => run.kill()));
    },
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
    return { state: 'ready', message: `version ${await askVersion(program)}, ${voices.length} voices` };
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

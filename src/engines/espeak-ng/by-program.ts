// eSpeak NG as a program: each segment is one run of it, text on stdin and a WAV on stdout.
import { Failure, toFailure } from '../../errors.ts';
import type { Segment, SpokenPcm } from '../engine.ts';
import { wavPcm } from '../pcm-stream.ts';
import { type EspeakVoice, parseEspeakVoices } from './espeak-voices.ts';
import { startProgram } from './program-run.ts';
import type { SpeakingWay } from './speaking-way.ts';

const waitMsUsual = 30_000;
const outputWaitMsMax = 10_000;
const outputBytesMax = 1_048_576;

export interface ProgramWayOptions {
  /** Name on PATH, or path. */
  program: string;
  /** How long a run may keep its reader waiting in all. */
  waitMsMax?: number | undefined;
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

/** Undefined where there is no such program. */
export async function openProgramWay({
  program,
  waitMsMax = waitMsUsual,
}: ProgramWayOptions): Promise<SpeakingWay | undefined> {
  const voices = await listVoices(program);
  if (!voices) return undefined;
  const version = await readVersion(program);
  return {
    name: 'program',
    version,
    voices,
    timings: false,
    async *speak(
      { spoken, voice, wordsPerMinute, amplitude, pitch },
      _: Segment,
      signal: AbortSignal,
    ): AsyncGenerator<SpokenPcm> {
      const how = ['-v', voice, '-s', String(wordsPerMinute), '-a', String(amplitude), '-p', String(pitch)];
      // -b 1 is UTF-8. Without -m, markup is read out as text.
      const args = ['--stdin', '--stdout', '-b', '1', ...how];
      const run = startProgram({ program, args, input: spoken.text, waitMsMax });
      const kill = () => void run.kill();
      signal.addEventListener('abort', kill, { once: true });
      try {
        yield* wavPcm(run.output());
      } finally {
        signal.removeEventListener('abort', kill);
        await run.kill();
      }
    },
    close: async () => {},
  };
}

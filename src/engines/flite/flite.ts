// flite, the engine that is always present: English in seven voices, small, fast and the same on every machine, and voices
// that the operator imports. It is a WebAssembly program that runs in worker threads, so that the event loop is never held;
// it is compiled, and threads start, with the first segments. A segment is spoken by one thread.
import { access } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { Failure } from '../../errors.ts';
import { integerSetting } from '../../runtime/setting.ts';
import { defineEngine, type Engine, type EngineReport, type Segment, type SpokenPcm } from '../engine.ts';
import { withoutInnerStops } from '../inner-stops.ts';
import { toFlitePhones } from './flite-phones.ts';
import { toParts, toSpokenTokens, withPhones } from './flite-text.ts';
import type { FliteTask, FliteThreadData } from './flite-thread.ts';
import { compileWasm, findWasm, readWasm } from './flite-wasm.ts';
import { importVoiceFile } from './import-voice-file.ts';
import { auditionText, openOwnSpeakers } from './own-speakers.ts';
import { ThreadPool } from './thread-pool.ts';
import { programPath, readVoiceFiles, VoiceFileError } from './voice-files.ts';
import { type Speaker, stockSpeakers } from './voices.ts';

/** Above 2, sounds of one frame cannot get shorter, and speech is up to 15 % slower than requested. */
const speakingRates = { min: 0.25, max: 2 };
/** Of the models that it moves. */
const pitches = { min: 0.5, max: 2 };
const segmentCharsMax = 160;
const threadsMax = 64;
/** A busy machine may take a hundred times as long as an idle one. */
const auditionMsMax = 10_000;

export interface FliteOptions {
  threads: number;
  dataDir: string;
}

export async function openFlite({ threads, dataDir }: FliteOptions): Promise<Engine> {
  await access(findWasm());
  const files = await readVoiceFiles(dataDir).catch(throwUnavailable);
  const voiceFiles = new Map(files.map(({ voiceId, bytes }) => [programPath(voiceId), bytes]));
  const data = async (): Promise<FliteThreadData> => ({ module: await compileWasm(), voiceFiles });
  const file = new URL('./flite-thread.ts', import.meta.url);
  const pool = new ThreadPool<FliteTask, SpokenPcm>({ file, data, threadsMax: threads });

  const audition = (args: readonly string[]) => {
    const task = { args, sampleRateHz: undefined, parts: [toSpokenTokens(auditionText)], timings: false };
    return pool.run(task, AbortSignal.timeout(auditionMsMax));
  };
  const own = await openOwnSpeakers(files, audition).catch(async (error: unknown) => {
    await pool.close();
    return throwUnavailable(error);
  });
  const all = [...stockSpeakers, ...own];
  const speakers = new Map(all.map((speaker) => [speaker.voice.voiceId, speaker]));

  return {
    name: 'flite',
    voices: [...speakers.values()].map(({ voice }) => voice),
    capabilities: {
      isSynthetic: true,
      speakingRates,
      timings: true,
      isRepeatable: true,
      readsNumbers: false,
      segmentCharsMax,
      // The next segment is made while one is read, but the last thread is left to other requests.
      segmentsAtOnce: threads > 2 ? 2 : 1,
      segmentsSpokenMax: threads,
      // A thread that sends nothing for so long hangs: most segments take less than a second.
      firstSoundMsMax: 20_000,
      stallMsMax: 10_000,
    },
    capabilitiesOf: ({ voiceId }) => (speakers.get(voiceId)?.isPitched ? { pitches } : {}),
    toPhonemes: toFlitePhones,
    async *speak(segment, signal) {
      const speaker = speakers.get(segment.voice.voiceId);
      if (!speaker) throw new Failure('engine_error', {}, new Error(`flite has no voice ${segment.voice.voiceId}`));
      const task = toTask(segment, speaker);
      if (task.parts.length > 0) yield* pool.run(task, signal, { isBackground: segment.isBackground ?? false });
    },
    close: () => pool.close(),
  };
}

function throwUnavailable(error: unknown): never {
  throw error instanceof VoiceFileError ? new Failure('engine_unavailable', { message: error.message }) : error;
}

function toTask({ text, speakingRate, timings, pitch, phonemes }: Segment, speaker: Speaker): FliteTask {
  const args = [...speaker.args, '--setf', `duration_stretch=${speaker.stretch / speakingRate}`];
  if (pitch !== undefined) args.push('--setf', `f0_shift=${pitch}`);
  const parts = toParts(withPhones(toSpokenTokens(withoutInnerStops(text)), phonemes));
  return { args, sampleRateHz: speaker.sampleRateHz, parts, timings };
}

async function inspect(dataDir: string): Promise<EngineReport> {
  try {
    await readWasm();
    const { length } = await readVoiceFiles(dataDir);
    // Imported voices are checked by having them speak.
    if (length > 0) await (await openFlite({ threads: 1, dataDir })).close();
    const own = length === 0 ? '' : ` and ${length} of your own`;
    return { state: 'ready', message: `${stockSpeakers.length} voices${own}, English` };
  } catch (error) {
    return { state: 'broken', message: (error as Error).message };
  }
}

export const flite = defineEngine({
  name: 'flite',
  settings: {
    threads: integerSetting({
      name: 'SONANT_FLITE_THREADS',
      help: 'Threads that speak at once, each with about 30 MiB of memory when it has spoken. Default: one for each core',
      min: 1,
      max: threadsMax,
      fallback: Math.min(threadsMax, availableParallelism()),
    }),
  },
  inspect: (_settings, dataDir) => inspect(dataDir),
  open: ({ threads }, dataDir) => openFlite({ threads, dataDir }),
  importVoice: (brought) =>
    importVoiceFile(brought, async (dataDir) => (await openFlite({ threads: 1, dataDir })).close()),
});

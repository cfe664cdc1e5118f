// flite, the engine that is always present: English in seven voices, small, fast and identical on every machine, plus
// voices that the operator imports. It is a WebAssembly program in worker threads, so it does not block the event loop.
// Threads start with the first segments.
import { existsSync } from 'node:fs';
import { access, copyFile, rename, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { gainDbFor } from '../../audio/loudness.ts';
import { join as joinSamples } from '../../audio/pcm.ts';
import { Failure } from '../../errors.ts';
import { makeFolder } from '../../runtime/files.ts';
import { Host } from '../../runtime/host.ts';
import { openLockedFolder, removeLeftFolders } from '../../runtime/locks.ts';
import { integerSetting } from '../../runtime/setting-types.ts';
import { threadLink } from '../../runtime/worker-links.ts';
import {
  type BroughtVoice,
  defineEngine,
  type Engine,
  type EngineReport,
  type Segment,
  type SpokenPcm,
} from '../engine.ts';
import { withoutInnerStops } from '../inner-stops.ts';
import { toFlitePhones } from './flite-phones.ts';
import { toParts, toSpokenTokens, withPhones } from './flite-text.ts';
import type { FliteTask, FliteThreadData } from './flite-thread.ts';
import { type Speaker, stockSpeakers, toName } from './flite-voices.ts';
import { programPath, readVoiceFiles, type VoiceFile, VoiceFileError, voiceFileEnding } from './voice-files.ts';
import { compileWasm, findWasm, readWasm } from './wasi.ts';

/** Sounds of one frame cannot get shorter, so speech above speed 2 would be up to 15 % slower than requested. */
const speakingRates = { min: 0.25, max: 2 };
/** Pitch factors for the models that support them. */
const pitches = { min: 0.5, max: 2 };
const segmentCharsMax = 160;
const stageName = '.import-';
const threadsMax = 64;
/** A busy machine may take a hundred times as long as an idle one. */
const auditionMsMax = 10_000;
const startMsMax = 60_000;
const stopMsMax = 25;
/**
 * How long a thread may work on aborted background work. The limit is long because other threads take the next tasks,
 * and starting a thread costs more than finishing most tasks.
 */
const backgroundStopMsMax = 2_000;

export interface FliteOptions {
  threads: number;
  dataDir: string;
}

export async function openFlite({ threads, dataDir }: FliteOptions): Promise<Engine> {
  await access(findWasm());
  const files = await readVoiceFiles(dataDir).catch(throwUnavailable);
  const host = openFliteHost(threads, new Map(files.map(({ voiceId, bytes }) => [programPath(voiceId), bytes])));

  const audition = (args: readonly string[]) => {
    const task = { args, sampleRateHz: undefined, parts: [toSpokenTokens(auditionText)], timings: false };
    return host.run(task, AbortSignal.timeout(auditionMsMax));
  };
  const own = await openOwnSpeakers(files, audition).catch(async (error: unknown) => {
    await host.close();
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
      // While one segment is read, the next one is generated, but one thread is left to other requests.
      segmentsAtOnce: threads > 2 ? 2 : 1,
      segmentsSpokenMax: threads,
      // A thread that sends nothing for this long hangs: most segments take less than a second.
      firstSoundMsMax: 20_000,
      stallMsMax: 10_000,
    },
    capabilitiesOf: ({ voiceId }) => (speakers.get(voiceId)?.isPitched ? { pitches } : {}),
    toPhonemes: toFlitePhones,
    async *speak(segment, signal) {
      const speaker = speakers.get(segment.voice.voiceId);
      if (!speaker) throw new Failure('engine_error', {}, new Error(`flite has no voice ${segment.voice.voiceId}`));
      const task = toTask(segment, speaker);
      if (task.parts.length > 0) yield* host.run(task, signal, { isBackground: segment.isBackground ?? false });
    },
    close: () => host.close(),
  };
}

/** The first task compiles flite's WebAssembly module, which all threads share. */
export function openFliteHost(threads: number, voiceFiles: FliteThreadData['voiceFiles']): Host<FliteTask, SpokenPcm> {
  let data: Promise<FliteThreadData> | undefined;
  const load = async (): Promise<FliteThreadData> => {
    try {
      return { module: await compileWasm(), voiceFiles };
    } catch (error) {
      data = undefined;
      throw error;
    }
  };
  const file = new URL('./flite-thread.ts', import.meta.url);
  return new Host({
    open({ isBackground }) {
      data ??= load();
      return threadLink<FliteTask, SpokenPcm>({ file, data, isBackground });
    },
    workersMax: threads,
    startMsMax,
    stopMsMax,
    backgroundStopMsMax: threads > 1 ? backgroundStopMsMax : stopMsMax,
  });
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

/** Opens and closes the engine. Throws if an imported voice cannot be used. */
const tryOut = async (dataDir: string): Promise<void> => (await openFlite({ threads: 1, dataDir })).close();

async function inspect(dataDir: string): Promise<EngineReport> {
  try {
    await readWasm();
    const { length } = await readVoiceFiles(dataDir);
    // Imported voices are checked by synthesizing a sentence with each voice.
    if (length > 0) await tryOut(dataDir);
    const own = length === 0 ? '' : ` and ${length} of your own`;
    return { state: 'ready', message: `${stockSpeakers.length} voices${own}, English` };
  } catch (error) {
    return { state: 'broken', message: (error as Error).message };
  }
}

/** Adds a voice file to the data folder after it has been tested in a separate folder. */
async function importVoiceFile({
  path,
  dataDir,
  name = basename(path, voiceFileEnding),
  signal,
  print,
}: BroughtVoice): Promise<readonly string[] | undefined> {
  if (!path.endsWith(voiceFileEnding) || !(await stat(path)).isFile()) return undefined;
  const folder = join(dataDir, 'voices');
  makeFolder(folder);
  const file = basename(name) + voiceFileEnding;
  const taken = `voice ${name} already exists in ${folder}; delete it there, or choose another name with --name`;
  if (existsSync(join(folder, file))) throw new Failure('invalid_request', { message: taken });
  await removeLeftFolders(folder, stageName);
  const stage = await openLockedFolder(folder, stageName);
  try {
    const staged = join(stage.path, 'voices');
    makeFolder(staged);
    await copyFile(path, join(staged, file));
    print(`testing voice ${name}`);
    await tryOut(stage.path);
    signal.throwIfAborted();
    await rename(join(staged, file), join(folder, file));
  } finally {
    await stage.remove();
  }
  return [basename(name)];
}

export const flite = defineEngine({
  name: 'flite',
  settings: {
    threads: integerSetting({
      name: 'SONANT_FLITE_THREADS',
      help: 'Threads that speak at once, each with about 30 MiB of memory. Default: one for each core',
      min: 1,
      max: threadsMax,
      fallback: Math.min(threadsMax, availableParallelism()),
    }),
  },
  inspect: (_settings, dataDir) => inspect(dataDir),
  open: ({ threads }, dataDir) => openFlite({ threads, dataDir }),
  importVoice: importVoiceFile,
});

/** Speaks the test phrase with the voice that `args` name. */
type Audition = (args: readonly string[]) => AsyncIterable<SpokenPcm>;

const auditionText = 'The boat left the harbour early, long before the sun came up. Nobody on the quay had seen it.';

/** If a voice cannot be read, flite falls back on an 8 kHz voice; no voice worth importing has such a low rate. */
const sampleRateHzMin = 16_000;
const audiblePeak = 300;

async function openOwnSpeakers(files: readonly VoiceFile[], audition: Audition): Promise<Speaker[]> {
  const speakers: Speaker[] = [];
  for (const file of files) {
    const taken = stockSpeakers.some(({ voice }) => voice.voiceId === file.voiceId);
    if (taken) throw new VoiceFileError(file.path, 'has the name of an existing voice; rename it');
    speakers.push(await toSpeaker(file, audition));
  }
  return speakers;
}

async function toSpeaker(
  { voiceId, path, version, features, ownName }: VoiceFile,
  audition: Audition,
): Promise<Speaker> {
  const args = ['-voice', programPath(voiceId)];
  const pieces = await Array.fromAsync(audition(args)).catch((error) => {
    throw new VoiceFileError(path, `is damaged: ${error.cause?.message ?? error}`, error);
  });
  const parts = pieces.map(({ samples }) => samples);
  const pcm = { samples: joinSamples(Int16Array, parts), sampleRateHz: pieces[0]?.sampleRateHz ?? 0 };
  if (pcm.sampleRateHz < sampleRateHzMin) throw new VoiceFileError(path, 'is damaged: flite speaks with another voice');
  if (!pcm.samples.some((sample) => Math.abs(sample) > audiblePeak))
    throw new VoiceFileError(path, 'generates no audio');
  return {
    voice: {
      voiceId,
      name: toName(voiceId),
      description: `A voice of the operator (${ownName})`,
      kind: 'stock',
      engine: 'flite',
      languageCodes: languageCodesOf(features.get('country')),
      labels: { ...labelOf('gender', features), ...labelOf('country', features), base: ownName },
      version,
      gainDb: gainDbFor(pcm),
    },
    args,
    stretch: 1,
    sampleRateHz: pcm.sampleRateHz,
  };
}

const languageCodesOf = (country = ''): string[] => {
  if (/^usa?$/i.test(country)) return ['en-US', 'en'];
  if (/^(uk|gb|britain|england|scotland|wales)$/i.test(country)) return ['en-GB', 'en'];
  return ['en'];
};

/** The feature as a label, if the voice file states it. */
const labelOf = (name: string, features: ReadonlyMap<string, string>): Record<string, string> => {
  const value = features.get(name);
  return value === undefined || value === 'unknown' || value === 'none' ? {} : { [name]: value.toLowerCase() };
};

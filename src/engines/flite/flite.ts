// flite, the engine that is always present: English in seven voices, small, fast and identical on every machine. It is a
// WebAssembly program in worker threads, so it does not block the event loop. Threads start with the first segments.
import { access } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { Failure } from '../../platform/errors.ts';
import { Host } from '../../platform/runtime/host.ts';
import { integerSetting } from '../../platform/runtime/setting-types.ts';
import { threadLink } from '../../platform/runtime/worker-links.ts';
import { defineEngine, type Engine, type EngineReport, type Segment, type SpokenPcm, type Voice } from '../engine.ts';
import { withoutInnerStops } from '../inner-stops.ts';
import { toFlitePhones } from './flite-phones.ts';
import { toParts, toSpokenTokens, withPhones } from './flite-text.ts';
import type { FliteTask, FliteThreadData } from './flite-thread.ts';
import { compileWasm, findWasm, readWasm } from './wasi.ts';

// The built-in voices: flite's four voices, and three of them also at a different pitch. The gains bring them to -21
// LUFS (measured with ffmpeg's ebur128 over twelve sentences).

/** A voice, with flite's parameters. */
interface Speaker {
  voice: Voice;
  args: readonly string[];
  /** flite's `duration_stretch` at rate 1. */
  stretch: number;
  /** Whether the speaker's pitch can be changed. */
  isPitched: boolean;
}

/** flite's model names. `kal` is excluded: its sample rate is 8 kHz, and flite uses it for any unknown name. */
type Model = 'rms' | 'awb' | 'slt' | 'kal16';

interface StockVoice {
  voiceId: string;
  character: string;
  model: Model;
  /** Mean pitch, if it differs from that of the model. The pitch of every model but rms can be changed. */
  pitchHz?: number;
  gainDb: number;
}

const models: Record<Model, { speaker: string; gender: string; accent: string; stretch: number }> = {
  rms: { speaker: 'American man', gender: 'male', accent: 'american', stretch: 1 },
  awb: { speaker: 'Scottish man', gender: 'male', accent: 'scottish', stretch: 1 },
  slt: { speaker: 'American woman', gender: 'female', accent: 'american', stretch: 1 },
  kal16: { speaker: 'American man', gender: 'male', accent: 'american', stretch: 1.1 },
};

const stockVoices: readonly StockVoice[] = [
  { voiceId: 'arthur', character: 'deep and level, the clearest of all', model: 'rms', gainDb: 0.7 },
  { voiceId: 'fergus', character: 'lively and warm', model: 'awb', gainDb: -0.1 },
  { voiceId: 'clara', character: 'bright and brisk', model: 'slt', gainDb: -4.6 },
  { voiceId: 'otto', character: 'clipped like a robot, and the fastest', model: 'kal16', gainDb: 7.3 },
  { voiceId: 'nora', character: 'low and calm', model: 'slt', pitchHz: 140, gainDb: -2.5 },
  { voiceId: 'angus', character: 'deep and steady', model: 'awb', pitchHz: 110, gainDb: -0.6 },
  { voiceId: 'milo', character: 'a light, young robot, as fast as Otto', model: 'kal16', pitchHz: 130, gainDb: 5.9 },
];

const toName = (voiceId: string): string => voiceId.charAt(0).toUpperCase() + voiceId.slice(1);

/** The first voice is the default. */
export const stockSpeakers: readonly Speaker[] = stockVoices.map(({ voiceId, character, model, pitchHz, gainDb }) => {
  const { speaker, gender, accent, stretch } = models[model];
  const source = pitchHz === undefined ? model : `${model} at ${pitchHz} Hz`;
  return {
    voice: {
      voiceId,
      name: toName(voiceId),
      description: `${speaker}, ${character} (${source})`,
      kind: 'stock',
      engine: 'flite',
      languageCodes: accent === 'scottish' ? ['en-GB', 'en'] : ['en-US', 'en'],
      labels: { gender, accent, base: model },
      version: '2.3',
      gainDb,
    },
    args: ['-voice', model, ...(pitchHz === undefined ? [] : ['--setf', `int_f0_target_mean=${pitchHz}`])],
    stretch,
    // The pitch of rms cannot be changed.
    isPitched: model !== 'rms',
  };
});

/** Sounds of one frame cannot get shorter, so speech above speed 2 would be up to 15 % slower than requested. */
const speakingRates = { min: 0.25, max: 2 };
/** Pitch factors for the models that support them. */
const pitches = { min: 0.5, max: 2 };
const segmentCharsMax = 160;
const threadsMax = 64;
const startMsMax = 60_000;
const stopMsMax = 25;
/**
 * How long a thread may work on aborted background work. The limit is long because other threads take the next tasks,
 * and starting a thread costs more than finishing most tasks.
 */
const backgroundStopMsMax = 2_000;

export async function openFlite({ threads }: { threads: number }): Promise<Engine> {
  await access(findWasm());
  const host = openFliteHost(threads);
  const speakers = new Map(stockSpeakers.map((speaker) => [speaker.voice.voiceId, speaker]));

  return {
    name: 'flite',
    voices: stockSpeakers.map(({ voice }) => voice),
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
export function openFliteHost(threads: number): Host<FliteTask, SpokenPcm> {
  let data: Promise<FliteThreadData> | undefined;
  const load = async (): Promise<FliteThreadData> => {
    try {
      return { module: await compileWasm() };
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

function toTask({ text, speakingRate, timings, pitch, phonemes }: Segment, speaker: Speaker): FliteTask {
  const args = [...speaker.args, '--setf', `duration_stretch=${speaker.stretch / speakingRate}`];
  if (pitch !== undefined) args.push('--setf', `f0_shift=${pitch}`);
  const parts = toParts(withPhones(toSpokenTokens(withoutInnerStops(text)), phonemes));
  return { args, parts, timings };
}

async function inspect(): Promise<EngineReport> {
  try {
    await readWasm();
    return { state: 'ready', message: `${stockSpeakers.length} voices, English` };
  } catch (error) {
    return { state: 'broken', message: (error as Error).message };
  }
}

export const flite = defineEngine({
  name: 'flite',
  settings: {
    threads: integerSetting({
      name: 'SONANT_FLITE_THREADS',
      help: 'Threads that speak at once, each with about 30 MiB of memory. Default: one for each core',
      range: [1, threadsMax],
      fallback: Math.min(threadsMax, availableParallelism()),
    }),
  },
  inspect,
  open: openFlite,
});

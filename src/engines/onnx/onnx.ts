// Natural voices on ONNX Runtime: models whose sound begins before a sentence is computed, with exact word times. Each
// voice is a folder (voice-folders.ts); the engine is absent until a voice is installed, and finds voices that are
// installed while it runs.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { integerSetting } from '../../platform/runtime/setting-types.ts';
import {
  type Blend,
  type Blending,
  defineEngine,
  type Engine,
  type EngineLog,
  type EngineReport,
  type SpokenPcm,
  type Voice,
  voiceOfBlend,
} from '../engine.ts';
import { withoutInnerStops } from '../inner-stops.ts';
import { openVoiceList } from '../voice-list.ts';
import { findRuntime, runtimeMissing } from './onnx-runtime.ts';
import { toGivenPhonemes } from './reading.ts';
import { cardName, type InstalledVoice, packagedFolder, readVoiceFolders, voicesFolder } from './voice-folders.ts';
import { openVoiceHost } from './voice-host.ts';

// Makes a voice of a blend: the model mixes the styles of its speakers by their weights.

const idChars = 16;

/** The voice of a blend; undefined if a part is missing, or if the parts are of different models. */
function toBlended(blend: Blend, find: (voiceId: string) => InstalledVoice | undefined): InstalledVoice | undefined {
  const parts = blend.flatMap(({ voiceId, weight }) => {
    const installed = find(voiceId);
    return installed ? { installed, voice: installed.voice, weight } : [];
  });
  const first = parts[0]?.installed;
  if (!first || parts.length < blend.length || parts.some(({ installed }) => installed.model !== first.model))
    return undefined;
  const speakers = parts
    .filter(({ weight }) => weight > 0)
    .flatMap(({ installed, weight }) => installed.speakers.map(({ id }) => ({ id, weight })));
  const facts = JSON.stringify([first.model, first.voice.voiceId, speakers]);
  const id = createHash('sha256').update(facts).digest('hex').slice(0, idChars);
  const voice = voiceOfBlend(`${first.model.split(' ', 1)[0]}-blend-${id}`, parts);
  return { ...first, voice, speakers };
}

export interface OnnxOptions {
  dataDir: string;
  workers: number;
  log?: EngineLog | undefined;
}

/** Faster, too many sounds would have the shortest duration of 25 ms. */
const speakingRates = { min: 0.5, max: 1.6 };
/** A sentence of 300 characters has about 400 phonemes. */
const segmentCharsMax = 300;
const refreshMs = 5_000;
/** A worker is started soon after the service, so that the first caller does not wait for it. */
const startAfterMs = 500;
const timeoutMs = { firstSound: 20_000, stall: 10_000 };

const keyOf = ({ voiceId, version }: Voice): string => `${voiceId} ${version}`;

/** Opens the engine; undefined if its runtime is not installed. */
export async function openOnnx({ dataDir, workers, log = () => {} }: OnnxOptions): Promise<Engine | undefined> {
  const runtime = findRuntime();
  if (!runtime) return undefined;
  /** All voices that were ever listed, because a request may still use a removed voice. */
  const known = new Map<string, InstalledVoice>();
  const folders = new Map<string, string>();
  let current = new Set<string>();
  let faultsLogged = '';
  const host = openVoiceHost(runtime, workers, (model) => folders.get(model)!);
  const list = await openVoiceList({
    async load() {
      const { voices, faults } = await readVoiceFolders(dataDir, runtime.is);
      if (faults.length > 0 && faults.join() !== faultsLogged) log('warn', 'voices not offered', { faults });
      faultsLogged = faults.join();
      const before = current;
      current = new Set(voices.map(({ model }) => model));
      for (const installed of voices) {
        known.set(keyOf(installed.voice), installed);
        folders.set(installed.model, installed.folder);
      }
      for (const model of before) if (!current.has(model)) host.end(model);
      return voices.map(({ voice }) => voice);
    },
    refreshMs,
    mayBeEmpty: true,
  });
  const installedOf = (voice: Voice | undefined) => voice && known.get(keyOf(voice));
  const blendOf = (blend: Blend): Voice | undefined => {
    const made = toBlended(blend, (voiceId) => installedOf(list.voices().find((each) => each.voiceId === voiceId)));
    if (made) known.set(keyOf(made.voice), made);
    return made?.voice;
  };
  /** Replaced with the list. */
  let blending: { list: readonly Voice[]; now: Blending | undefined } | undefined;
  function currentBlending(): Blending | undefined {
    const voices = list.voices();
    if (blending?.list !== voices) {
      const able = voices.flatMap((voice) => installedOf(voice) ?? []).filter((each) => each.isOneOfSeveral);
      const groups = new Map(able.map(({ voice, model }) => [voice.voiceId, model]));
      const now = { groupOf: (id: string) => groups.get(id), blend: (blends: readonly Blend[]) => blends.map(blendOf) };
      blending = { list: voices, now: groups.size > 0 ? now : undefined };
    }
    return blending.now;
  }
  const starting = setTimeout(() => {
    const installed = installedOf(list.voices()[0]);
    if (installed) host.open(installed.model, installed.reading).catch(() => {});
  }, startAfterMs).unref();

  return {
    name: 'onnx',
    get voices() {
      return list.voices();
    },
    get blending() {
      return currentBlending();
    },
    capabilities: {
      speakingRates,
      timings: true,
      seed: true,
      isRepeatable: true,
      readsNumbers: false,
      segmentCharsMax,
      // Sound begins before the segment is computed, so a short segment would not start earlier.
      firstSegmentCharsMax: segmentCharsMax,
      segmentsAtOnce: workers > 2 ? 2 : 1,
      segmentsSpokenMax: workers,
      segmentsPerResource: workers,
      firstSoundMsMax: timeoutMs.firstSound,
      stallMsMax: timeoutMs.stall,
    },
    // Models differ in speed, and so do the waits for them.
    resourceOf: ({ voice }) => installedOf(voice)?.model ?? '',
    toPhonemes(ipa, voice) {
      const installed = installedOf(voice);
      return installed && toGivenPhonemes(ipa, installed.reading);
    },
    async *speak(segment, signal): AsyncGenerator<SpokenPcm> {
      const { voice, text, speakingRate, seed, isAgain, phonemes, timings, isBackground = false } = segment;
      const installed = installedOf(voice);
      if (!installed) throw new Failure('engine_error', {}, new Error(`voice ${voice.voiceId} does not exist`));
      const asked = {
        text: withoutInnerStops(text),
        reading: installed.reading,
        speakers: installed.speakers,
        ...(phonemes && { phonemes }),
        speed: speakingRate,
        seed: seed ?? (isAgain ? 1 : 0),
        gainDb: voice.gainDb,
        timings,
      };
      yield* host.speak(installed.model, asked, signal, isBackground);
    },
    async close() {
      clearTimeout(starting);
      list.close();
      await host.close();
    },
  };
}

async function inspect(dataDir: string): Promise<EngineReport> {
  try {
    const runtime = findRuntime();
    if (!runtime) return { state: 'absent', message: runtimeMissing };
    const { is } = runtime;
    const { voices, faults } = await readVoiceFolders(dataDir, is);
    if (faults.length > 0) return { state: 'broken', message: faults.join('; ') };
    if (voices.length === 0) return { state: 'absent', message: 'no voices are installed' };
    // The first voice of a model decides: it needs no eSpeak NG if another voice does not.
    const models = new Map(voices.toReversed().map((installed) => [installed.model, installed]));
    const host = openVoiceHost(runtime, 1, (model) => models.get(model)!.folder);
    try {
      for (const [model, { reading }] of models) await host.open(model, reading);
    } finally {
      await host.close();
    }
    return {
      state: 'ready',
      message: `${voices.length === 1 ? 'one voice' : `${voices.length} voices`}, with ${is === 'native' ? 'the native library' : 'WebAssembly'}`,
    };
  } catch (error) {
    const cause = error instanceof Failure ? (error.cause as Error | undefined) : undefined;
    return { state: 'broken', message: cause?.message ?? (error as Error).message };
  }
}

const workersMax = 64;

export const onnx = defineEngine({
  name: 'onnx',
  isOptional: true,
  settings: {
    workers: integerSetting({
      name: 'SONANT_ONNX_WORKERS',
      help: 'Workers of a natural voice, each with one thread and about 100 MiB of memory. Default: one for each core, at most 8',
      range: [1, workersMax],
      fallback: Math.min(8, availableParallelism()),
    }),
  },
  inspect: (_settings, dataDir) => inspect(dataDir),
  open: ({ workers }, dataDir, log) => openOnnx({ dataDir, workers, log }),
  // Importing needs many modules that nothing else needs.
  importVoice: async (brought) => (await import('./import-voice.ts')).importVoice(brought),
  models: {
    kinds: ['hibari', 'kokoro', 'piper'],
    folder: voicesFolder,
    packagedFolder,
    library: { name: 'onnxruntime-web', licence: 'MIT', isHere: () => true },
    prepare: async () => {},
    isOwn: (folder) => existsSync(join(folder, cardName)),
    firstModel: 'hibari',
  },
});

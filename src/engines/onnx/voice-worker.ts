// A worker that speaks with one voice's model: a thread or a process (see onnx-runtime.ts).
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { secondsOf } from '../../platform/pcm.ts';
import { freeMemory } from '../../platform/runtime/free-memory.ts';
import { serveTasks } from '../../platform/runtime/host-child.ts';
import type { SpokenPcm } from '../engine.ts';
import { familyOf } from './families.ts';
import type { FamilyModel } from './family.ts';
import { readOnnxModel } from './onnx-file.ts';
import { type OpenGraph, openRuntime, type RuntimeStart } from './onnx-runtime.ts';
import { type SpokenHow, type SpokenPart, speakPart } from './utterance-sound.ts';
import { cardName, modelName, readVoiceCard } from './voice-folders.ts';

export interface VoiceStart {
  runtime: RuntimeStart;
  folder: string;
}

export interface VoiceTask extends SpokenHow {
  parts: readonly SpokenPart[];
}

const warmUp = { parts: [{ phonemes: [...'wˈʌn.'], words: [] }], speed: 1, seed: 0, level: 0, timings: false };

async function openModel(folder: string, openGraph: OpenGraph, is: RuntimeStart['is']): Promise<FamilyModel> {
  const graph = readOnnxModel(await readFile(join(folder, modelName)));
  const family = familyOf(graph);
  if (!family) throw new Error('the model is of an unknown kind');
  return family.open(graph, openGraph, folder, is);
}

serveTasks<VoiceStart, VoiceTask, SpokenPcm>(async ({ runtime, folder }) => {
  /** Whether the task that is spoken was cancelled. */
  let isCancelled = () => false;
  const openGraph = await openRuntime(runtime, async () => {
    // Lets a message that cancels the task arrive.
    await new Promise(setImmediate);
    if (isCancelled()) throw new Error('the task was cancelled');
  });
  const model = await openModel(folder, openGraph, runtime.is);
  // The file of the model and its parts.
  if (runtime.is === 'native') freeMemory();

  async function* speak({ parts, ...how }: VoiceTask) {
    let seconds = 0;
    for (const part of parts) {
      const startSeconds = seconds;
      for await (const piece of speakPart(model, part, how, startSeconds)) {
        seconds += secondsOf(piece);
        yield piece;
      }
      if (seconds === startSeconds) throw new Error('the model gave no sound for a word');
    }
  }

  // Speaking a word compiles the runtime's functions. A voice that is being imported has no card yet.
  if (existsSync(join(folder, cardName))) {
    const [speaker] = (await readVoiceCard(folder)).voices;
    await Array.fromAsync(speak({ ...warmUp, speakers: [{ id: speaker!.id, weight: 1 }] }));
  }
  return async (task, control) => {
    isCancelled = control.isCancelled;
    for await (const piece of speak(task)) control.send([piece], [piece.samples.buffer]);
  };
});

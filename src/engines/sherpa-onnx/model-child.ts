// The child process in which one model is loaded, because the library exits its process on invalid input. The process
// is a worker of the host in model-pool.ts. After a cancel, no more pieces are sent, and the task ends as soon as the
// library stops.
import { createHook } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { serveTasks } from '../../platform/runtime/host-child.ts';
import type { SpokenPcm } from '../engine.ts';
import { toSamples } from '../float-samples.ts';

export interface ModelStart {
  /** Path of the library's module. */
  library: string;
  config: object;
}

export interface ModelRequest {
  text: string;
  generationConfig: Readonly<Record<string, unknown>>;
}

/** Audio, or the fault in the audio. */
export type ModelPiece = SpokenPcm | { fault: string };

/** The part of the library that is used here. */
interface Library {
  OfflineTts: { createAsync(config: object): Promise<LoadedModel> };
}

interface LoadedModel {
  sampleRate: number;
  generateAsync(
    request: ModelRequest & { enableExternalBuffer: boolean; onProgress(piece: { samples: Float32Array }): number },
  ): Promise<{ samples: Float32Array }>;
}

/** How long the library may take to settle its promise after its work has ended. */
const settleMsMax = 500;

/** Number of the running task; 0 if there is none. */
let running = 0;
let taskCount = 0;

/** If the model fails, the library's promise never settles; an async hook notices that the library's work has ended. */
function watchWork(): void {
  const works = new Set<number>();
  createHook({
    init(asyncId, type) {
      if (/^TtsGenerate\w*Worker$/.test(type)) works.add(asyncId);
    },
    after(asyncId) {
      if (!works.delete(asyncId)) return;
      const task = running;
      setTimeout(() => {
        if (running === task) process.kill(process.pid, 'SIGKILL');
      }, settleMsMax);
    },
  }).enable();
}

serveTasks<ModelStart, ModelRequest, ModelPiece>(async ({ library, config }) => {
  watchWork();
  const { OfflineTts } = createRequire(import.meta.url)(library) as Library;
  const model = await OfflineTts.createAsync(config);
  return async (request, { isCancelled, send }) => {
    running = ++taskCount;
    let isFaulty = false;
    try {
      await model.generateAsync({
        ...request,
        enableExternalBuffer: false,
        onProgress({ samples: floats }) {
          if (isCancelled() || isFaulty) return 0;
          const samples = toSamples(floats);
          isFaulty = samples === undefined;
          if (samples) send([{ samples, sampleRateHz: model.sampleRate }]);
          return isFaulty ? 0 : 1;
        },
      });
    } finally {
      running = 0;
    }
    if (isFaulty) send([{ fault: 'the model generated samples that are not numbers' }]);
  };
});

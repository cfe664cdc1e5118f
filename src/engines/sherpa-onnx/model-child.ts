// The child process in which one model lives, because the library ends the process it is in at what it does not like. It
// is forked by model-process.ts, and messages go both ways:
//     to it      {do:'load', config}   {do:'speak', id, request}   {do:'stop', id}
//     from it    {is:'ready'}   {is:'piece', id, samples, sampleRateHz}*   {is:'done', id}   {is:'failed', id, message}
// One request at a time; after 'stop' no piece follows, and 'done' as soon as the library can be stopped. It ends when
// the process that forked it is gone.
import { createHook } from 'node:async_hooks';
import { createRequire } from 'node:module';

export interface ModelRequest {
  text: string;
  generationConfig: Readonly<Record<string, unknown>>;
}

export type ToChild =
  | { do: 'load'; config: object }
  | { do: 'speak'; id: number; request: ModelRequest }
  | { do: 'stop'; id: number };

export type FromChild =
  | { is: 'ready' }
  | { is: 'piece'; id: number; samples: Int16Array; sampleRateHz: number }
  | { is: 'done'; id: number }
  | { is: 'failed'; id: number; message: string };

/** The part of the library that is used. */
interface Library {
  OfflineTts: { createAsync(config: object): Promise<LoadedModel> };
}

interface LoadedModel {
  sampleRate: number;
  generateAsync(
    request: ModelRequest & { enableExternalBuffer: boolean; onProgress(piece: { samples: Float32Array }): number },
  ): Promise<{ samples: Float32Array }>;
}

/** A sample at full scale is taken for a clipped one. */
const peak = 32_766;

/** How long after its work has ended the library may take to say so. */
const settleMsMax = 500;

const tell = (message: FromChild): void => void process.send?.(message);

function toSamples(floats: Float32Array): Int16Array {
  const samples = new Int16Array(floats.length);
  for (const [i, value] of floats.entries()) samples[i] = Math.round(Math.max(-1, Math.min(1, value || 0)) * peak);
  return samples;
}

let loaded: Promise<LoadedModel> | undefined;
let stopped = 0;
let running = 0;

const end = (): void => void process.kill(process.pid, 'SIGKILL');

/** Where the model itself fails, the library's work ends and its promise never does. That the work has ended, Node knows. */
function watchWork(): void {
  const works = new Set<number>();
  createHook({
    init(asyncId, type) {
      if (/^TtsGenerate\w*Worker$/.test(type)) works.add(asyncId);
    },
    after(asyncId) {
      if (!works.delete(asyncId)) return;
      const id = running;
      setTimeout(() => {
        if (running === id) end();
      }, settleMsMax);
    },
  }).enable();
}

async function load(config: object): Promise<LoadedModel> {
  const library = createRequire(import.meta.url)('sherpa-onnx-node') as Library;
  const model = await library.OfflineTts.createAsync(config);
  tell({ is: 'ready' });
  return model;
}

async function speak(id: number, request: ModelRequest): Promise<void> {
  const model = await loaded!;
  if (stopped === id) return tell({ is: 'done', id });
  running = id;
  await model.generateAsync({
    ...request,
    enableExternalBuffer: false,
    onProgress({ samples }) {
      if (stopped === id) return 0;
      tell({ is: 'piece', id, samples: toSamples(samples), sampleRateHz: model.sampleRate });
      return 1;
    },
  });
  running = 0;
  tell({ is: 'done', id });
}

process.on('message', (message: ToChild) => {
  if (message.do === 'load') {
    loaded = load(message.config);
    loaded.catch((error: Error) => {
      process.stderr.write(`${error.message}\n`);
      end();
    });
  } else if (message.do === 'stop') {
    stopped = message.id;
  } else {
    const { id, request } = message;
    speak(id, request).catch((error: Error) => {
      running = 0;
      tell({ is: 'failed', id, message: error.message });
    });
  }
});
// There may be threads at work that no exit would wait for in peace.
process.on('disconnect', end);
watchWork();

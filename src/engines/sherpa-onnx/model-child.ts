// The child process in which one model is loaded, because the library exits its process on input that it rejects. It is
// forked by model-process.ts, and messages go both ways:
//     to it      {do:'load', library, config}   {do:'speak', id, request}   {do:'stop', id}
//     from it    {is:'ready'}   {is:'piece', id, samples, sampleRateHz}*   {is:'done', id}   {is:'failed', id, message}
//                {is:'faulty', id, message}: the sound is no sound
// One request at a time; after 'stop' no piece follows, and 'done' as soon as the library can be stopped. The child exits
// when its parent is gone.
import { createHook } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { toSamples } from './float-samples.ts';

export interface ModelRequest {
  text: string;
  generationConfig: Readonly<Record<string, unknown>>;
}

export type ToChild =
  | { do: 'load'; library: string; config: object }
  | { do: 'speak'; id: number; request: ModelRequest }
  | { do: 'stop'; id: number };

export type FromChild =
  | { is: 'ready' }
  | { is: 'piece'; id: number; samples: Int16Array; sampleRateHz: number }
  | { is: 'done'; id: number }
  | { is: 'failed' | 'faulty'; id: number; message: string };

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

/** How long after the end of its work the library may take to settle its promise. */
const settleMsMax = 500;

const send = (message: FromChild): void => void process.send?.(message);

let loaded: Promise<LoadedModel> | undefined;
let stopped = 0;
let running = 0;

const end = (): void => void process.kill(process.pid, 'SIGKILL');

/** When the model itself fails, the library's promise never settles; an async hook sees that its work has ended. */
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

async function load(library: string, config: object): Promise<LoadedModel> {
  const { OfflineTts } = createRequire(import.meta.url)(library) as Library;
  const model = await OfflineTts.createAsync(config);
  send({ is: 'ready' });
  return model;
}

async function speak(id: number, request: ModelRequest): Promise<void> {
  const model = await loaded!;
  if (stopped === id) return send({ is: 'done', id });
  running = id;
  let isFaulty = false;
  await model.generateAsync({
    ...request,
    enableExternalBuffer: false,
    onProgress({ samples }) {
      if (stopped === id || isFaulty) return 0;
      const heard = toSamples(samples);
      isFaulty = heard === undefined;
      if (heard) send({ is: 'piece', id, samples: heard, sampleRateHz: model.sampleRate });
      return isFaulty ? 0 : 1;
    },
  });
  running = 0;
  if (isFaulty) send({ is: 'faulty', id, message: 'the model made samples that are not numbers' });
  else send({ is: 'done', id });
}

process.on('message', (message: ToChild) => {
  if (message.do === 'load') {
    loaded = load(message.library, message.config);
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
      send({ is: 'failed', id, message: error.message });
    });
  }
});
// Killed, not exited: an exit would wait for the library's threads.
process.on('disconnect', end);
watchWork();

// The processes of loaded models: one for each model at most, so many in all, ended after a time without requests. Requests
// come one at a time for a model, and no more at once than there may be processes; the caller sees to that.
import { Failure } from '../../errors.ts';
import type { SpokenPcm } from '../engine.ts';
import type { Model } from './model.ts';
import type { ModelRequest } from './model-child.ts';
import { ModelProcess, type ModelProcessOptions } from './model-process.ts';
import type { Speaker } from './model-voices.ts';
import type { Reference } from './reference.ts';

/** A text and what speaks it. */
export interface SpokenBy {
  model: Model;
  text: string;
  speaker?: Speaker;
  /** The voice to clone, for a model that has no voices. */
  reference?: Reference;
}

export interface ModelPoolOptions {
  /** The path of the library's module. */
  library: string;
  /** How many models are in memory at once. */
  processesMax: number;
  threads: number;
  idleMsMax?: number;
  start?(options: ModelProcessOptions): ModelProcess;
}

const idleMsUsual = 600_000;

/** The state of one model. */
interface Entry {
  process: ModelProcess | undefined;
  isBusy: boolean;
  usedAtMs: number;
  idleTimer: NodeJS.Timeout | undefined;
}

export class ModelPool {
  readonly #options: ModelPoolOptions;
  readonly #entries = new Map<string, Entry>();
  #isClosed = false;

  constructor(options: ModelPoolOptions) {
    this.#options = options;
  }

  async *speak(spokenBy: SpokenBy, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const { folder } = spokenBy.model;
    const entry = this.#entries.get(folder) ?? { process: undefined, isBusy: false, usedAtMs: 0, idleTimer: undefined };
    this.#entries.set(folder, entry);
    clearTimeout(entry.idleTimer);
    entry.isBusy = true;
    try {
      const process = await this.#processOf(spokenBy.model, entry);
      signal.throwIfAborted();
      yield* process.speak(toLibraryRequest(spokenBy), signal);
    } finally {
      entry.isBusy = false;
      entry.usedAtMs = performance.now();
      const { idleMsMax = idleMsUsual } = this.#options;
      if (!this.#isClosed) entry.idleTimer = setTimeout(() => void this.#endIdle(entry), idleMsMax).unref();
    }
  }

  /** Ends every process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { idleTimer } of this.#entries.values()) clearTimeout(idleTimer);
    await Promise.all([...this.#entries.values()].map(({ process }) => process?.kill()));
  }

  /** The model's process, started if need be, after the process that has been idle longest was ended to make room. */
  async #processOf(model: Model, entry: Entry): Promise<ModelProcess> {
    if (entry.process && !entry.process.isGone) return entry.process;
    entry.process = undefined;
    const { library, processesMax, threads, start = (options) => new ModelProcess(options) } = this.#options;
    const alive = [...this.#entries.values()].filter(({ process }) => process && !process.isGone);
    const idle = alive.filter(({ isBusy }) => !isBusy).sort((one, other) => one.usedAtMs - other.usedAtMs);
    for (const each of idle.slice(0, Math.max(0, alive.length + 1 - processesMax))) await this.#endIdle(each);
    if (this.#isClosed) throw new Failure('engine_unavailable');
    entry.process = start({ library, config: toLibraryConfig(model, threads) });
    return entry.process;
  }

  async #endIdle(entry: Entry): Promise<void> {
    const { process } = entry;
    entry.process = undefined;
    await process?.kill();
  }
}

/** Sentence by sentence, so that the first is sent while the next is made. */
const toLibraryConfig = ({ config, rules }: Model, threads: number): object => ({
  model: { ...config, numThreads: threads, provider: 'cpu', debug: false },
  maxNumSentences: 1,
  ...(rules !== '' && { ruleFsts: rules }),
});

/**
 * Speed is always 1: most models round each sound to whole frames, so that twice the speed is 1.8 times; the sound is
 * stretched outside the engine. Pauses stay as the model makes them; the library would shorten them to a fifth.
 */
function toLibraryRequest({ model, text, speaker, reference }: SpokenBy): ModelRequest {
  const { zeroShot } = model;
  const extra = { ...zeroShot?.extra, ...speaker?.extra };
  return {
    text,
    generationConfig: {
      sid: speaker?.sid ?? 0,
      speed: 1,
      silenceScale: 1,
      ...(zeroShot && { numSteps: zeroShot.steps }),
      ...(reference && {
        referenceAudio: Float32Array.from(reference.samples, (sample) => sample / 32_768),
        referenceSampleRate: reference.sampleRateHz,
        referenceText: reference.text,
      }),
      ...(Object.keys(extra).length > 0 && { extra }),
    },
  };
}

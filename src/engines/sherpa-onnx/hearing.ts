// Measures the loudness of the models' speakers in the background: one at a time, in a process with the lowest
// priority, some time after startup. Results are stored beside the model, a few speakers at a time. A speaker that is
// requested is measured next. A model that does not load is reported and tried again later.
import { setTimeout as sleep } from 'node:timers/promises';
import { gainDbFor } from '../../audio/loudness.ts';
import { join as joinSamples, type Pcm } from '../../audio/pcm.ts';
import { Failure } from '../../errors.ts';
import { type Gains, keepGains, readGains } from './gains.ts';
import type { Model } from './model.ts';
import { ModelPool } from './model-pool.ts';
import type { SpokenBy } from './model-request.ts';
import { toModelText } from './model-text.ts';
import { countSpeakers, memoryBytesOf, type Speaker, speakersOf } from './model-voices.ts';
import type { Reference } from './reference.ts';
import { referenceOf } from './voice-samples.ts';

interface HearingOptions {
  /** Returns the path of the library's module. */
  findLibrary(): string | undefined;
  /** How long after startup the first speaker is measured. */
  waitMs?: number | undefined;
  onHeard(model: Model, gains: Gains): void;
  /** Called if a model does not load or speak. */
  onFault(model: Model, error: unknown): void;
}

const waitMsUsual = 5_000;
/** Number of speakers per model that are measured; further speakers get the mean gain of the measured ones. */
const heardMax = 200;
/** Number of speakers measured between two writes of the results. */
const batchMax = 4;
const retryMs = 60_000;
const idleMs = 10_000;

interface Task {
  model: Model;
  /** Known gains. They include gains that could not be stored because the folder is not writable. */
  gains: Gains;
  /** The speaker that was requested last. */
  wanted: number;
  /** Time before which the task does not start. */
  fromMs: number;
}

export class Hearing {
  readonly #options: HearingOptions;
  readonly #closing = new AbortController();
  readonly #pool: ModelPool;
  readonly #readyAtMs: number;
  /** Speakers that could not be measured, although other speakers of their model speak. */
  readonly #failed = new WeakMap<Model, Set<number>>();
  #tasks: Task[] = [];
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HearingOptions) {
    this.#options = options;
    const { findLibrary } = options;
    this.#pool = new ModelPool({
      findLibrary,
      processesMax: 1,
      threadsPerProcess: 1,
      idleMsMax: idleMs,
      isBackground: true,
    });
    this.#readyAtMs = performance.now() + (options.waitMs ?? waitMsUsual);
  }

  /** Sets the offered models and their known gains. */
  setModels(models: readonly { model: Model; gains: Gains }[]): void {
    const known = new Map(this.#tasks.map((task) => [task.model, task]));
    this.#tasks = models
      .filter(({ model, gains }) => this.#positionsLeft(model, gains).length > 0)
      .map(({ model, gains }) => known.get(model) ?? { model, gains, wanted: 0, fromMs: this.#readyAtMs });
    this.#pool.setModels(models.map(({ model }) => model));
    this.#plan();
  }

  /** Measures this speaker next. */
  prefer(model: Model, position: number): void {
    const task = this.#tasks.find((each) => each.model === model);
    if (!task) return;
    task.wanted = position;
    this.#tasks = [task, ...this.#tasks.filter((each) => each !== task)];
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the engine is closed'));
    clearTimeout(this.#timer);
    await this.#pool.close();
    await this.#running?.catch(() => {});
  }

  #positionsLeft(model: Model, gains: Gains): number[] {
    const failed = this.#failed.get(model);
    const positions = Array.from({ length: Math.min(heardMax, countSpeakers(model)) }, (_, position) => position);
    return positions.filter((position) => gains[position] === undefined && !failed?.has(position));
  }

  #plan(): void {
    if (this.#closing.signal.aborted || this.#running) return;
    clearTimeout(this.#timer);
    const soonestMs = Math.min(...this.#tasks.map(({ fromMs }) => fromMs));
    if (soonestMs === Infinity) return;
    const begin = () => {
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
        this.#plan();
      });
    };
    this.#timer = setTimeout(begin, Math.max(0, soonestMs - performance.now())).unref();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    const nextTask = () => this.#tasks.find(({ fromMs }) => fromMs <= performance.now());
    for (let task = nextTask(); task && !signal.aborted; task = nextTask()) {
      try {
        // The task is tried again later if there is not enough memory.
        if (process.availableMemory() < memoryBytesOf(task.model)) task.fromMs = performance.now() + retryMs;
        else await this.#hearSome(task);
      } catch (error) {
        if (signal.aborted) return;
        task.fromMs = performance.now() + retryMs;
        if (this.#tasks.includes(task)) this.#options.onFault(task.model, error);
      }
      await sleep(0);
    }
  }

  /** Measures a few speakers of a model, and then moves the model to the end of the queue. */
  async #hearSome(task: Task): Promise<void> {
    const { signal } = this.#closing;
    const { model, wanted } = task;
    const stored = await readGains(model);
    const gains = stored.map((gain, position) => gain ?? task.gains[position]);
    const speakers = speakersOf(model, () => 0);
    const left = this.#positionsLeft(model, gains);
    const inTurn = left.includes(wanted) ? [wanted, ...left.filter((position) => position !== wanted)] : left;
    for (const position of inTurn.slice(0, batchMax)) {
      const isFirst = gains.every((gain) => gain === undefined);
      try {
        gains[position] = await hearSpeaker(model, speakers[position]!, this.#pool, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (isFirst && !model.blended) throw error;
        this.#failed.set(model, (this.#failed.get(model) ?? new Set()).add(position));
      }
    }
    task.gains = gains;
    await keepGains(model, gains);
    signal.throwIfAborted();
    const others = this.#tasks.filter((each) => each !== task);
    const isDone = this.#positionsLeft(model, gains).length === 0;
    this.#tasks = isDone ? others : [...others, task];
    this.#options.onHeard(model, gains);
  }
}

const audiblePeak = 300;
const auditionMsMax = 120_000;

const sentences: Readonly<Record<string, string>> = {
  de: 'Das Schiff verließ den Hafen früh am Morgen, lange bevor die Sonne aufging.',
  en: 'The boat left the harbour early, long before the sun came up. Nobody on the quay had seen it.',
  es: 'El barco salió del puerto muy temprano, mucho antes de que saliera el sol.',
  fr: 'Le bateau a quitté le port tôt le matin, bien avant le lever du soleil.',
  hi: 'सूरज निकलने से बहुत पहले, नाव सुबह सवेरे बंदरगाह से निकल गई।',
  it: 'La barca lasciò il porto la mattina presto, molto prima che sorgesse il sole.',
  ja: 'ふねは、ひがのぼるずっとまえに、みなとをでました。',
  pt: 'O barco deixou o porto de manhã cedo, muito antes do nascer do sol.',
  ru: 'Лодка вышла из гавани рано утром, задолго до восхода солнца.',
  zh: '天还没亮，那条船就早早地离开了港口。',
};

/** Numbers, which every model can read, for a language without a sentence, or a model that lacks one of its words. */
const numbers = '1, 2, 3, 4, 5, 6, 7, 8, 9, 10.';

function auditionText(model: Model, languageCode: string): string {
  try {
    return toModelText(sentences[new Intl.Locale(languageCode).language] ?? numbers, model);
  } catch {
    return toModelText(numbers, model);
  }
}

/** A pulsed buzz that resembles a voice, as the reference for models that clone. */
function buzz({ modelId, sampleRateHz }: Model): Reference {
  const sampleAt = (_: unknown, i: number) => {
    const seconds = i / sampleRateHz;
    return 20_000 * ((120 * seconds) % 1) * Math.abs(Math.sin(6 * seconds)) - 5_000;
  };
  const samples = Int16Array.from({ length: 3 * sampleRateHz }, sampleAt);
  return { modelId, samples, sampleRateHz, text: 'Hello there.' };
}

async function speakAll(spokenBy: SpokenBy, pool: ModelPool, signal?: AbortSignal): Promise<Pcm> {
  const timeout = AbortSignal.timeout(auditionMsMax);
  const pieces = await Array.fromAsync(pool.speak(spokenBy, signal ? AbortSignal.any([signal, timeout]) : timeout));
  const parts = pieces.map((piece) => piece.samples);
  const samples = joinSamples(Int16Array, parts);
  if (samples.length === 0) throw new Failure('engine_error', {}, new Error('the model generated no audio'));
  return { samples, sampleRateHz: pieces[0]!.sampleRateHz };
}

/** Speaks a sentence with the speaker, and returns the speaker's gain. Throws if the model does not speak. */
async function hearSpeaker(model: Model, speaker: Speaker, pool: ModelPool, signal?: AbortSignal): Promise<number> {
  const { sample, voice } = speaker;
  const text = auditionText(model, voice.languageCodes[0]!);
  const by = { model, speaker, text, ...(sample && { reference: await referenceOf(model, sample) }) };
  const pcm = await speakAll(by, pool, signal);
  if (!pcm.samples.some((value) => Math.abs(value) > audiblePeak)) {
    throw new Failure('engine_error', {}, new Error(`${voice.voiceId} generates no audio`));
  }
  return Math.round(10 * gainDbFor(pcm)) / 10;
}

/**
 * Speaks a sentence with the model's first speaker, and returns the speaker's gain. Throws if the model does not speak.
 */
export async function tryOutModel(model: Model, pool: ModelPool): Promise<number | undefined> {
  const [speaker] = speakersOf(model, () => 0);
  if (speaker) return hearSpeaker(model, speaker, pool);
  await speakAll({ model, text: 'Hello there.', reference: buzz(model) }, pool);
  return undefined;
}

/** Tries out a model before it is imported, and stores the measured gain beside the model. */
export async function auditionModel(model: Model, pool: ModelPool): Promise<void> {
  const gain = await tryOutModel(model, pool);
  if (gain !== undefined) await keepGains(model, [gain]);
}

/** The reason why a model does not speak, for operators. */
export function auditionFault(model: Model, error: unknown): string {
  const { cause, message } = error as Error;
  return `${model.modelId} cannot be loaded or does not speak: ${cause instanceof Error ? cause.message : message}`;
}

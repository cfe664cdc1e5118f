// Turns text into audio. `speak` waits for the scheduler, has engines speak the segments slightly ahead of the reader,
// and joins their audio into one valid file. If an engine fails before the first audio, the voice's next engine takes
// over. A stream that ends without an error contains the whole text.
import { setImmediate as yieldTurn } from 'node:timers/promises';
import type { Caller } from '../accounts.ts';
import {
  createEngineGuards,
  type Engine,
  type EngineGuards,
  type Listen,
  type Segment,
  type SpokenPcm,
  type TakeTurn,
  type Turn,
} from '../engines.ts';
import { Failure, invalidField } from '../platform/errors.ts';
import { type Pace, slowMs } from '../platform/pace.ts';
import { firstOf, onAbort } from '../platform/runtime/abort.ts';
import type { Place } from './background.ts';
import { bestCasting, type Casting, findVoice, type Marking, type PlannedCut } from './cast.ts';
import type { LiveText } from './live-text.ts';
import { type CutPlan, type CutSource, createPlan, cutsOf, type Feed, type Plan } from './plan.ts';
import type { SpeechRequest } from './request.ts';
import { demandOf, kindOf, Schedule } from './schedule.ts';
import { type SpeakTurnOptions, toTurn } from './speak-turn.ts';
import type { Meter, SpeechDone, SpeechEvent } from './speech-events.ts';
import {
  type CallAdmission,
  type KeepSegment,
  type RunKept,
  type Speaking,
  type SpeakOptions,
  SpokenPlan,
  type Utterance,
} from './spoken-plan.ts';
import type { Lexicons } from './text-reading.ts';
import type { Verifier } from './verification.ts';
import type { Binding, Voices } from './voice.ts';

export interface Speech {
  /**
   * Plans the request, without cutting its texts. Rejects if a voice or lexicon does not exist for the caller. Without
   * lexicons, those bound to voices are also left out.
   */
  plan(request: SpeechRequest, caller: Caller, options?: { hasLexicons: boolean }): Promise<Plan>;
  /** Throws `overloaded` if a stream for the request would be refused at once. Does not look at the text. */
  checkCapacity(request: SpeechRequest, caller: Caller): Promise<void>;
  /** Synthesizes a planned request. Without a pace, the reader is never slow. */
  speak(plan: Plan, caller: Caller, signal: AbortSignal, options?: SpeakOptions): AsyncGenerator<SpeechEvent, void>;
  /**
   * Speaks a feed in the background and stores each segment with `keep`. The call takes no slot and yields to
   * interactive requests. Uses only the best engines: if one fails, the call fails.
   */
  speakKept(plan: Plan, feed: Feed, options: SpeakKeptOptions): AsyncIterable<SpeechEvent>;
  /** Plans and synthesizes a request. */
  streamSpeech(request: SpeechRequest, caller: Caller, signal: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  /** Speaks a turn of live speech while its text arrives. Takes a slot only while something is spoken. */
  speakTurn(plan: Plan, text: LiveText, options: SpeakTurnOptions): AsyncGenerator<SpeechEvent, void>;
  /** Waits until the owner may have the engine make a clone. Owners take turns at an engine that limits clones. */
  turnToClone(engine: Engine, owner: string, signal: AbortSignal): Promise<Turn>;
  /** Tests a new clone: has the engine speak a segment that belongs to no request. */
  speakClone(engine: Engine, segment: Segment, signal: AbortSignal): AsyncIterable<SpokenPcm>;
  /** Milliseconds until the engine of the binding may be called again; 0 if it may be called now. */
  restMs(binding: Binding): number;
}

interface SpeakKeptOptions {
  caller: Caller;
  signal: AbortSignal;
  keep: KeepSegment;
  /** Changes the pauses between the cuts. */
  addPauses?: ((cuts: AsyncIterable<PlannedCut>) => AsyncGenerator<PlannedCut, undefined>) | undefined;
}

interface SpeechOptions {
  voices: Voices;
  /** Default: no lexicons. */
  lexicons?: Lexicons | undefined;
  schedule: Schedule;
  guards?: EngineGuards;
  /** Information for the origin of files. Default: files do not state their origin. */
  marking?: Marking | undefined;
  /** Default: requests with `verify` are refused. */
  verifier?: Verifier | undefined;
  /** Longest wait before a request begins. Default: no limit. */
  waitMsMax?: number | undefined;
}

/** Owner of the segments of new clones. Engines are shared fairly between owners, so every segment needs one. */
const ownerOfClones = 'cloning';

export function createSpeech(options: SpeechOptions): Speech {
  const { voices, lexicons, marking, schedule, guards: guardOf = createEngineGuards(), verifier, waitMsMax } = options;
  const clones = new Schedule({ speakingMax: Infinity, waitingMax: Infinity });
  const restMs = ({ engine, speaker, openClone }: Binding) =>
    guardOf(engine).restMs(speaker.voiceId, openClone !== undefined);

  const plan = async (request: SpeechRequest, caller: Caller, { hasLexicons } = { hasLexicons: true }) => {
    if (request.verify && !verifier) throw unverifiable();
    const used = hasLexicons ? lexicons : undefined;
    return voices.findCurrent(() => createPlan(request, caller, { voices, lexicons: used, marking }));
  };
  const listenFor = ({ verify }: SpeechRequest, caller: Caller): Listen | undefined =>
    verify && verifier?.(caller.accountId);

  /**
   * Runs the work with the best engine of the voice that may be called now. If that engine has used up its segments per
   * minute, adds it to `failed` and tries the next engine.
   */
  async function atReadiest<Result>(
    bindings: readonly Binding[],
    attempt: (binding: Binding) => Result | Promise<Result>,
    failed = new Set<Binding>(),
  ): Promise<Result> {
    for (;;) {
      const left = bindings.filter((binding) => !failed.has(binding));
      const binding = readiest(left, restMs);
      try {
        return await attempt(binding);
      } catch (error) {
        if (left.length === 1 || !isOfEngine(error)) throw error;
        failed.add(binding);
      }
    }
  }

  const speak: Speech['speak'] = ({ request, main, ended, cut }, caller, signal, options) => {
    const failed = new Set<Binding>();
    const begin = (binding: Binding) => schedule.begin(demandOf(binding, request, caller, waitMsMax), signal);
    return speakAll({
      cut,
      admit: () => atReadiest(main.bindings, begin, failed),
      signal: firstOf(signal, ended),
      isBulk: kindOf(request) === 'bulk',
      listen: listenFor(request, caller),
      deadlineMs: caller.deadlineMs,
      failed,
      ...options,
    });
  };

  /**
   * Speaks with the best available engines. If the engine of a voice fails before the first audio, tries the voice's
   * next engine.
   */
  async function* speakAll({ cut: cutFor, admit, openMeter, failed = new Set(), ...given }: Utterance) {
    const { signal, pace, kept } = given;
    const casting: Casting = ({ bindings }) => {
      const left = bindings.filter((binding) => !failed.has(binding));
      return left.length > 0 ? readiest(left, restMs) : bindings[0]!;
    };
    let meter: Meter | undefined;
    let admission: CallAdmission | undefined;
    try {
      meter = await openMeter?.();
      admission = await admit();
      // A reader that has stopped reading must not keep its seat.
      using _ = onAbort(signal, () => admission?.end());
      const speaking: Speaking = { ...given, guardOf, take: admission.turn };
      for (let isOver = false; !isOver; ) {
        const plan = await cutFor(casting);
        const voicing = new SpokenPlan(plan, speaking);
        const { events, sound } = voicing;
        const cuts = new Prefetch(plan.cuts, { speak: voicing.speak, atOnce: kept ? 1 : atOnceOf(plan), pace });
        let isHeard = false;
        const hear = (event: SpeechEvent) => {
          isHeard = true;
          if (event.type === 'info' || event.type === 'audio') admission!.heard();
          return meter?.count(event);
        };
        try {
          // The binding is opened before a slot is used or the engine is called.
          await voicing.open();
          for (let begun = await cuts.next(); begun; begun = await cuts.next()) {
            const { cut, speech } = begun;
            const at = await voicing.begin(cut);
            for (let isSpoken = false; !isSpoken; ) {
              const { done, value } = await speech.next();
              isSpoken = done === true;
              for (const bytes of done ? sound.finish(cut) : sound.push(cut, value)) {
                for (const event of events.put(bytes, at, false)) {
                  await hear(event);
                  yield event;
                  if (event.type === 'chunk_done') admission.partDone?.();
                }
                await yieldTurn();
                signal.throwIfAborted();
              }
            }
            for (const event of voicing.finish(cut, at)) {
              await hear(event);
              yield event;
              if (event.type === 'chunk_done') admission.partDone?.();
            }
          }
          const heard = voicing.heard();
          let later: Promise<SpeechDone> | undefined;
          // A live turn ends its places itself, and the next turn does not wait for a recognizer. Other calls wait for it,
          // but give up their place first.
          if (admission.partDone) later = heard?.then(() => voicing.done());
          else {
            admission.end();
            await heard;
            signal.throwIfAborted();
          }
          const done = { ...voicing.done(), later };
          await hear(done);
          yield done;
          isOver = true;
        } catch (error) {
          signal.throwIfAborted();
          const { bindings, binding } = voicing.present;
          const others = bindings.filter((other) => other !== binding && !failed.has(other));
          if (kept || isHeard || others.length === 0 || !isOfEngine(error)) throw error;
          failed.add(binding);
        } finally {
          cuts.close();
          voicing.close();
        }
      }
    } finally {
      admission?.end();
      await meter?.end();
    }
  }

  return {
    plan,
    async checkCapacity(given, caller) {
      const { request, main } = await voices.findCurrent(() => findVoice(voices.usableBy(caller), given));
      await atReadiest(main.bindings, (binding) => schedule.check(demandOf(binding, request, caller, waitMsMax)));
    },
    speak,
    speakTurn(turnPlan, text, given) {
      const listen = listenFor(turnPlan.request, given.caller);
      return speakAll({ ...toTurn({ schedule, waitMsMax }, turnPlan, text, given), listen });
    },
    async *streamSpeech(request, caller, signal) {
      yield* speak(await plan(request, caller), caller, signal);
    },
    speakKept(plan, feed, { caller, signal, keep, addPauses }) {
      const { accountId } = caller;
      // One segment is spoken at a time.
      let place: Place | undefined;
      const turn: TakeTurn = async (seat, _, by) => {
        await place?.take();
        return schedule.turn(accountId, seat, 'background', by);
      };
      const run: RunKept = (by, work) =>
        schedule.background(accountId, by, (until, own) => {
          place = own;
          return work(until);
        });
      const admit = () => ({ turn, heard() {}, end() {} });
      const hear = listenFor(plan.request, caller);
      // While a recognizer hears a segment, other work has the processor.
      const listen: Listen | undefined =
        hear &&
        ((...take) => {
          place?.leave();
          return hear(...take);
        });
      const cut = async () => {
        const cutPlan = await plan.cut(bestCasting, feed);
        return addPauses ? { ...cutPlan, cuts: addPauses(cutsOf(cutPlan.cuts)) } : cutPlan;
      };
      return speakAll({ cut, admit, signal, kept: { keep, run }, listen });
    },
    turnToClone({ name, cloning }, owner, signal) {
      const engine = { name, capabilities: { segmentsPerMinute: cloning?.clonesPerMinute ?? Infinity } };
      return clones.turn(owner, { engine, resource: undefined, isClone: false }, 'first', signal);
    },
    speakClone: (engine, segment, signal) =>
      guardOf(engine).speak(segment, signal, {
        take: (seat, _, by) => schedule.turn(ownerOfClones, seat, 'first', by),
      }),
    restMs,
  };
}

function unverifiable(): Failure {
  const message = 'is not supported: this service has no transcription server (SONANT_TRANSCRIPTION_URL)';
  return invalidField('verify', 'unsupported', message);
}

/** Returns the best engine that may be called now; if none may be called, the best of all engines. */
const readiest = (bindings: readonly Binding[], restMs: (binding: Binding) => number): Binding =>
  bindings.toSorted((a, b) => Math.sign(restMs(a)) - Math.sign(restMs(b)))[0]!;

const isOfEngine = (error: unknown): boolean => error instanceof Failure && error.reason.startsWith('engine_');

const atOnceOf = ({ bindings }: CutPlan): number =>
  Math.max(...bindings.map(({ engine }) => engine.capabilities.segmentsAtOnce));

/** A cut and its speech, which has started. */
interface Begun<Cut, Piece> {
  cut: Cut;
  speech: AsyncIterator<Piece>;
}

interface PrefetchOptions<Cut, Piece> {
  /** Starts the speech of a cut. */
  speak(cut: Cut): AsyncIterator<Piece>;
  /** Maximum number of started cuts. */
  atOnce: number;
  pace?: Pace | undefined;
}

/**
 * Starts the next cuts of a request, up to a limit, while the current one is read, and returns them in order. A cut starts
 * only when the reader reads, so a reader that stops also stops the engine. For a slow reader (pace.ts), started cuts are
 * dropped and spoken again later, because buffered audio is large.
 */
export class Prefetch<Cut, Piece> {
  readonly #cuts: CutSource<Cut>;
  readonly #speak: (cut: Cut) => AsyncIterator<Piece>;
  readonly #unwatch: (() => void) | undefined;
  /** The cut being read and those after it. Without speech, a cut has not started or was dropped. */
  readonly #queue: { cut: Cut; speech: AsyncIterator<Piece> | undefined }[] = [];
  #begunMax: number;
  #isReading = false;
  #isClosed = false;
  /** Set while a cut is awaited. */
  #awaited: Promise<void> | undefined;
  /** Set when the source has ended; contains `error` if the source failed. */
  #over: { error?: unknown } | undefined;

  constructor(cuts: CutSource<Cut>, { speak, atOnce, pace }: PrefetchOptions<Cut, Piece>) {
    this.#cuts = cuts;
    this.#speak = speak;
    this.#begunMax = atOnce;
    this.#unwatch = pace?.after(slowMs, () => this.#dropPrefetched());
  }

  /** The next cut, once the present one was read; undefined after the last one. */
  async next(): Promise<Begun<Cut, Piece> | undefined> {
    if (this.#isReading) this.#queue.shift();
    for (;;) {
      this.#fill();
      const [first] = this.#queue;
      this.#isReading = first !== undefined;
      if (first) {
        first.speech ??= this.#speak(first.cut);
        return { cut: first.cut, speech: first.speech };
      }
      if (this.#over && 'error' in this.#over) throw this.#over.error;
      if (this.#over) return undefined;
      await this.#awaited;
    }
  }

  /** Ends the source of cuts and all started speech. */
  close(): void {
    this.#isClosed = true;
    this.#unwatch?.();
    for (const { speech } of this.#queue) end(speech);
    // The result is not awaited, because an asynchronous source first completes its pending cut.
    const ended = this.#cuts.return?.(undefined);
    if (ended instanceof Promise) ended.catch(() => {});
  }

  #dropPrefetched(): void {
    this.#begunMax = 1;
    for (const entry of this.#queue.slice(1)) {
      end(entry.speech);
      entry.speech = undefined;
    }
  }

  /** Pulls cuts while there is room, one at a time if the source is asynchronous. */
  #fill(): void {
    while (!this.#over && !this.#awaited && !this.#isClosed && this.#queue.length < this.#begunMax) {
      const next = this.#cuts.next();
      if (!('then' in next)) this.#add(next);
      else
        this.#awaited = next
          .then((result) => this.#add(result))
          .catch((error: unknown) => {
            this.#over = { error };
          })
          .then(() => {
            this.#awaited = undefined;
            this.#fill();
          });
    }
  }

  #add({ done, value }: IteratorResult<Cut, undefined>): void {
    if (done) this.#over = {};
    else if (!this.#isClosed) this.#queue.push({ cut: value, speech: this.#speak(value) });
  }
}

const end = (speech: AsyncIterator<unknown> | undefined): void => void speech?.return?.()?.catch(() => {});

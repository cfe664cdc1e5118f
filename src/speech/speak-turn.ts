// Speaks a turn of live speech while its text arrives. The scheduler admits the turn only while a part is ready or
// being spoken. The caller's concurrency slot is kept until the text pauses, so that the caller's other requests do not
// interrupt the turn.
import type { Caller } from '../accounts.ts';
import type { TakeTurn } from '../engines.ts';
import { firstOf, onAbort } from '../platform/runtime/abort.ts';
import type { LiveText } from './live-text.ts';
import type { FileOfTurns } from './live-turn.ts';
import type { Plan } from './plan.ts';
import { type Admission, liveDemandOf, type Schedule } from './schedule.ts';
import type { SpeakOptions, Utterance } from './spoken-plan.ts';

/** The caller's concurrency slot and charges during live speech. */
export interface LivePlace {
  /** Charges the characters of a part, and takes a slot if none is held. */
  take(chars: number): Promise<void>;
  /** Releases the slot while nothing is spoken. */
  rest(): void;
}

export interface SpeakTurnOptions extends SpeakOptions {
  caller: Caller;
  signal: AbortSignal;
  place: LivePlace;
  file?: FileOfTurns;
}

/** Longest time for which a turn keeps its slot while nothing is spoken and the text has not paused. */
const placeKeptMsMax = 10_000;

export function toTurn(
  { schedule, waitMsMax }: { schedule: Schedule; waitMsMax: number | undefined },
  { request, main, ended, cut }: Plan,
  text: LiveText,
  { caller, signal, place, ...options }: SpeakTurnOptions,
): Utterance {
  const leaving = new AbortController();
  const own = firstOf(signal, ended);
  const until = AbortSignal.any([own, leaving.signal]);
  const [binding] = main.bindings;
  const { languageCode } = request;
  const turnPlace = createTurnPlace(text, place, (chars) =>
    schedule.begin(liveDemandOf(binding!, { chars, languageCode }, caller, waitMsMax), until),
  );
  const feed = { part: (index: number) => text.part(index), take: turnPlace.take, isDivided: true };
  return {
    ...options,
    cut: (casting) => cut(casting, feed),
    // A recognizer may hear a turn that is over.
    signal: own,
    admit() {
      const watch = onAbort(until, () => text.fail(until.reason));
      const end = () => {
        leaving.abort(new Error('the turn is over'));
        turnPlace.close();
        watch[Symbol.dispose]();
      };
      return { ...turnPlace, end };
    },
  };
}

export function createTurnPlace(text: LiveText, place: LivePlace, begin: (chars: number) => Promise<Admission>) {
  let admission: Admission | undefined;
  let isClosed = false;
  /** Admissions of the parts. All engines that speak a part share its admission. */
  const parts: Promise<void>[] = [];
  let done = 0;
  let resting: NodeJS.Timeout | undefined;
  const isCaughtUp = () => done === parts.length && !text.hasPart(parts.length);
  const rest = () => {
    clearTimeout(resting);
    if (isCaughtUp()) place.rest();
  };
  const end = () => {
    admission?.end();
    admission = undefined;
  };
  const takePart = async (chars: number) => {
    clearTimeout(resting);
    admission ??= await begin(chars);
    if (isClosed) {
      end();
      throw new Error('the turn is over');
    }
    await place.take(chars);
  };
  const turn: TakeTurn = async (...asked) => {
    if (!admission) throw new Error('no part of the turn is spoken');
    return admission.turn(...asked);
  };
  text.onQuiet = rest;
  return {
    /** Admits a part once. Each engine that speaks the part awaits the same admission. */
    take(index: number, chars: number): Promise<void> {
      parts[index] ??= takePart(chars);
      return parts[index];
    },
    turn,
    heard: (): void => admission?.heard(),
    partDone(): void {
      done++;
      if (!isCaughtUp()) return;
      end();
      if (text.isQuiet) rest();
      else resting = setTimeout(rest, placeKeptMsMax).unref();
    },
    close(): void {
      isClosed = true;
      end();
      clearTimeout(resting);
      place.rest();
    },
  };
}

// Simulates streams at the scheduler, with its own clock: how long they wait, how soon they have audio, how long a
// listener waits midway, and how busy the engine is. Half of the texts have one segment; the others have several, which
// are read slightly ahead of playback. Bulk texts are requested continuously.
import { setImmediate as settle } from 'node:timers/promises';
import type { Failure } from '../../../src/platform/errors.ts';
import { type Admission, Schedule } from '../../../src/speech/schedule.ts';
import { demandAt, never, seatAt } from './open-schedule.ts';

export interface SimulatedStreams {
  /** Offered load relative to the engine's capacity. */
  offered: number;
  seats: number;
  /** Segments of the longer texts. */
  segments?: number;
  /** Duration of a segment relative to a fast engine. */
  slowness?: number;
  /** Reading speed relative to playback. */
  readSpeed?: number;
  owners?: number;
  bulkClients?: number;
}

const first = { chars: 60, ms: 110 };
const later = { chars: 160, ms: 260 };
const charsPerSecond = 14.5;
const secondsAhead = 2;
const simulatedMs = 300_000;
const clientsMs = 60_000;
/** Time before anything is counted. */
const warmUpMs = 10_000;
const patienceMs = 5000;
/** Standard deviation of the logarithm of a segment's duration. */
const sigma = 0.3;

export async function simulateStreams(load: SimulatedStreams) {
  const { offered, seats, segments = 6, slowness = 1, readSpeed = 3, owners = 5, bulkClients = 0 } = load;
  const random = randomNumbers();
  const { now, sleep, run } = createClock();
  const schedule = new Schedule({ speakingMax: 64, waitingMax: 256, now });
  const seat = seatAt({ segmentsSpokenMax: seats });
  const waitMs: number[] = [];
  const firstMs: number[] = [];
  const gapMs: number[] = [];
  const bulkMs: number[] = [];
  let busyMs = 0;

  const speak = async (admission: Admission, urgent: boolean) => {
    const turn = await admission.turn(seat, urgent, never);
    const ms = slowness * (urgent ? first : later).ms * Math.exp(sigma * gaussian(random));
    await sleep(ms);
    if (now() > warmUpMs && now() < simulatedMs) busyMs += ms;
    turn.end();
  };

  async function stream(n: number, count: number, isBulk: boolean): Promise<void> {
    const owner = `owner ${n % owners}`;
    const demand = demandAt(seat, { owner, kind: isBulk ? 'bulk' : 'interactive' });
    const askedMs = now();
    const leaving = new AbortController();
    // The scheduler's timers use the real clock, so the longest wait is simulated here.
    if (!isBulk) {
      schedule.check({ ...demand, waitMsMax: patienceMs });
      void sleep(patienceMs).then(() => leaving.abort(new Error('too long')));
    }
    const admission = await schedule.begin(demand, leaving.signal);
    const begunMs = now();
    let heardMs = 0;
    let madeMs = 0;
    let gap = 0;
    for (let i = 0; i < count; i++) {
      await speak(admission, i === 0 && !isBulk);
      if (i === 0) heardMs = now();
      gap = Math.max(gap, now() - heardMs - madeMs);
      admission.heard();
      madeMs += ((i === 0 ? first : later).chars / charsPerSecond) * 1000;
      if (!isBulk) await sleep(heardMs + (madeMs - 1000 * secondsAhead) / readSpeed - now());
    }
    admission.end();
    if (askedMs < warmUpMs || now() > simulatedMs) return;
    if (isBulk) bulkMs.push(now() - askedMs);
    else {
      waitMs.push(begunMs - askedMs);
      firstMs.push(heardMs - begunMs);
      if (count > 1) gapMs.push(gap);
    }
  }

  const meanMs = (slowness * (2 * first.ms + (segments - 1) * later.ms)) / 2;
  let [asked, refused] = [0, 0];
  const arrive = async () => {
    while (now() < simulatedMs) {
      const count = random() < 0.5 ? 1 : segments;
      stream(asked++, count, false).catch(() => refused++);
      await sleep((-Math.log(1 - random()) * meanMs) / seats / offered);
    }
  };
  const repeat = async (n: number) => {
    while (now() < simulatedMs) await stream(n, segments, true);
  };
  await run([arrive(), ...Array.from({ length: bulkClients }, (_, n) => repeat(n))], simulatedMs);
  return {
    /** Longest time from the request to its admission. */
    waitMs: Math.max(0, ...waitMs),
    /** Median time from the admission to the first audio. */
    firstMs: quantileOf(firstMs, 0.5),
    /** The longest wait of a listener midway through a stream. */
    gapMs: Math.max(0, ...gapMs),
    /** The share of the time during which the engine is busy. */
    busy: busyMs / seats / (simulatedMs - warmUpMs),
    heard: firstMs.length,
    refused,
    bulkDone: bulkMs.length,
  };
}

/** Wakes sleepers in the order of their times. All consequences of one wake-up finish before the next sleeper wakes. */
function createClock() {
  let nowMs = 0;
  const sleeping: { atMs: number; wake(): void }[] = [];
  return {
    now: () => nowMs,
    sleep: (ms: number) =>
      new Promise<void>((wake) => {
        const atMs = nowMs + Math.max(0, ms);
        sleeping.splice(sleeping.findLastIndex((each) => each.atMs <= atMs) + 1, 0, { atMs, wake });
      }),
    async run(work: readonly Promise<void>[], untilMs: number): Promise<void> {
      let isOver = false;
      void Promise.all(work).then(() => {
        isOver = true;
      });
      while (!isOver || nowMs < untilMs) {
        await settle();
        const next = sleeping.shift();
        if (!next) return;
        nowMs = next.atMs;
        next.wake();
      }
    },
  };
}

/** Random numbers, the same in every run. */
function randomNumbers(): () => number {
  let state = 7;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const gaussian = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

const quantileOf = (values: readonly number[], quantile: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(quantile * values.length)] ?? 0;

export interface SimulatedClients {
  seats: number;
  /** Clients that request one sentence repeatedly, and return after the requested wait. */
  polite?: number;
  /** Load from impatient clients, relative to the engine's capacity. */
  offered?: number;
  /** Impatient clients disconnect if they have received nothing after this time. */
  leaveMs?: number;
  owners?: number;
  waitMsMax?: number;
  /** Median duration of a sentence's turn at the engine. */
  turnMs?: number;
}

/** Sentences of one segment each, requested by clients of these kinds. */
export async function simulateClients(load: SimulatedClients) {
  const { seats, polite = 0, offered = 0, leaveMs = Infinity, owners = 1, waitMsMax = 5000, turnMs = 90 } = load;
  const random = randomNumbers();
  const { now, sleep, run } = createClock();
  const schedule = new Schedule({ speakingMax: 64, waitingMax: 256, now });
  const seat = seatAt({ segmentsSpokenMax: seats });
  const firstMs: number[] = [];
  let [asked, refused, left] = [0, 0, 0];

  /** Returns how long to wait before the next request. */
  async function ask(n: number, staysMs: number): Promise<number> {
    asked++;
    const demand = demandAt(seat, { owner: `owner ${n % owners}` });
    const askedMs = now();
    const leaving = new AbortController();
    const leave = () => leaving.abort(new Error('the client disconnected'));
    let isHeard = false;
    void sleep(Math.min(staysMs, waitMsMax)).then(() => isHeard || leave());
    try {
      schedule.check({ ...demand, waitMsMax });
      const admission = await schedule.begin({ ...demand, waitMsMax }, leaving.signal);
      leaving.signal.addEventListener('abort', admission.end);
      const turn = await admission.turn(seat, true, leaving.signal);
      const endMs = now() + turnMs * Math.exp(sigma * gaussian(random));
      while (now() < endMs && !leaving.signal.aborted) await sleep(Math.min(10, endMs - now()));
      turn.end();
      if (leaving.signal.aborted) left++;
      else {
        isHeard = true;
        admission.heard();
        if (now() > warmUpMs) firstMs.push(now() - askedMs);
      }
      admission.end();
      return 0;
    } catch (error) {
      if (leaving.signal.aborted) left++;
      else refused++;
      return 1000 * ((error as Failure).facts?.retryAfterSeconds ?? 0);
    }
  }

  const repeat = async (n: number) => {
    while (now() < clientsMs) await sleep(await ask(n, Infinity));
  };
  const arrive = async () => {
    for (let n = 0; now() < clientsMs; n++) {
      void ask(n, leaveMs);
      await sleep((-Math.log(1 - random()) * turnMs) / seats / offered);
    }
  };
  const work = Array.from({ length: polite }, (_, n) => repeat(n));
  if (offered > 0) work.push(arrive());
  await run(work, clientsMs);
  return {
    asked,
    refused,
    left,
    heard: firstMs.length,
    /** Served sentences, relative to the engine's capacity. */
    goodput: (firstMs.length * turnMs * Math.exp(sigma ** 2 / 2)) / seats / (clientsMs - warmUpMs),
    firstMs: quantileOf(firstMs, 0.5),
    firstMsMax: Math.max(0, ...firstMs),
  };
}

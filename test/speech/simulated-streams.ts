// Streams that strangers ask for, at the slots of a service and the turns of its engine, on a clock of its own: how soon they
// are heard, how long a listener waits in the middle, and how busy the engine is. Half of the texts are one segment, half are
// several, which are read a little ahead of what is heard; bulk texts are asked for again and again.
import { setImmediate as settle } from 'node:timers/promises';
import type { Segment } from '../../src/engines/engine.ts';
import { createEngineTurns } from '../../src/speech/engine-turns.ts';
import { createSlots } from '../../src/speech/queue/slots.ts';

export interface SimulatedStreams {
  /** Of what the engine can speak. */
  offered: number;
  seats: number;
  /** Of the longer texts. */
  segments?: number;
  /** How long a segment takes, next to a fast engine. */
  slowness?: number;
  /** How many times as fast as it is heard sound is read. */
  readSpeed?: number;
  owners?: number;
  bulkClients?: number;
}

const first = { chars: 60, ms: 110 };
const later = { chars: 160, ms: 260 };
const charsPerSecond = 14.5;
const secondsAhead = 2;
const simulatedMs = 300_000;
/** Before anything is counted. */
const warmUpMs = 10_000;
const patienceMs = 5000;
/** Of the logarithm of the time that a segment takes. */
const sigma = 0.3;

export async function simulateStreams(load: SimulatedStreams) {
  const { offered, seats, segments = 6, slowness = 1, readSpeed = 3, owners = 5, bulkClients = 0 } = load;
  const random = randomNumbers();
  const { now, sleep, run } = createClock();
  const turns = createEngineTurns({ capabilities: { segmentsSpokenMax: seats } as never }, now);
  const slots = createSlots({ speakingMax: 64, waitingMax: 256, now });
  const firstMs: number[] = [];
  const gapMs: number[] = [];
  const bulkMs: number[] = [];
  let busyMs = 0;

  const speak = async (owner: string, { urgent, isBulk }: { urgent: boolean; isBulk: boolean }) => {
    const signal = new AbortController().signal;
    const endTurn = await turns.take({ voice: { voiceId: 'v' }, urgent } as Segment, {
      callerId: owner,
      signal,
      isBulk,
    });
    const ms = slowness * (urgent ? first : later).ms * Math.exp(sigma * gaussian(random));
    await sleep(ms);
    if (now() > warmUpMs && now() < simulatedMs) busyMs += ms;
    endTurn!();
  };

  async function stream(n: number, count: number, isBulk: boolean): Promise<void> {
    const owner = `owner ${n % owners}`;
    const isBehind = (starting: number) => turns.isBehind({ voiceId: 'v' }, starting);
    const use = { engine: 'e', voiceId: 'v', chars: first.chars, isBulk, seats, bytesMax: 1, isBehind };
    const askedMs = now();
    const leaving = new AbortController();
    // The timers of the slots themselves run on another clock.
    if (!isBulk) {
      slots.check(owner, { use, waitMsMax: patienceMs });
      void sleep(patienceMs).then(() => leaving.abort(new Error('too long')));
    }
    const slot = await slots.take(owner, leaving.signal, { use });
    let heardMs = 0;
    let madeMs = 0;
    let gap = 0;
    for (let i = 0; i < count; i++) {
      await speak(owner, { urgent: i === 0 && !isBulk, isBulk });
      if (i === 0) heardMs = now();
      gap = Math.max(gap, now() - heardMs - madeMs);
      slot.heard('e');
      madeMs += ((i === 0 ? first : later).chars / charsPerSecond) * 1000;
      if (!isBulk) await sleep(heardMs + (madeMs - 1000 * secondsAhead) / readSpeed - now());
    }
    slot();
    if (askedMs < warmUpMs || now() > simulatedMs) return;
    if (isBulk) bulkMs.push(now() - askedMs);
    else {
      firstMs.push(heardMs - askedMs);
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
    firstMs: quantileOf(firstMs, 0.5),
    /** The longest wait of a listener in the middle of a stream. */
    gapMs: Math.max(0, ...gapMs),
    /** The share of the time in which the engine speaks. */
    busy: busyMs / seats / (simulatedMs - warmUpMs),
    heard: firstMs.length,
    refused,
    bulkDone: bulkMs.length,
  };
}

/** What sleeps is woken in the order of its times, and all that follows from it happens before the next. */
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

/** The same for each. */
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

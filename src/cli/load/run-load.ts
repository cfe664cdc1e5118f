// Runs clients that call one after the other, each as soon as its last call is done, until the number of calls or the
// time is reached; running calls are finished then. A client that gets a wait observes it.
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadTally } from './load-tally.ts';
import { Refusal, type ServiceCaller } from './service-caller.ts';

export interface Load {
  clients: number;
  /** The total number of calls, and for how long new ones start. */
  callsMax: number;
  seconds: number;
  /** The text of a call, different for each. */
  textOf(call: number): string;
  voiceId: string;
}

const callTimeoutMs = 120_000;

export async function runLoad(load: Load, caller: ServiceCaller, tally: LoadTally, signal: AbortSignal): Promise<void> {
  const untilMs = performance.now() + load.seconds * 1000;
  let begun = 0;
  const isOver = () => begun >= load.callsMax || performance.now() >= untilMs || signal.aborted;
  const call = async () => {
    const startMs = performance.now();
    let firstSoundMs: number | undefined;
    const onSound = (byteCount: number) => {
      firstSoundMs ??= performance.now() - startMs;
      tally.countSound(byteCount);
    };
    const text = load.textOf(begun++);
    await caller.speak(load.voiceId, text, onSound, AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMs)]));
    const wholeMs = performance.now() - startMs;
    tally.countDone(firstSoundMs ?? wholeMs, wholeMs);
  };
  const client = async () => {
    while (!isOver()) {
      const waitMs = await call().then(
        () => 0,
        (error) => (signal.aborted ? 0 : countFault(error, tally)),
      );
      const leftMs = untilMs - performance.now();
      if (waitMs > 0 && leftMs > 0) await sleep(Math.min(waitMs, leftMs), undefined, { signal }).catch(() => {});
    }
  };
  await Promise.all(Array.from({ length: load.clients }, client));
}

/** The wait after an error without one, so that a service that is down is not flooded. */
const faultWaitMs = 250;

function countFault(error: unknown, tally: LoadTally): number {
  const retryMs = error instanceof Refusal ? error.retryMs : undefined;
  tally.countRefusal(toWords(error), retryMs !== undefined);
  return retryMs ?? faultWaitMs;
}

function toWords(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  const { cause, message, name } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? (name === 'TimeoutError' ? 'no end within two minutes' : message);
}

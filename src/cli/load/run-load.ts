// Clients that call one after the other, each as soon as its last call is over, until so many calls are made or the
// time is up; what is under way then is heard to its end. A client that is told to wait waits.
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadTally } from './load-tally.ts';
import { Refusal, type ServiceCaller } from './service-caller.ts';

export interface Load {
  clients: number;
  /** How many calls in all, and until when new ones begin. */
  callsMax: number;
  seconds: number;
  /** The text of a call, each another one. */
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

/** After a fault that names no wait: not at once, or a service that is down would be flooded. */
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

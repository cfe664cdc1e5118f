// A number of slots, and a fair queue of requests that wait for a slot. A wait ends with a slot, an abort, a timeout,
// or a refusal because the queue is full. In a full queue, an owner with fewer waiting requests displaces the newest
// request of the owner with the most waiting requests. A shared queue also keeps one owner from holding all slots.
import { onAbort } from './abort.ts';
import { FairQueue } from './fair-queue.ts';

/** Releases a slot. Further calls have no effect. */
export type Release = () => void;

interface SlotRequest {
  signal: AbortSignal;
  /** Owner of the request. Default: all requests share one owner. */
  owner?: string;
  /** The request waits while the queue has this many slots in use. Default: the queue's limit. */
  slotsMax?: number;
  /** Maximum wait, after which the request is rejected with `SlotTimeout`. */
  waitMsMax?: number;
}

interface SlotQueueOptions {
  slotsMax?: number;
  waitingMax?: number;
  /** Whether an owner with a slot waits for another one until more slots are free than it holds. */
  isShared?: boolean;
  /** Creates the error for requests that are rejected because the queue is full. */
  refusal?(): Error;
}

export class SlotTimeout extends Error {}

interface Waiter {
  owner: string;
  slotsMax: number;
  resolve(release: Release): void;
  reject(error: unknown): void;
}

export class SlotQueue {
  readonly #slotsMax: number;
  readonly #waitingMax: number;
  readonly #isShared: boolean;
  readonly #refusal: () => Error;
  readonly #waiters = new FairQueue<Waiter>();
  /** The number of slots of each owner, if the queue is shared. */
  readonly #heldBy = new Map<string, number>();
  #held = 0;

  constructor({
    slotsMax = Infinity,
    waitingMax = Infinity,
    isShared = false,
    refusal = () => new Error('the queue is full'),
  }: SlotQueueOptions = {}) {
    this.#slotsMax = slotsMax;
    this.#waitingMax = waitingMax;
    this.#isShared = isShared;
    this.#refusal = refusal;
  }

  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#waiters.count;
  }

  async take({ signal, owner = '', slotsMax = this.#slotsMax, waitMsMax }: SlotRequest): Promise<Release> {
    signal.throwIfAborted();
    if (this.waiting === 0 && this.#hasSlotFor({ owner, slotsMax })) return this.#hold(owner);
    if (this.waiting >= this.#waitingMax) this.#displace(owner);
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    const waiter = { owner, slotsMax, resolve, reject };
    const leave = (reason: unknown) => {
      this.#waiters.remove(waiter);
      reject(reason);
      this.#admit();
    };
    using _ = onAbort(signal, () => leave(signal.reason));
    const timeout = waitMsMax === undefined ? undefined : setTimeout(() => leave(new SlotTimeout()), waitMsMax);
    this.#waiters.add(waiter);
    this.#admit();
    return await promise.finally(() => clearTimeout(timeout));
  }

  #hasSlotFor({ owner, slotsMax }: Pick<Waiter, 'owner' | 'slotsMax'>): boolean {
    const own = this.#heldBy.get(owner) ?? 0;
    return this.#held < slotsMax && (own === 0 || own < slotsMax - this.#held);
  }

  #hold(owner: string): Release {
    const count = (change: 1 | -1) => {
      this.#held += change;
      const own = (this.#heldBy.get(owner) ?? 0) + change;
      if (this.#isShared && own > 0) this.#heldBy.set(owner, own);
      else this.#heldBy.delete(owner);
    };
    count(1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      count(-1);
      this.#admit();
    };
  }

  #admit(): void {
    for (;;) {
      let next: Waiter | undefined;
      for (const waiter of this.#waiters) {
        if (this.#hasSlotFor(waiter)) next = waiter;
        // In a queue that is not shared, later requests do not overtake the first one.
        if (next || !this.#isShared) break;
      }
      if (!next) return;
      this.#waiters.take(next);
      next.resolve(this.#hold(next.owner));
    }
  }

  /** Removes a waiting request from a full queue for a request of `owner`, or throws a refusal. */
  #displace(owner: string): void {
    const newest = this.#waiters.newestOfMost(() => true, owner);
    if (!newest) throw this.#refusal();
    this.#waiters.remove(newest);
    newest.reject(this.#refusal());
  }
}

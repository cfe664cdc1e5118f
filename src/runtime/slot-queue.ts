// A fair queue for slots: calls of a key and segments at an engine wait in one. (src/speech/queue/ has the queue of speech
// requests.) Urgent requests are admitted first, also those that became urgent while they waited. Owners take turns. A wait
// ends with a slot, an abort, a timeout, or a refusal if the queue is full. An owner with fewer waiting requests then
// replaces the newest request of the owner with the most.

/** Releases a slot. Only the first call counts. */
export type Release = () => void;

interface SlotRequest {
  signal: AbortSignal;
  /** Owners take turns. Default: one owner for all requests. */
  owner?: string;
  isUrgent?: boolean;
  /** Time at which the request becomes urgent, on the clock of the queue. Default: never. */
  urgentAtMs?: number | undefined;
  /** Maximum number of held slots once this request is admitted. Default: the queue's limit. */
  slotsMax?: number;
  /** Longest wait. The request is then rejected with `SlotTimeout`. */
  waitMsMax?: number;
  /** Called when the request is admitted, before any other is. */
  onAdmit?(): void;
}

export interface SlotQueueOptions {
  slotsMax?: number;
  waitingMax?: number;
  /** The error that rejects a request when the queue is full. */
  refusal?(): Error;
  /** Milliseconds until another request may be admitted: 0 for now, Infinity for not before `admit` is called. */
  delayMs?(): number;
  /** Called when a slot is released. Default: admits the next request of this queue. */
  onRelease?(): void;
  /** Default: `performance.now`. */
  now?(): number;
}

export class SlotTimeout extends Error {}

interface Waiter {
  request: SlotRequest;
  isUrgent: boolean;
  resolve(release: Release): void;
  reject(error: unknown): void;
}

export class SlotQueue {
  readonly #options: Required<SlotQueueOptions>;
  readonly #waiters = new Waiters();
  #held = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SlotQueueOptions = {}) {
    this.#options = {
      slotsMax: Infinity,
      waitingMax: Infinity,
      refusal: () => new Error('the queue is full'),
      delayMs: () => 0,
      onRelease: () => this.admit(),
      now: () => performance.now(),
      ...options,
    };
  }

  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#waiters.count;
  }

  /** The waiting urgent requests, by owner. */
  get urgentByOwner(): ReadonlyMap<string, { length: number }> {
    return this.#waiters.urgent;
  }

  /** The earliest time at which a waiting request becomes, or became, urgent. Infinity if none does. */
  get urgentAtMs(): number {
    return this.#waiters.urgentAtMs();
  }

  /** Number of waiting requests that are admitted before a new request of the owner that is not urgent. */
  waitingBefore(owner: string): number {
    return this.#waiters.countBefore(owner);
  }

  take(request: SlotRequest): Promise<Release> {
    const { waitingMax, refusal } = this.#options;
    if (request.signal.aborted) return Promise.reject(request.signal.reason);
    const release = this.takeNow(request);
    if (release) return Promise.resolve(release);
    if (this.waiting >= waitingMax && !this.#waiters.refuseNewest(request, refusal)) return Promise.reject(refusal());
    return this.#wait(request);
  }

  /** Like `take`, but synchronous. Returns undefined if the request would have to wait. */
  takeNow(request: SlotRequest): Release | undefined {
    const isFree = !request.signal.aborted && this.waiting === 0 && this.#hasSlot(request);
    return isFree && this.#options.delayMs() <= 0 ? this.#hold(request) : undefined;
  }

  /** Admits all requests that may be admitted now. */
  admit(): void {
    clearTimeout(this.#timer);
    for (;;) {
      const next = this.#waiters.first(this.#options.now());
      if (!next || !this.#hasSlot(next.request)) return;
      const ms = this.#options.delayMs();
      if (ms > 0) {
        if (ms < Infinity) this.#timer = setTimeout(() => this.admit(), Math.ceil(ms));
        return;
      }
      this.#waiters.remove(next);
      next.resolve(this.#hold(next.request));
    }
  }

  #hasSlot({ slotsMax = this.#options.slotsMax }: SlotRequest): boolean {
    return this.#held < slotsMax;
  }

  #hold({ onAdmit }: SlotRequest): Release {
    this.#held++;
    onAdmit?.();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#held--;
      this.#options.onRelease();
    };
  }

  #wait(request: SlotRequest): Promise<Release> {
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    const { signal, waitMsMax } = request;
    const waiter = { request, isUrgent: request.isUrgent ?? false, resolve, reject };
    const leave = (reason: unknown) => {
      this.#waiters.remove(waiter);
      if (this.waiting === 0) clearTimeout(this.#timer);
      reject(reason);
    };
    const abort = () => leave(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const timeout = waitMsMax === undefined ? undefined : setTimeout(() => leave(new SlotTimeout()), waitMsMax);
    this.#waiters.add(waiter);
    this.admit();
    return promise.finally(() => {
      signal.removeEventListener('abort', abort);
      clearTimeout(timeout);
    });
  }
}

const ownerOf = ({ owner = '' }: SlotRequest): string => owner;

/** The waiting requests by owner, in the order of the owners' turns. */
class Waiters {
  readonly urgent = new Map<string, Waiter[]>();
  readonly #others = new Map<string, Waiter[]>();
  /** The waiting requests that will become, or have become, urgent. */
  readonly #hastening = new Set<Waiter>();
  count = 0;

  add(waiter: Waiter): void {
    if (waiter.request.urgentAtMs !== undefined) this.#hastening.add(waiter);
    const byOwner = this.#byOwner(waiter);
    const owner = ownerOf(waiter.request);
    const own = byOwner.get(owner);
    if (own) own.push(waiter);
    else byOwner.set(owner, [waiter]);
    this.count++;
  }

  first(nowMs: number): Waiter | undefined {
    this.#hasten(nowMs);
    const byOwner = this.urgent.size > 0 ? this.urgent : this.#others;
    return byOwner.values().next().value?.[0];
  }

  urgentAtMs(): number {
    let atMs = Infinity;
    for (const { request } of this.#hastening) atMs = Math.min(atMs, request.urgentAtMs!);
    return atMs;
  }

  /** Moves requests that have become urgent to the urgent ones. */
  #hasten(nowMs: number): void {
    for (const waiter of [...this.#hastening]) {
      if (waiter.isUrgent || waiter.request.urgentAtMs! > nowMs) continue;
      this.remove(waiter);
      waiter.isUrgent = true;
      this.add(waiter);
    }
  }

  /** All urgent ones, the owner's own, and of each other owner one for each of these and of the new one. */
  countBefore(owner: string): number {
    const own = this.#others.get(owner)?.length ?? 0;
    let count = own;
    for (const waiters of this.urgent.values()) count += waiters.length;
    for (const [other, { length }] of this.#others) if (other !== owner) count += Math.min(length, own + 1);
    return count;
  }

  /** Removes a waiting request. If it was its owner's first, the other owners are served next. */
  remove(waiter: Waiter): void {
    const byOwner = this.#byOwner(waiter);
    const owner = ownerOf(waiter.request);
    const own = byOwner.get(owner);
    const at = own?.indexOf(waiter) ?? -1;
    if (!own || at < 0) return;
    own.splice(at, 1);
    this.#hastening.delete(waiter);
    this.count--;
    if (at === 0 || own.length === 0) byOwner.delete(owner);
    if (at === 0 && own.length > 0) byOwner.set(owner, own);
  }

  /** Refuses the newest request of the owner with the most, unless the owner of `request` would then have as many. */
  refuseNewest(request: SlotRequest, refusal: () => Error): boolean {
    const all = [...this.urgent.values(), ...this.#others.values()];
    const longest = all.reduce((a, b) => (b.length > a.length ? b : a), []);
    if (longest.length <= this.#countOf(ownerOf(request)) + 1) return false;
    const newest = longest.at(-1)!;
    this.remove(newest);
    newest.reject(refusal());
    return true;
  }

  #countOf(owner: string): number {
    return (this.urgent.get(owner)?.length ?? 0) + (this.#others.get(owner)?.length ?? 0);
  }

  #byOwner({ isUrgent }: Waiter): Map<string, Waiter[]> {
    return isUrgent ? this.urgent : this.#others;
  }
}

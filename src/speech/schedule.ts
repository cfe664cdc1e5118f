// Decides which request may be synthesized now. An engine has a number of seats and speaks one segment per seat at a
// time. A request is admitted when its engine has a free seat for the first segment; each later segment waits for a
// turn. Requests wait in a fair queue: accounts take turns, and interactive requests precede bulk requests. A request
// whose expected wait is too long is refused at once with a Retry-After. Background work yields to all requests.
import type { Caller } from '../accounts.ts';
import type { Seat, Turn } from '../engines.ts';
import { Failure } from '../platform/errors.ts';
import { onAbort } from '../platform/runtime/abort.ts';
import { countInTurn, FairQueue } from '../platform/runtime/fair-queue.ts';
import { createMetrics, type Metrics } from '../platform/telemetry/prometheus.ts';
import { type Background, createBackground } from './background.ts';
import type { SpeechRequest } from './request.ts';
import type { Binding } from './voice.ts';

export interface ScheduleOptions {
  /** Maximum number of requests synthesized at once, and default number of seats of an engine. */
  speakingMax: number;
  waitingMax: number;
  /** Maximum bytes for the audio of all requests. A request that runs alone may exceed it. Default: no limit. */
  bytesMax?: number | undefined;
  processors?: number | undefined;
  /** Clock in milliseconds. Default: `performance.now`. */
  now?: (() => number) | undefined;
  metrics?: Metrics | undefined;
}

/** Permission to synthesize a request. */
export interface Admission {
  /** Resolves when the segment may begin. A turn is urgent if the request has no audio yet. */
  turn(seat: Seat, isUrgent: boolean, signal: AbortSignal): Promise<Turn>;
  /** Call when the first audio is available. */
  heard(): void;
  end(): void;
}

/** Expected work of a request before any turn has been measured. */
const workMsUsual = 1000;
/** Weight of the earlier requests in the mean work of a request, at each new request. */
const earlierShare = 0.95;
/** Number of other turns after which a waiting bulk request gets a turn. */
const bulkEvery = 10;
/**
 * Bulk requests leave a seat free for this long after an interactive request was admitted, because a turn cannot be
 * interrupted.
 */
const seatLeftMs = 10_000;
/**
 * A later segment that has waited for `dueMs` precedes first segments. For an interactive request, this happens before
 * the audio of its first segment ends.
 */
const later = { interactive: { lane: 'later', dueMs: 2_000 }, bulk: { lane: 'bulk', dueMs: 10_000 } } as const;
/** A request may wait for so many others per seat, however long they take: an engine slower than speech has a queue too. */
const aheadPerSeatMin = 8;
/** They may take longer than expected by this factor. */
const aheadSlack = 2;
/** Longest wait for an engine's rate limit before the request has any audio. */
const rateMsMax = 10_000;
const minuteMs = 60_000;
/** While requests wait, the seats of an engine with servers are read this often, because servers start and stop. */
const serversLookMs = 250;
const retryMsMax = 60_000;
const retriesMaxOfOwner = 256;
const timerMsMax = 2 ** 31 - 1;

/** A part of an engine that speaks some of the engine's segments, such as a loaded model. */
class Resource {
  seats = Infinity;
  held = 0;
  /** Number of completed turns. The first turn of each seat is not measured, because the engine may have to start. */
  turns = 0;
  /** Recent requests, and the duration of their turns so far. Earlier requests count less. */
  readonly recent = { interactive: { requests: 0, turnsMs: 0 }, bulk: { requests: 0, turnsMs: 0 } };

  /** Mean work of a recent request; undefined if none was measured. */
  workMs(kind: RequestKind): number | undefined {
    const { requests, turnsMs } = this.recent[kind];
    return requests === 0 ? undefined : turnsMs / requests;
  }
}

/** An engine and its queue. */
class Line {
  readonly engine: Seat['engine'];
  readonly lanes = {
    /** Requests that have waited too long in `later` or `bulk`. */
    due: new FairQueue<Waiter>(),
    first: new FairQueue<Waiter>(),
    later: new FairQueue<Waiter>(),
    bulk: new FairQueue<Waiter>(),
  };
  readonly #resources = new Map<string, Resource>();
  /** Start times of the segments from the last minute, oldest first. */
  readonly begun = { own: [] as number[], clones: [] as number[] };
  /** For each owner, the times at which refused requests should be repeated. */
  readonly retries = new Map<string, number[]>();
  held = 0;
  bulkHeld = 0;
  /** Number of turns since the last bulk turn. */
  sinceBulk = 0;
  interactiveAtMs = -Infinity;
  /** While callers leave before their turn, the oldest requests are about to leave, so the newest go first. */
  newestFirstUntilMs = -Infinity;
  timer: NodeJS.Timeout | undefined;

  constructor(engine: Seat['engine']) {
    this.engine = engine;
  }

  resourceOf({ resource: name = '' }: Seat): Resource {
    const { segmentsPerResource = 1 } = this.engine.capabilities;
    const resource = this.#resources.get(name) ?? new Resource();
    if (name !== '') resource.seats = segmentsPerResource;
    this.#resources.set(name, resource);
    return resource;
  }

  /** Rate limit for segments. Clones have a separate limit if the engine states one. */
  rateOf({ isClone }: Seat): { perMinute: number; begun: number[] } {
    const { segmentsPerMinute: perMinute = Infinity, cloneSegmentsPerMinute } = this.engine.capabilities;
    if (!isClone || cloneSegmentsPerMinute === undefined) return { perMinute, begun: this.begun.own };
    return { perMinute: cloneSegmentsPerMinute, begun: this.begun.clones };
  }
}

/** A waiter without limits on its wait is never refused. */
interface Asked extends Pick<Demand, 'owner' | 'kind' | 'seat' | 'waitMsMax' | 'deadlineMs'> {
  lane: keyof Line['lanes'];
  isBackground?: boolean;
  /** The request to admit; undefined if the turn admits no request. */
  demand?: Demand;
  /** Milliseconds after which the waiter moves to the lane `due`. */
  dueMs?: number;
}

interface Waiter extends Asked, PromiseWithResolvers<HeldTurn> {
  line: Line;
  resource: Resource;
  sinceMs: number;
  signal: AbortSignal;
  /** Called when background work no longer has to yield to this waiter. */
  leave(): void;
}

/** `moveTo` returns whether the turn can be used for this seat. */
type HeldTurn = Turn & { moveTo(seat: Seat): boolean };

const requestOf = (demand: Demand): Asked => ({ ...demand, demand, lane: demand.kind === 'bulk' ? 'bulk' : 'first' });

export class Schedule {
  readonly #options: ScheduleOptions;
  readonly #now: () => number;
  readonly #background: Background;
  /** Runs work when interactive speech leaves a processor free. Interrupted work runs again from the start. */
  readonly background: Background['run'];
  readonly #waited: ReturnType<Metrics['distribution']>;
  /** The queues by engine name. The engine that admitted the last request comes last. */
  readonly #lines = new Map<string, Line>();
  #speaking = 0;
  #bytes = 0;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#background = createBackground(options.processors, this.#now);
    this.background = this.#background.run;
    const { metrics = createMetrics() } = options;
    this.#waited = metrics.distribution('sonant_wait_seconds', 'Time that requests waited to be admitted.');
    metrics.gauge('sonant_speaking', 'Requests that are being spoken.', () => [[{}, this.#speaking]]);
    metrics.gauge('sonant_waiting', 'Requests that wait to be admitted.', () =>
      Object.entries(this.state.waiting).map(([kind, count]) => [{ class: kind }, count] as const),
    );
  }

  get state() {
    const waiting = { interactive: 0, bulk: 0 };
    const engines = [...this.#lines.values()].map(({ engine, held, lanes }) => {
      const waiters = Object.values(lanes).flatMap((lane) => [...lane]);
      for (const { demand, kind } of waiters) if (demand) waiting[kind]++;
      return { name: engine.name, held, waiting: waiters.length };
    });
    return { speaking: this.#speaking, waiting, engines };
  }

  /** Throws a Failure if `begin` would refuse the request at once. */
  check(demand: Demand): void {
    const waiter = this.#waiterOf(requestOf(demand), new AbortController().signal);
    if (!this.#mayBegin(waiter)) this.#checkWait(waiter);
  }

  /** Resolves when a seat is free for the first segment. Rejects if the request is aborted or refused. */
  async begin(demand: Demand, signal: AbortSignal): Promise<Admission> {
    const { owner, kind, waitMsMax = Infinity, deadlineMs } = demand;
    const waiter = this.#waiterOf(requestOf(demand), signal);
    const { sinceMs } = waiter;
    let reserved: HeldTurn | undefined = await this.#take(waiter);
    this.#waited({ class: kind }, (this.#now() - sinceMs) / 1000);
    let isOver = false;
    const giveBack = () => {
      reserved?.end(true);
      reserved = undefined;
    };
    return {
      turn: async (seat, isUrgent, by) => {
        const first = reserved;
        if (first?.moveTo(seat)) {
          reserved = undefined;
          return first;
        }
        giveBack();
        const leftMs = Math.max(0, sinceMs + waitMsMax - this.#now());
        const asked: Asked = isUrgent
          ? { owner, kind, seat, lane: 'first', waitMsMax: leftMs, deadlineMs }
          : { owner, kind, seat, ...later[kind] };
        return this.#take(this.#waiterOf(asked, by));
      },
      heard: giveBack,
      end: () => {
        giveBack();
        if (isOver) return;
        isOver = true;
        this.#speaking--;
        this.#bytes -= demand.bytesMax;
        for (const line of [...this.#lines.values()]) this.#admit(line);
      },
    };
  }

  /** Takes a turn for a segment that belongs to no request. */
  async turn(owner: string, seat: Seat, urgency: 'first' | 'later' | 'background', signal: AbortSignal): Promise<Turn> {
    const isBackground = urgency === 'background';
    const kind = isBackground ? 'bulk' : 'interactive';
    const asked: Asked = {
      owner,
      kind,
      seat,
      ...(urgency === 'first' ? { lane: 'first' } : later[kind]),
      isBackground,
    };
    return this.#take(this.#waiterOf(asked, signal));
  }

  #waiterOf(asked: Asked, signal: AbortSignal): Waiter {
    const { engine } = asked.seat;
    const line = this.#lines.get(engine.name) ?? new Line(engine);
    this.#lines.set(engine.name, line);
    const own = { line, resource: line.resourceOf(asked.seat), sinceMs: this.#now(), signal, leave() {} };
    return { ...asked, ...own, ...Promise.withResolvers<HeldTurn>() };
  }

  async #take(waiter: Waiter): Promise<HeldTurn> {
    waiter.signal.throwIfAborted();
    if (!waiter.isBackground) waiter.leave = this.#background.enter();
    try {
      if (this.#mayBegin(waiter)) return this.#hold(waiter);
      const displaced = this.#checkWait(waiter);
      if (displaced) this.#reject(displaced, this.#refusal(displaced));
      return await this.#wait(waiter);
    } catch (error) {
      waiter.leave();
      throw error;
    }
  }

  async #wait(waiter: Waiter): Promise<HeldTurn> {
    const { signal, line, lane, kind, resource, promise } = waiter;
    let timer: NodeJS.Timeout | undefined;
    // Requests may turn out to take longer than was expected when the waiter came.
    const look = () => {
      const leftMs = this.#untilMsOf(waiter, aheadSlack) - this.#now();
      if (leftMs <= 0) this.#reject(waiter, this.#refusal(waiter));
      else if (leftMs <= timerMsMax) timer = setTimeout(look, Math.ceil(leftMs));
    };
    using _ = onAbort(signal, () => {
      line.newestFirstUntilMs = this.#now() + aheadPerSeatMin * (resource.workMs(kind) ?? workMsUsual);
      this.#reject(waiter, signal.reason);
    });
    line.lanes[lane].add(waiter);
    look();
    this.#setTimer(line);
    return await promise.finally(() => clearTimeout(timer));
  }

  #reject(waiter: Waiter, error: unknown): void {
    waiter.line.lanes[waiter.lane].remove(waiter);
    waiter.reject(error);
    // The freed capacity may be enough for the next waiter.
    this.#admit(waiter.line);
  }

  /** Whether the waiter can begin at once. Earlier waiters for the same seat are admitted first. */
  #mayBegin(waiter: Waiter): boolean {
    this.#admit(waiter.line);
    return this.#fits(waiter) && !this.#isBehindOther(waiter);
  }

  /** Whether the limits of the whole service block an earlier request, which later requests must not overtake. */
  #isBehindOther(waiter: Waiter): boolean {
    if (!waiter.demand) return false;
    for (const other of waiter.line.lanes[waiter.lane]) {
      if (other === waiter) return false;
      if (this.#isFull(other)) return true;
    }
    return false;
  }

  /** Returns the waiter that this one displaces, if the queue is full. Throws if the waiter is refused. */
  #checkWait(waiter: Waiter): Waiter | undefined {
    const { owner, line, demand, lane } = waiter;
    const { waitMs, rateMs } = this.#waitOf(waiter);
    const isRateSpent = rateMs > rateMsMax && (demand !== undefined || lane === 'first');
    const beginsMs = this.#now() + Math.max(waitMs, rateMs);
    if (beginsMs > this.#untilMsOf(waiter) || isRateSpent) throw this.#refusal(waiter);
    const { interactive, bulk } = this.state.waiting;
    if (!demand || interactive + bulk < this.#options.waitingMax) return undefined;
    const isRequest = (each: Waiter) => each.demand !== undefined;
    const ofBulk = lane === 'first' ? line.lanes.bulk.newestOfMost(isRequest) : undefined;
    const displaced = ofBulk ?? line.lanes[lane].newestOfMost(isRequest, owner);
    if (!displaced) throw this.#refusal(waiter);
    return displaced;
  }

  /**
   * Time until which the waiter may wait. A deadline leaves time for the request itself. Before any request was measured,
   * the engine may take as long as it may need for its first sound.
   */
  #untilMsOf(waiter: Waiter, slack = 1): number {
    const { kind, seat, resource, sinceMs, waitMsMax = Infinity, deadlineMs = Infinity } = waiter;
    const workMs = resource.workMs(kind);
    const queueMs = workMs === undefined ? (seat.engine.capabilities.firstSoundMsMax ?? 0) : aheadPerSeatMin * workMs;
    return Math.min(sinceMs + Math.max(waitMsMax, slack * queueMs), deadlineMs - (workMs ?? 0));
  }

  /** Expected wait for a seat and for the engine's rate limit, and the expected time between two admissions. */
  #waitOf(waiter: Waiter, after = 0): { waitMs: number; gapMs: number; rateMs: number } {
    const { owner, lane, line, resource, seat } = waiter;
    const before = after + line.lanes[lane].countBefore(owner, (each) => each.resource === resource);
    const gapMs = this.#gapMs(waiter);
    return { waitMs: gapMs * (before + 1), gapMs, rateMs: this.#rateMs(line, seat, before) };
  }

  /** Expected time between two admissions while others wait: the mean work of a request, divided among the seats. */
  #gapMs({ kind, line, resource }: Waiter): number {
    const { speakingMax } = this.#options;
    const workMs = resource.workMs(kind);
    const seats = Math.min(resource.seats, this.#seatsOf(line), speakingMax);
    return Math.max(1, workMs === undefined ? workMsUsual / speakingMax : workMs / seats);
  }

  /** Refuses a request. Refused requests get successive retry times, at the rate at which requests can be admitted. */
  #refusal(waiter: Waiter): Failure {
    const { owner, line, lane } = waiter;
    line.lanes[lane].remove(waiter);
    for (const [other, times] of line.retries) {
      const left = times.filter((atMs) => atMs > this.#now());
      if (left.length > 0) line.retries.set(other, left);
      else line.retries.delete(other);
    }
    const retries = countInTurn(owner, line.retries, ({ length }) => length);
    const { waitMs, gapMs, rateMs } = this.#waitOf(waiter);
    const isRate = rateMs > waitMs;
    const ms = isRate
      ? this.#waitOf(waiter, retries).rateMs
      : Math.min(Math.max(waitMs, retryMsMax), waitMs + retries * gapMs);
    const own = line.retries.get(owner) ?? [];
    if (own.length < retriesMaxOfOwner) line.retries.set(owner, [...own, this.#now() + ms]);
    if (!isRate) return new Failure('overloaded', { retryAfterSeconds: Math.max(1, Math.ceil(ms / 1000)) });
    const message = 'The quota of the speech engine is used up for now. Try again later.';
    return new Failure('engine_unavailable', { message, retryAfterSeconds: Math.ceil(ms) / 1000 });
  }

  #seatsOf({ engine }: Line): number {
    return engine.capabilities.segmentsSpokenMax ?? this.#options.speakingMax;
  }

  /** Time until the engine may begin another segment, if `before` other segments begin first. */
  #rateMs(line: Line, seat: Seat, before = 0): number {
    const { perMinute, begun } = line.rateOf(seat);
    while (begun.length > 0 && begun[0]! + minuteMs <= this.#now()) begun.shift();
    const at = begun.length + before - perMinute;
    if (!(at >= 0)) return 0;
    const sinceMs = begun[at % perMinute] ?? this.#now();
    return sinceMs + (Math.floor(at / perMinute) + 1) * minuteMs - this.#now();
  }

  /** Whether the limits of the whole service block the request. */
  #isFull({ demand }: Waiter): boolean {
    const { speakingMax, bytesMax = Infinity } = this.#options;
    if (!demand) return false;
    return this.#speaking >= speakingMax || (this.#speaking > 0 && this.#bytes + demand.bytesMax > bytesMax);
  }

  #fits(waiter: Waiter): boolean {
    const { line, lane, resource, seat } = waiter;
    const seats = this.#seatsOf(line);
    const hasSeat = line.held < seats && resource.held < resource.seats && this.#rateMs(line, seat) <= 0;
    if (!hasSeat || this.#isFull(waiter)) return false;
    const leavesSeat = lane === 'bulk' && this.#now() - line.interactiveAtMs < seatLeftMs;
    return !leavesSeat || line.bulkHeld < Math.max(1, seats - 1);
  }

  #admit(line: Line): void {
    for (let next = this.#next(line); next; next = this.#next(line)) {
      line.lanes[next.lane].take(next);
      if (next.demand) {
        this.#lines.delete(line.engine.name);
        this.#lines.set(line.engine.name, line);
      }
      next.resolve(this.#hold(next));
    }
    this.#setTimer(line);
  }

  #next(line: Line): Waiter | undefined {
    const { due, first, later, bulk } = line.lanes;
    for (const waiter of [...later, ...bulk]) {
      if (waiter.sinceMs + (waiter.dueMs ?? Infinity) > this.#now()) continue;
      line.lanes[waiter.lane].remove(waiter);
      waiter.lane = 'due';
      due.add(waiter);
    }
    const isNewestFirst = this.#now() < line.newestFirstUntilMs;
    for (const lane of line.sinceBulk >= bulkEvery ? [bulk, due, first, later] : [due, first, later, bulk])
      for (const waiter of lane.inTurn(isNewestFirst && lane === first))
        if (this.#fits(waiter) && !this.#isBehindOther(waiter)) return waiter;
    return undefined;
  }

  /** Sets a timer for the next time when a rate limit ends, a bulk turn may begin, or the servers are checked again. */
  #setTimer(line: Line): void {
    clearTimeout(line.timer);
    const delays = Object.values(line.lanes).flatMap((lane) => [...lane].map(({ seat }) => this.#rateMs(line, seat)));
    for (const { sinceMs, dueMs = Infinity } of line.lanes.bulk)
      delays.push(sinceMs + dueMs - this.#now(), line.interactiveAtMs + seatLeftMs - this.#now());
    if (delays.length > 0 && line.engine.servers) delays.push(serversLookMs);
    const ms = Math.min(...delays.filter((each) => each > 0));
    if (ms < Infinity) line.timer = setTimeout(() => this.#admit(line), Math.ceil(ms));
  }

  #hold({ line, kind, demand, seat, signal, ...waiter }: Waiter): HeldTurn {
    const isBulk = kind === 'bulk';
    const { begun } = line.rateOf(seat);
    const sinceMs = this.#now();
    let { resource } = waiter;
    line.held++;
    resource.held++;
    line.bulkHeld += isBulk ? 1 : 0;
    line.sinceBulk = isBulk ? 0 : line.sinceBulk + 1;
    begun.push(sinceMs);
    if (demand) {
      this.#speaking++;
      this.#bytes += demand.bytesMax;
    }
    if (demand && !isBulk) line.interactiveAtMs = sinceMs;
    let isOver = false;
    return {
      moveTo: (to) => {
        const other = to.engine.name === line.engine.name ? line.resourceOf(to) : undefined;
        const mayMove = other !== undefined && !seat.resource && other.held < other.seats;
        if (other === resource || !mayMove) return other === resource;
        resource.held--;
        resource = other;
        resource.held++;
        return true;
      },
      retryIn: (ms) => this.#background.rest(ms),
      end: (isUnused = false) => {
        if (isOver) return;
        isOver = true;
        line.held--;
        resource.held--;
        line.bulkHeld -= isBulk ? 1 : 0;
        if (isUnused && begun.includes(sinceMs)) begun.splice(begun.lastIndexOf(sinceMs), 1);
        const isMeasured =
          !isUnused && !signal.aborted && ++resource.turns > Math.min(resource.seats, this.#seatsOf(line));
        if (isMeasured && !waiter.isBackground) {
          const recent = resource.recent[kind];
          const share = demand ? earlierShare : 1;
          recent.turnsMs = share * recent.turnsMs + this.#now() - sinceMs;
          recent.requests = share * recent.requests + (demand ? 1 : 0);
        }
        waiter.leave();
        this.#admit(line);
      },
    };
  }
}

/** The audio of a bulk request is not played before it is complete. */
type RequestKind = 'interactive' | 'bulk';

/** The requirements of a request. */
export interface Demand {
  /** The caller's account. Accounts take turns. */
  owner: string;
  kind: RequestKind;
  /** Seat of the first segment. */
  seat: Seat;
  /** Maximum memory in bytes that the audio needs. */
  bytesMax: number;
  /** Longest wait. Default: no limit. */
  waitMsMax?: number | undefined;
  /** Time at which the caller gives up, on the scheduler's clock. */
  deadlineMs?: number | undefined;
}

/** Text length from which a request for a link is bulk, because its audio is not played before it is complete. */
const bulkCharsMin = 500;
/** Longest audio that engines/sound-check.ts accepts for usual text. */
const secondsMax = { start: 4, perChar: 0.3 };
const engineBytesPerSecond = 48_000;
/** Memory of the encoder and of data that waits to be sent. */
const streamBytes = 512 * 1024;

type Text = Pick<SpeechRequest, 'chars'> & { languageCode?: string | undefined };

export const kindOf = ({ method, returnFormat, chars }: SpeechRequest): RequestKind =>
  method === 'rest' && returnFormat === 'url' && chars >= bulkCharsMin ? 'bulk' : 'interactive';

export function demandOf(binding: Binding, request: SpeechRequest, caller: Caller, waitMsMax?: number): Demand {
  return {
    ...liveDemandOf(binding, request, caller, waitMsMax),
    kind: kindOf(request),
    deadlineMs: caller.deadlineMs,
  };
}

/** Returns the demand of a text that is played while it is spoken. */
export function liveDemandOf(
  { engine, speaker, openClone }: Binding,
  text: Text,
  caller: Caller,
  waitMsMax?: number,
): Demand {
  const { chars, languageCode } = text;
  const { segmentCharsMax, segmentsAtOnce } = engine.capabilities;
  const segmentSeconds = secondsMax.start + secondsMax.perChar * Math.min(chars, segmentCharsMax);
  const { languageCodes } = speaker;
  const resource = engine.resourceOf?.({ voice: speaker, languageCode: languageCode ?? languageCodes[0]! });
  return {
    owner: caller.accountId,
    kind: 'interactive',
    seat: { engine, resource, isClone: openClone !== undefined },
    bytesMax: streamBytes + segmentsAtOnce * segmentSeconds * engineBytesPerSecond,
    waitMsMax,
  };
}

// The scheduler: decides who may speak now. An engine speaks one segment in each of its seats. A request is admitted when
// its engine has a seat for the first segment; its later segments wait for turns. Requests wait in a fair queue, owners in
// turn, interactive before bulk. A request whose expected wait is longer than it may wait is refused at once, with the time
// after which to retry. Background work makes room for all of this.
import type { Seat, Turn } from '../engines/guard.ts';
import { Failure } from '../errors.ts';
import { countInTurn, FairQueue } from '../runtime/fair-queue.ts';
import { type Background, createBackground } from './background.ts';
import type { Caller, SpeechRequest } from './request.ts';
import type { Binding } from './voice.ts';

export interface ScheduleOptions {
  /** Requests spoken at once. An engine that states no number of seats has as many. */
  speakingMax: number;
  waitingMax: number;
  /** Memory for the audio of all requests; a single request is admitted whatever it takes. Default: no limit. */
  bytesMax?: number | undefined;
  processors?: number | undefined;
  /** Default: `performance.now`. */
  now?: (() => number) | undefined;
  onAdmit?: ((kind: RequestKind, waitedMs: number) => void) | undefined;
}

/** The right of a request to be spoken. */
export interface Admission {
  /** Resolves when the segment may begin. It is urgent if nothing of the request was heard. */
  turn(seat: Seat, isUrgent: boolean, signal: AbortSignal): Promise<Turn>;
  /** The first audio exists. */
  heard(): void;
  end(): void;
}

/** Expected length of a turn before one was measured. */
const turnMsUsual = 1000;
/** What was learned about waiting is forgotten after this time: a gap since somebody waited, how long callers stay at all. */
const learnedMsMax = 60_000;
/** While bulk waits, every tenth turn is given to it. */
const bulkEvery = 10;
/** Bulk leaves a seat free for this long after an interactive request was admitted: a turn is not interrupted. */
const seatLeftMs = 10_000;
/** After `dueMs` a later segment goes before first ones: if somebody listens, before the audio of the first segment ends. */
const later = { interactive: { lane: 'later', dueMs: 2_000 }, bulk: { lane: 'bulk', dueMs: 10_000 } } as const;
/** Longest wait for the rate of an engine before anything is heard. */
const rateMsMax = 10_000;
const minuteMs = 60_000;
/** How often the seats of an engine with servers are read while requests wait: servers come and go. */
const serversLookMs = 250;
const retryMsMax = 60_000;
const retriesMaxOfOwner = 256;
/** Estimates of whole texts are rough: this share of one must fit into the deadline. */
const wholeShare = 0.5;
/** Callers do not stay if this many have disconnected after such a wait, and more than this share of those that were heard. */
const lost = { min: 3, waitedMsMin: 500, share: 0.1 };
/** Further requests are then refused if they would wait this share of the time that those callers have waited. */
const stayShare = 0.9;
const timerMsMax = 2 ** 31 - 1;

/** Work until the first audio, 1 for a segment of 60 characters. Half of that does not depend on the length. */
const workOf = (chars: number): number => 0.5 + Math.max(1, chars) / 120;

/** The mean with another value, the newest, in it. */
const learn = (mean: number | undefined, value: number, weight = 0.1): number =>
  mean === undefined ? value : mean + weight * (value - mean);

/** A part of an engine that speaks some of its segments, such as a loaded model. */
class Resource {
  seats = Infinity;
  held = 0;
  /** Turns that have ended. The first one of each seat may include a start: it says nothing about later ones. */
  turns = 0;
  /** Requests that were admitted after a wait, and whose callers disconnected before anything was heard; a recent count. */
  lost = 0;
  /** How long callers wait before they disconnect, and when that was learned. */
  stayMs = Infinity;
  stayAtMs = -Infinity;
  /** Means: length of a turn, time to the first audio of a usual segment, time per character of whole texts. */
  turnMs: number | undefined;
  startMs: number | undefined;
  msPerChar: number | undefined;
  /** Mean time between two requests that were heard while others waited, and when the last one was or the queue began. */
  readonly gaps: Record<RequestKind, { ms?: number | undefined; sinceMs: number }> = {
    interactive: { sinceMs: 0 },
    bulk: { sinceMs: 0 },
  };
}

/** An engine, and who waits for it. */
class Line {
  readonly engine: Seat['engine'];
  readonly lanes = {
    /** Has waited for too long in `later` or `bulk`. */
    due: new FairQueue<Waiter>(),
    first: new FairQueue<Waiter>(),
    later: new FairQueue<Waiter>(),
    bulk: new FairQueue<Waiter>(),
  };
  readonly #resources = new Map<string, Resource>();
  /** When the segments of the last minute began, the oldest first. */
  readonly begun = { own: [] as number[], clones: [] as number[] };
  /** When the refused requests of each owner are to be sent again. */
  readonly retries = new Map<string, number[]>();
  held = 0;
  bulkHeld = 0;
  /** Turns since the last one of bulk. */
  sinceBulk = 0;
  interactiveAtMs = -Infinity;
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

  /** The rate for the segments of a seat. */
  rateOf({ isClone }: Seat): { perMinute: number; begun: number[] } {
    const { segmentsPerMinute: perMinute = Infinity, cloneSegmentsPerMinute } = this.engine.capabilities;
    if (!isClone || cloneSegmentsPerMinute === undefined) return { perMinute, begun: this.begun.own };
    return { perMinute: cloneSegmentsPerMinute, begun: this.begun.clones };
  }
}

interface Asked extends Pick<Demand, 'owner' | 'kind' | 'seat'> {
  lane: keyof Line['lanes'];
  isBackground?: boolean;
  /** The request that is admitted with the turn. */
  demand?: Demand;
  /** How long it may wait; it is never refused without. */
  patience?: Pick<Demand, 'firstChars' | 'wholeChars' | 'waitMsMax' | 'deadlineMs'>;
  /** When it moves to the lane `due`, after the wait. */
  dueMs?: number;
}

interface Waiter extends Asked, PromiseWithResolvers<HeldTurn> {
  line: Line;
  resource: Resource;
  sinceMs: number;
  signal: AbortSignal;
  /** Background work need not make room for it any longer. */
  leave(): void;
}

/** `moveTo` returns whether the turn can be used for that seat. */
type HeldTurn = Turn & { moveTo(seat: Seat): boolean };

const requestOf = (demand: Demand): Asked =>
  Object.assign({ demand, patience: demand, lane: demand.kind === 'bulk' ? 'bulk' : 'first' } as const, demand);

export class Schedule {
  readonly #options: ScheduleOptions;
  readonly #now: () => number;
  readonly #background: Background;
  /** By the name of the engine; the one that admitted the last request comes last. */
  readonly #lines = new Map<string, Line>();
  #speaking = 0;
  #bytes = 0;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#background = createBackground(options.processors, this.#now);
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

  /** Throws the Failure with which `begin` would reject at once. */
  check(demand: Demand): void {
    const waiter = this.#waiterOf(requestOf(demand), new AbortController().signal);
    if (!this.#mayBegin(waiter)) this.#checkWait(waiter);
  }

  /** Resolves when there is a seat for the first segment. Rejects when aborted or refused. */
  async begin(demand: Demand, signal: AbortSignal): Promise<Admission> {
    const { owner, kind, firstChars, wholeChars, waitMsMax = Infinity } = demand;
    const waiter = this.#waiterOf(requestOf(demand), signal);
    const { resource, sinceMs } = waiter;
    let reserved: HeldTurn | undefined = await this.#take(waiter);
    const begunMs = this.#now();
    this.#options.onAdmit?.(kind, begunMs - sinceMs);
    let state: 'begun' | 'heard' | 'over' = 'begun';
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
        const patience = { ...demand, waitMsMax: Math.max(0, sinceMs + waitMsMax - this.#now()) };
        const asked: Asked = isUrgent
          ? { owner, kind, seat, lane: 'first', patience }
          : { owner, kind, seat, ...later[kind] };
        return this.#take(this.#waiterOf(asked, by));
      },
      heard: () => {
        giveBack();
        if (state !== 'begun') return;
        state = 'heard';
        resource.lost = Math.max(0, resource.lost - lost.share);
        this.#learnGap(waiter);
        resource.startMs = learn(resource.startMs, (this.#now() - begunMs) / workOf(firstChars));
      },
      end: () => {
        giveBack();
        if (state === 'over') return;
        const isHeard = state === 'heard';
        state = 'over';
        if (wholeChars && isHeard) resource.msPerChar = learn(resource.msPerChar, (this.#now() - begunMs) / wholeChars);
        if (!isHeard && signal.aborted) this.#learnStay(waiter, begunMs - sinceMs);
        this.#speaking--;
        this.#bytes -= demand.bytesMax;
        for (const line of [...this.#lines.values()]) this.#admit(line);
      },
    };
  }

  /** A turn for a segment that belongs to no request. */
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

  /** Runs the work while interactive speech leaves a processor to it; from its beginning each time it had to make room. */
  background<Result>(owner: string, signal: AbortSignal, work: (by: AbortSignal) => Promise<Result>): Promise<Result> {
    return this.#background.run(owner, signal, work);
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
      const { patienceMs, displaced } = this.#checkWait(waiter);
      if (displaced) this.#reject(displaced, this.#refusal(displaced));
      return await this.#wait(waiter, patienceMs);
    } catch (error) {
      waiter.leave();
      throw error;
    }
  }

  async #wait(waiter: Waiter, patienceMs: number): Promise<HeldTurn> {
    const { signal, line, lane, kind, resource, promise } = waiter;
    const abort = () => this.#reject(waiter, signal.reason);
    const refuse = () => this.#reject(waiter, this.#refusal(waiter));
    signal.addEventListener('abort', abort, { once: true });
    const timer = patienceMs <= timerMsMax ? setTimeout(refuse, patienceMs) : undefined;
    if (line.lanes[lane].count === 0) resource.gaps[kind].sinceMs = this.#now();
    line.lanes[lane].add(waiter);
    this.#setTimer(line);
    return promise.finally(() => {
      signal.removeEventListener('abort', abort);
      clearTimeout(timer);
    });
  }

  #reject(waiter: Waiter, error: unknown): void {
    waiter.line.lanes[waiter.lane].remove(waiter);
    waiter.reject(error);
    // What it waited for may be enough for the next.
    this.#admit(waiter.line);
  }

  /** Whether it need not wait. Whoever waits for the same seat was admitted before, if that was possible. */
  #mayBegin(waiter: Waiter): boolean {
    this.#admit(waiter.line);
    return this.#fits(waiter) && !this.#isBehindOther(waiter);
  }

  /** No request overtakes another that waits for memory. */
  #isBehindOther(waiter: Waiter): boolean {
    if (!waiter.demand) return false;
    for (const other of waiter.line.lanes[waiter.lane]) {
      if (other === waiter) return false;
      if (this.#isFull(other)) return true;
    }
    return false;
  }

  /** How long it may wait, and whose place it takes if all places are taken. Throws its refusal. */
  #checkWait(waiter: Waiter): { patienceMs: number; displaced?: Waiter | undefined } {
    const { owner, line, resource, demand, lane } = waiter;
    const { waitMs, rateMs } = this.#waitOf(waiter);
    const patienceMs = this.#patienceOf(waiter);
    const isRateSpent = rateMs > rateMsMax && (demand !== undefined || lane === 'first');
    const isStayKnown = demand?.kind === 'interactive' && this.#now() - resource.stayAtMs < learnedMsMax;
    const longestMs = isStayKnown ? Math.min(patienceMs, resource.stayMs) : patienceMs;
    if (Math.max(waitMs, rateMs) > longestMs || isRateSpent) throw this.#refusal(waiter);
    const { interactive, bulk } = this.state.waiting;
    if (!demand || interactive + bulk < this.#options.waitingMax) return { patienceMs };
    const isRequest = (each: Waiter) => each.demand !== undefined;
    const ofBulk = lane === 'first' ? line.lanes.bulk.newestOfMost(isRequest) : undefined;
    const displaced = ofBulk ?? line.lanes[lane].newestOfMost(isRequest, owner);
    if (!displaced) throw this.#refusal(waiter);
    return { patienceMs, displaced };
  }

  #patienceOf({ patience, resource: { startMs = 0, msPerChar = 0 } }: Waiter): number {
    if (!patience) return Infinity;
    const { firstChars, wholeChars = 0, waitMsMax = Infinity, deadlineMs = Infinity } = patience;
    const workMs = Math.max(startMs * workOf(firstChars), wholeShare * msPerChar * wholeChars);
    return Math.min(waitMsMax, deadlineMs - this.#now() - workMs);
  }

  /** Expected wait, for a seat and for the rate of the engine, and the time between two admissions. */
  #waitOf(waiter: Waiter, after = 0): { waitMs: number; gapMs: number; rateMs: number } {
    const { owner, lane, line, resource, seat } = waiter;
    const before = after + line.lanes[lane].countBefore(owner, (each) => each.resource === resource);
    const gapMs = this.#gapMs(waiter);
    return { waitMs: gapMs * (before + 1), gapMs, rateMs: this.#rateMs(line, seat, before) };
  }

  /** A request was heard: those that were admitted and disconnected say nothing about how fast requests are served. */
  #learnGap(waiter: Waiter): void {
    const { kind, line, lane, resource } = waiter;
    const gap = resource.gaps[kind];
    const { count } = line.lanes[lane];
    // Averaged over about as many as wait: that is what it is used for.
    const weight = 1 / (10 + count);
    if (count > 0 && resource.turnMs !== undefined)
      gap.ms = learn(this.#gapMs(waiter), this.#now() - gap.sinceMs, weight);
    gap.sinceMs = this.#now();
  }

  /** A request was lost: its caller did not wait any longer. Those that waited already when that was learned do not count. */
  #learnStay({ resource, sinceMs }: Waiter, waitedMs: number): void {
    if (waitedMs < lost.waitedMsMin || sinceMs <= resource.stayAtMs || ++resource.lost < lost.min) return;
    Object.assign(resource, { lost: 0, stayMs: stayShare * waitedMs, stayAtMs: this.#now() });
  }

  /** Expected time between two requests that are served while others wait. */
  #gapMs({ kind, lane, line, resource }: Waiter): number {
    const gap = resource.gaps[kind];
    if (line.lanes[lane].count === 0 && this.#now() - gap.sinceMs >= learnedMsMax) gap.ms = undefined;
    const { speakingMax } = this.#options;
    const seats = Math.min(resource.seats, this.#seatsOf(line), speakingMax);
    const usualMs = resource.turnMs === undefined ? turnMsUsual / speakingMax : resource.turnMs / seats;
    return Math.max(1, gap.ms ?? usualMs);
  }

  /** Requests that were refused are sent again one after the other, as fast as they can be admitted. */
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
    const message = 'The speech engine may not be asked so often; try again.';
    return new Failure('engine_unavailable', { message, retryAfterSeconds: Math.ceil(ms) / 1000 });
  }

  #seatsOf({ engine }: Line): number {
    return engine.capabilities.segmentsSpokenMax ?? this.#options.speakingMax;
  }

  /** Time until the engine may begin another segment, after `before` others. */
  #rateMs(line: Line, seat: Seat, before = 0): number {
    const { perMinute, begun } = line.rateOf(seat);
    while (begun.length > 0 && begun[0]! + minuteMs <= this.#now()) begun.shift();
    const at = begun.length + before - perMinute;
    if (!(at >= 0)) return 0;
    const sinceMs = begun[at % perMinute] ?? this.#now();
    return sinceMs + (Math.floor(at / perMinute) + 1) * minuteMs - this.#now();
  }

  /** Whether the limits of the whole service keep the request waiting. */
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
    for (const lane of line.sinceBulk >= bulkEvery ? [bulk, due, first, later] : [due, first, later, bulk])
      for (const waiter of lane) if (this.#fits(waiter) && !this.#isBehindOther(waiter)) return waiter;
    return undefined;
  }

  /** Admits again at a time when nothing ends, but the rate or the wait of bulk may allow it. */
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
        if (!isUnused && !signal.aborted && ++resource.turns > Math.min(resource.seats, this.#seatsOf(line)))
          resource.turnMs = learn(resource.turnMs, this.#now() - sinceMs);
        waiter.leave();
        this.#admit(line);
      },
    };
  }
}

/** Nobody listens to a bulk request before its end. */
type RequestKind = 'interactive' | 'bulk';

/** What a request needs. */
export interface Demand {
  /** The account: owners take turns. */
  owner: string;
  kind: RequestKind;
  /** Where its first segment is spoken. */
  seat: Seat;
  /** Length of the first segment. */
  firstChars: number;
  /** Length of the text, if the answer is sent when all of it is spoken. */
  wholeChars?: number | undefined;
  /** Most memory that its audio takes. */
  bytesMax: number;
  /** Default: no limit. */
  waitMsMax?: number | undefined;
  /** When the caller gives up, on the clock of the scheduler. */
  deadlineMs?: number | undefined;
}

/** A text of this length that is asked for as a link is bulk: nobody listens while it is spoken. */
const bulkCharsMin = 500;
/** Length of a first segment, if the engine has no limit of its own for it. */
const firstCharsUsual = 60;
/** The longest audio that engines/sound-check.ts accepts for usual text. */
const secondsMax = { start: 4, perChar: 0.3 };
const engineBytesPerSecond = 48_000;
/** For the encoder, and what waits to be sent. */
const streamBytes = 512 * 1024;

type Text = Pick<SpeechRequest, 'chars'> & { languageCode?: string | undefined };

export const kindOf = ({ method, returnFormat, chars }: SpeechRequest): RequestKind =>
  method === 'rest' && returnFormat === 'url' && chars >= bulkCharsMin ? 'bulk' : 'interactive';

export function demandOf(binding: Binding, request: SpeechRequest, caller: Caller, waitMsMax?: number): Demand {
  return {
    ...liveDemandOf(binding, request, caller, waitMsMax),
    kind: kindOf(request),
    wholeChars: request.method === 'rest' ? request.chars : undefined,
    deadlineMs: caller.deadlineMs,
  };
}

/** For a text that is heard while it is spoken. */
export function liveDemandOf(
  { engine, speaker, openClone }: Binding,
  text: Text,
  caller: Caller,
  waitMsMax?: number,
): Demand {
  const { chars, languageCode } = text;
  const { callerId, accountId: owner = callerId } = caller;
  const { segmentCharsMax, segmentsAtOnce, firstSegmentCharsMax = firstCharsUsual } = engine.capabilities;
  const segmentSeconds = secondsMax.start + secondsMax.perChar * Math.min(chars, segmentCharsMax);
  const { languageCodes } = speaker;
  const resource = engine.resourceOf?.({ voice: speaker, languageCode: languageCode ?? languageCodes[0]! });
  return {
    owner,
    kind: 'interactive',
    seat: { engine, resource, isClone: openClone !== undefined },
    firstChars: Math.min(chars, firstSegmentCharsMax),
    bytesMax: streamBytes + segmentsAtOnce * segmentSeconds * engineBytesPerSecond,
    waitMsMax,
  };
}

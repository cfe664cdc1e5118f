// What the running syntheses of this process hold of each owner: slots and characters. A call to the database states all
// that is held of the owners of a key, so a lost answer, a lost row or a missed end needs no repair, and takes what waiting
// syntheses of the key need. An account has one call at a time. What changed without a call is sent soon, and leases are
// renewed.
import { createId } from '../../platform/runtime/id.ts';
import type {
  HeldOfOwner,
  LimitReply,
  SeenLimit,
  SharedLimitRows,
  Taking,
} from '../../platform/store/shared-limits.ts';
import { slotWaitMs } from './limiter.ts';
import { monthAt } from './usage-ledger.ts';

/** Time for which a replica that has stopped keeps its slots. */
const leaseMs = 30_000;
const renewEveryMs = leaseMs / 3;
const sweepEveryMs = 60_000;
/** Interval between attempts to send a state after a failure. */
const retryMs = 500;
/** Interval between attempts to take a slot that another replica may have released. */
const pollEveryMs = 20;
/** Most syntheses that one call takes. */
const waitersAtOnce = 200;

/** An account, and the owners of one key with their limits, the key itself first. */
export interface Chain {
  accountId: string;
  owners: readonly (Pick<HeldOfOwner, 'ownerId' | 'quota' | 'concurrency'> & { intervalUs: number })[];
}

type State = Pick<HeldOfOwner, 'held' | 'used' | 'unrecorded'>;

interface Waiter extends Taking {
  signal: AbortSignal;
  untilMs: number;
  resolve(reply: LimitReply): void;
  reject(error: unknown): void;
}

interface Refund extends Pick<Waiter, 'resolve' | 'reject'> {
  requests: number;
}

/** The syntheses of one key. */
interface Entry {
  chain: Chain;
  waiters: Waiter[];
  /** When the waiters are tried again. */
  pollAtMs: number;
  refunds: Refund[];
  /** When a change is sent that the database lacks; Infinity if it lacks none. */
  sendAtMs: number;
  /** Resolves when the last end is sent, or cannot be sent. */
  sent?: PromiseWithResolvers<void> | undefined;
  usedAtMs: number;
}

interface Account {
  /** A new name for each account that this process opens, because used characters are counted from then on. */
  replica: string;
  /** The month of `used` and `unrecorded`. */
  month: string;
  states: Map<string, State>;
  entries: Map<string, Entry>;
  /** The loop of calls, while there are calls to make. */
  running: Promise<void> | undefined;
  timer: NodeJS.Timeout | undefined;
}

interface HoldingsOptions {
  rows: SharedLimitRows;
  seen: SeenLimits;
  /** Sets the characters of an owner from the ledger. */
  readLedger(ownerId: string, index: number, reply: LimitReply): Promise<unknown>;
  now?: (() => number) | undefined;
}

export function openHoldings({ rows, seen, readLedger, now = Date.now }: HoldingsOptions) {
  const accounts = new Map<string, Account>();
  let revision = 0;

  const accountOf = (accountId: string): Account => {
    const known = accounts.get(accountId);
    if (known) return known;
    const account: Account = {
      replica: createId('rep'),
      month: monthAt(now()).name,
      states: new Map(),
      entries: new Map(),
      running: undefined,
      timer: undefined,
    };
    accounts.set(accountId, account);
    return account;
  };
  const entryOf = ({ entries }: Account, chain: Chain): Entry => {
    const idle = { waiters: [], pollAtMs: 0, refunds: [], sendAtMs: Infinity, usedAtMs: 0 };
    const entry = Object.assign(entries.get(nameOf(chain)) ?? idle, { chain, usedAtMs: performance.now() });
    entries.set(nameOf(chain), entry);
    return entry;
  };

  const send = async (account: Account, entry: Entry): Promise<void> => {
    const { chain } = entry;
    const { replica, month } = account;
    const refunds = entry.refunds.splice(0);
    // Those that wait for no slot are not behind those that do.
    entry.waiters.sort((one, other) => Number(one.waits) - Number(other.waits));
    const waiters = entry.waiters.splice(0, waitersAtOnce).filter(isWaiting);
    entry.sendAtMs = Infinity;
    const refunded = refunds.reduce((sum, { requests }) => sum + requests, 0);
    const owners = chain.owners.map(({ intervalUs, ...owner }) => ({
      ...owner,
      ...seen.get(owner.ownerId),
      ...stateOf(account, owner.ownerId),
      refundUs: refunded * intervalUs,
    }));
    const takes = waiters.map(({ chars, slots, waits }) => ({ chars, slots, waits }));
    const options = { takes, replica, revision: ++revision, leaseUs: leaseMs * 1000, month };
    const reply = await rows.hold(owners, options).catch((error: unknown) => {
      entry.sendAtMs = performance.now() + retryMs;
      for (const { reject } of [...waiters, ...refunds]) reject(error);
    });
    if (!reply) return;
    if (reply.outcome === 'late' || reply.outcome === 'stale') {
      if (reply.outcome === 'late') beginMonth(account, monthAt(reply.nowUs / 1000).name);
      entry.waiters.unshift(...waiters);
      entry.refunds.unshift(...refunds);
      entry.sendAtMs = 0;
      return;
    }
    seen.note(owners, reply);
    for (const { resolve } of refunds) resolve(reply);
    for (const { chars, slots, resolve } of waiters.splice(0, reply.granted)) {
      change(account, chain, { held: slots, used: chars, unrecorded: chars });
      resolve({ ...reply, outcome: 'taken' });
    }
    if (reply.outcome === 'characters') waiters.shift()!.resolve(reply);
    if (reply.outcome === 'full') {
      const nowMs = performance.now();
      entry.pollAtMs = nowMs + pollEveryMs;
      while (waiters[0] && waiters[0].untilMs <= nowMs) waiters.shift()!.resolve(reply);
    }
    entry.waiters.unshift(...waiters);
    if (reply.outcome === 'unread')
      await readLedger(chain.owners[reply.decider]!.ownerId, reply.decider, reply).catch((error: unknown) => {
        for (const { reject } of entry.waiters.splice(0)) reject(error);
      });
  };

  const run = async (account: Account): Promise<void> => {
    for (;;) {
      const due = account.entries.values().find((entry) => dueAtMs(entry) <= performance.now());
      if (!due) break;
      // The keys of an account take turns.
      account.entries.delete(nameOf(due.chain));
      account.entries.set(nameOf(due.chain), due);
      const { sent } = due;
      await send(account, due);
      if (due.sent === sent) due.sent = undefined;
      sent?.resolve();
    }
  };
  const wake = (account: Account): void => {
    clearTimeout(account.timer);
    account.running ??= run(account).then(() => {
      account.running = undefined;
      const waitMs = Math.min(...account.entries.values().map(dueAtMs)) - performance.now();
      if (waitMs < Infinity) account.timer = setTimeout(wake, Math.max(0, waitMs), account).unref();
    });
  };

  /** States again what is held, because the database may have lost it. */
  const restate = () => {
    for (const account of accounts.values()) {
      for (const entry of account.entries.values()) if (isHeld(account, entry)) entry.sendAtMs = 0;
      wake(account);
    }
  };
  const renew = () => {
    const idleBeforeMs = performance.now() - 2 * leaseMs;
    for (const [accountId, account] of accounts) {
      for (const [name, entry] of account.entries)
        if (entry.usedAtMs < idleBeforeMs && dueAtMs(entry) === Infinity && !isHeld(account, entry))
          account.entries.delete(name);
      // The leases of an idle account have ended.
      if (account.entries.size === 0) accounts.delete(accountId);
    }
    seen.sweep();
    restate();
  };
  const timers = [
    setInterval(renew, renewEveryMs).unref(),
    setInterval(() => void rows.sweep().catch(() => {}), sweepEveryMs).unref(),
  ];
  /** Resolves when all changes are sent, or cannot be sent. */
  const settled = async () => {
    for (const account of accounts.values()) {
      wake(account);
      await account.running;
    }
  };

  return {
    /** Takes slots and characters. Waits up to `slotWaitMs` for a slot. */
    take(chain: Chain, taking: Taking, signal: AbortSignal): Promise<LimitReply> {
      const account = accountOf(chain.accountId);
      const entry = entryOf(account, chain);
      const { promise, resolve, reject } = Promise.withResolvers<LimitReply>();
      const waiter = { ...taking, signal, untilMs: performance.now() + slotWaitMs, resolve, reject };
      entry.waiters.push(waiter);
      if (!taking.waits) entry.pollAtMs = 0;
      wake(account);
      return promise;
    },
    /** Refunds requests, and returns the state of the limits. */
    refund(chain: Chain, requests: number): Promise<LimitReply> {
      const account = accountOf(chain.accountId);
      const { promise, resolve, reject } = Promise.withResolvers<LimitReply>();
      entryOf(account, chain).refunds.push({ requests, resolve, reject });
      wake(account);
      return promise;
    },
    monthOf: ({ accountId }: Chain): string => accountOf(accountId).month,
    /** Changes what is held. Characters of another month than the current one are ignored. */
    change(chain: Chain, month: string, { held = 0, used = 0, unrecorded = 0 }: Partial<State>): void {
      const account = accountOf(chain.accountId);
      const entry = entryOf(account, chain);
      const isCurrent = month === account.month;
      change(account, chain, { held, used: isCurrent ? used : 0, unrecorded: isCurrent ? unrecorded : 0 });
      // Without an end, the next call or renewal sends the change.
      if (held === 0) return;
      entry.sendAtMs = 0;
      entry.sent ??= Promise.withResolvers();
      for (const each of account.entries.values()) each.pollAtMs = 0;
      // One call sends all changes of this turn of the event loop.
      setImmediate(wake, account);
    },
    /** Resolves when the database knows what has ended of the key so far. */
    ended: async (accountId: string, ownerId: string): Promise<void> =>
      accounts.get(accountId)?.entries.get(ownerId)?.sent?.promise,
    restate,
    settled,
    async close(): Promise<void> {
      for (const timer of timers) clearInterval(timer);
      await settled();
      for (const { timer } of accounts.values()) clearTimeout(timer);
    },
  };
}

const nameOf = ({ owners }: Chain): string => owners[0]!.ownerId;

const dueAtMs = ({ waiters, pollAtMs, refunds, sendAtMs }: Entry): number =>
  Math.min(refunds.length > 0 ? 0 : Infinity, sendAtMs, waiters.length > 0 ? pollAtMs : Infinity);

/** Ends the wait of a caller that has gone. */
function isWaiting({ signal, reject }: Waiter): boolean {
  if (signal.aborted) reject(signal.reason);
  return !signal.aborted;
}

function stateOf({ states }: Account, ownerId: string): State {
  const state = states.get(ownerId) ?? { held: 0, used: 0, unrecorded: 0 };
  states.set(ownerId, state);
  return state;
}

const isHeld = (account: Account, { chain }: Entry): boolean => stateOf(account, nameOf(chain)).held > 0;

function change(account: Account, { owners }: Chain, { held, used, unrecorded }: State): void {
  for (const { ownerId } of owners) {
    const state = stateOf(account, ownerId);
    state.held += held;
    state.used += used;
    state.unrecorded += unrecorded;
  }
}

function beginMonth(account: Account, month: string): void {
  account.month = month;
  for (const state of account.states.values()) Object.assign(state, { used: 0, unrecorded: 0 });
}

export type SeenLimits = ReturnType<typeof createSeenLimits>;

/** The rate limits that this process saw last. */
export function createSeenLimits() {
  const limits = new Map<string, SeenLimit>();
  let latestUs = 0;
  return {
    get: (ownerId: string): SeenLimit => limits.get(ownerId) ?? { bornUs: 0, fullAtUs: 0 },
    note(asked: readonly { ownerId: string }[], { nowUs, owners }: LimitReply): void {
      latestUs = nowUs;
      for (const [i, { bornUs, fullAtUs }] of owners.entries()) {
        const { ownerId } = asked[i]!;
        const known = limits.get(ownerId);
        // Of answers that overtake each other, the later state counts.
        if (known?.bornUs !== bornUs || fullAtUs > known.fullAtUs) limits.set(ownerId, { bornUs, fullAtUs });
      }
    },
    /** Forgets limits that are available in full again. */
    sweep(): void {
      for (const [ownerId, { fullAtUs }] of limits) if (fullAtUs < latestUs) limits.delete(ownerId);
    },
  };
}

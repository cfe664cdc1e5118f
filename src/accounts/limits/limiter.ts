// Limits the requests per minute, characters per month and concurrent syntheses of API keys, checked in this order. A
// call counts for its key and for its account, so the keys of an account share its limits. A rejected call is not
// charged. This file contains the interface of limiters, and the limiter of a single process.
import { type Failure, hasReason } from '../../platform/errors.ts';
import { intervalOf, takeOne } from '../../platform/rate.ts';
import { type Release, SlotQueue, SlotTimeout } from '../../platform/runtime/slot-queue.ts';
import type { KeyLimits, LimitedAccount } from '../keys/caller.ts';
import {
  checkFitsQuota,
  type LeftOfMonth,
  type LimitStatus,
  leastOf,
  type ReportLimitStatus,
  rateOf,
  toLimitStatus,
  tooManyAtOnce,
  tooManyCharacters,
  tooManyRequests,
} from './rate-limit.ts';
import { monthAt } from './usage-ledger.ts';

/** The owner of a key, and the owners above it. All keys below an owner share its limits. */
export interface Limited extends LimitedAccount {
  keyId: string;
  /** The owners above, the nearest one first: usually only the account. Default: none. */
  above?: readonly LimitedAccount[];
}

/** A running synthesis. `end` must be called on success and on failure. */
export interface Synthesis {
  /** Reports the number of characters of this synthesis in the usage ledger, for limiters that read the ledger. */
  recorded?(chars: number): void;
  /** Releases the slot of the synthesis and refunds the characters that were not spoken. */
  end(spokenChars: number): void;
}

export interface Limiter {
  /** Charges a request. Throws `rate_limit_exceeded`, or `invalid_api_key` if the key is known to be revoked. */
  takeRequest(caller: Limited, report: ReportLimitStatus): Promise<void>;
  /** Reports the status without charging anything. */
  reportStatus(caller: Limited, report: ReportLimitStatus): Promise<void>;
  /** Charges characters and takes a slot within `slotWaitMs`. If a limit refuses, also refunds the request. */
  takeSynthesis(caller: Limited, chars: number, options: TakeOptions): Promise<Synthesis>;
  /** Number of running syntheses of an owner and of all keys below it. */
  running(callerId: string): Promise<number>;
}

/** Returns the key and the owners above it, whose limits also apply. The account is the last one. */
export const chainOf = (caller: Limited): readonly [LimitedAccount, ...LimitedAccount[]] => [
  caller,
  ...(caller.above ?? []),
];

/** Returns the id of the account. The counts of all keys of an account are stored together. */
export const accountIdOf = ({ callerId, above }: Pick<Limited, 'callerId' | 'above'>): string =>
  above?.at(-1)?.callerId ?? callerId;

/** The monthly quotas of the caller and of the owners above it. */
export function monthlyQuotaOf(caller: Limited) {
  const quotas = chainOf(caller).map(({ limits }) => limits.charactersPerMonth);
  const least = Math.min(...quotas.map((quota) => quota ?? Infinity));
  return {
    /** The smallest quota; Infinity if there is none. */
    characters: least,
    /** Rejects a text that exceeds a whole quota. */
    checkFits(chars: number): void {
      for (const [i, quota] of quotas.entries()) checkFitsQuota(chars, quota, i === 0);
    },
    /** Rejects a text with more characters than the status reports as remaining. */
    checkLeft(chars: number, status: LimitStatus | undefined): void {
      const left = status?.characters?.remaining ?? Infinity;
      if (chars <= left) return;
      throw tooManyCharacters({ chars, quota: least, left, isOwn: least === quotas[0], nowMs: Date.now() });
    },
  };
}

export interface TakeOptions {
  signal: AbortSignal;
  report: ReportLimitStatus;
  /**
   * A running synthesis that the new synthesis continues. The new synthesis takes over its slot and characters without
   * a wait. If the new synthesis is refused, the old synthesis continues to run.
   */
  replaces?: Synthesis | undefined;
  /**
   * Whether the synthesis is one of several parts of a request. A refused part does not refund the request, and its
   * text is not reported as too long.
   */
  isPart?: boolean | undefined;
  /** Whether the synthesis is background work, which is charged but starts even if no slot is free. */
  needsNoSlot?: boolean | undefined;
}

export interface LimiterOptions {
  /** Characters that the owner and all keys below it have spent since `sinceMs`, from the usage ledger. */
  spentSince(callerId: string, sinceMs: number): Promise<number>;
  /** The clock, in fractional epoch milliseconds. */
  now?: () => number;
}

/** Longest wait of a synthesis for a slot. */
export const slotWaitMs = 250;

export function createLimiter({ spentSince, now = Date.now }: LimiterOptions): Limiter {
  const nowUs = () => Math.round(now() * 1000);
  const accounts = createAccounts({ spentSince, now }, nowUs);
  const openChain = (caller: Limited): readonly Member[] =>
    chainOf(caller).map((each, i) => ({
      account: accounts.open(each.callerId),
      limits: each.limits,
      isOwn: i === 0,
    }));

  const statusOf = async (chain: readonly Member[]): Promise<LimitStatus> =>
    leastOf(
      await Promise.all(
        chain.map(async ({ account, limits }) => {
          const quota = limits.charactersPerMonth;
          const left = quota === undefined ? undefined : await account.quota.left(quota);
          return toLimitStatus(limits, account.fullAtUs, nowUs(), left);
        }),
      ),
    );

  return {
    async takeRequest(caller, report) {
      const chain = openChain(caller);
      const taken = chain.map((member) => ({
        member,
        ...takeOne(member.account.fullAtUs, nowUs(), rateOf(member.limits)),
      }));
      const refused = taken.filter(({ isAllowed }) => !isAllowed).toSorted((a, b) => b.waitUs - a.waitUs)[0];
      if (!refused) for (const { member, fullAtUs } of taken) member.account.fullAtUs = fullAtUs;
      const refusal = refused && tooManyRequests(refused.member.limits, refused.waitUs, refused.member.isOwn);
      await reportStatus(() => statusOf(chain), report, refusal);
    },

    async reportStatus(caller, report) {
      report(await statusOf(openChain(caller)));
    },

    takeSynthesis: (caller, chars, options) =>
      takeSynthesis({ chain: openChain(caller), statusOf }, caller, chars, options),

    running: async (callerId) => accounts.find(callerId)?.slots.held ?? 0,
  };
}

async function takeSynthesis(
  { chain, statusOf }: { chain: readonly Member[]; statusOf(chain: readonly Member[]): Promise<LimitStatus> },
  caller: Limited,
  chars: number,
  { signal, report, replaces, isPart = false, needsNoSlot = false }: TakeOptions,
): Promise<Synthesis> {
  const refunds: Refund[] = [];
  const releases: Release[] = [];
  try {
    if (!isPart) monthlyQuotaOf(caller).checkFits(chars);
    for (const { account, limits, isOwn } of chain)
      refunds.push(await account.quota.take(chars, limits.charactersPerMonth, isOwn));
    const isHeld = replaces !== undefined && held.has(replaces);
    if (!isHeld && !needsNoSlot) await takeSlots(chain, { owner: caller.callerId, signal, releases });
    report(await statusOf(chain));
  } catch (error) {
    endHolding({ parts: [{ chars, refunds }], releases }, 0);
    // The request is refunded if a limit refuses the synthesis, but not if the caller aborts it.
    if (!hasReason(error, 'rate_limit_exceeded')) throw error;
    if (!isPart) for (const { account, limits } of chain) account.fullAtUs -= intervalOf(rateOf(limits));
    await reportStatus(() => statusOf(chain), report, error);
  }
  const before = replaces && takeHolding(replaces);
  const parts = [...(before?.parts ?? []), { chars, refunds }];
  return createSynthesis({ parts, releases: [...(before?.releases ?? []), ...releases] });
}

/** The slots and charges of a synthesis. Each replaced synthesis adds a part. */
interface Holding {
  parts: readonly { chars: number; refunds: readonly Refund[] }[];
  releases: readonly Release[];
}

const held = new WeakMap<Synthesis, Holding>();

/** Removes and returns the slots and charges of a synthesis that ends or is replaced. */
function takeHolding(synthesis: Synthesis): Holding | undefined {
  const holding = held.get(synthesis);
  held.delete(synthesis);
  return holding;
}

function createSynthesis(holding: Holding): Synthesis {
  const synthesis: Synthesis = {
    end(spokenChars) {
      const own = takeHolding(synthesis);
      if (own) endHolding(own, spokenChars);
    },
  };
  held.set(synthesis, holding);
  return synthesis;
}

/** Refunds the last parts first, because the unspoken characters are at the end of the text. */
function endHolding({ parts, releases }: Holding, spokenChars: number): void {
  let unspoken = parts.reduce((sum, { chars }) => sum + chars, -spokenChars);
  for (const { chars, refunds } of parts.toReversed()) {
    const refunded = Math.min(unspoken, chars);
    for (const refund of refunds) refund(refunded);
    unspoken -= refunded;
  }
  for (const release of releases) release();
}

/** An account in the chain, with its limits in this process. */
interface Member {
  account: Account;
  limits: KeyLimits;
  /** Whether this is the entry of the calling key, not of an owner above it. */
  isOwn: boolean;
}

/** Reports the status and throws the refusal, if any. If the status cannot be read, a refusal is still thrown. */
export async function reportStatus(
  read: () => Promise<LimitStatus>,
  report: ReportLimitStatus,
  refusal: Failure | undefined,
): Promise<void> {
  try {
    report(await read());
  } catch (error) {
    throw refusal ?? error;
  }
  if (refusal) throw refusal;
}

/**
 * Takes a slot of each account, starting with the key itself. A call that waits for a slot of an owner holds only slots
 * below this owner, which other calls cannot use without a slot of the owner. The keys of an account take turns.
 */
async function takeSlots(
  chain: readonly Member[],
  { owner, signal, releases }: { owner: string; signal: AbortSignal; releases: Release[] },
): Promise<void> {
  const endsMs = performance.now() + slotWaitMs;
  for (const { account, limits, isOwn } of chain) {
    const waitMsMax = Math.max(0, endsMs - performance.now());
    const taking = account.slots.take({ owner, slotsMax: limits.concurrency, waitMsMax, signal });
    const release = await taking.catch((error: unknown) => {
      throw error instanceof SlotTimeout ? tooManyAtOnce(limits, isOwn) : error;
    });
    releases.push(release);
  }
}

/** The counts of an account in this process: requests, characters of the month, and slots. */
interface Account {
  fullAtUs: number;
  quota: MonthlyQuota;
  slots: SlotQueue;
}

/** Idle accounts are removed when there are this many accounts, and then each time the number has doubled. */
const keptMin = 1_000;

interface AccountsOptions extends Pick<MonthlyQuotaOptions, 'now'> {
  /** Characters that the owner and all keys below it have spent since `sinceMs`. */
  spentSince(callerId: string, sinceMs: number): Promise<number>;
}

export function createAccounts({ spentSince, now }: AccountsOptions, nowUs: () => number) {
  const accounts = new Map<string, Account>();
  let sweepAt = keptMin;
  const isIdle = ({ fullAtUs, slots }: Account) => fullAtUs <= nowUs() && slots.held === 0;
  return {
    find: (callerId: string) => accounts.get(callerId),
    open(callerId: string): Account {
      const known = accounts.get(callerId);
      if (known) return known;
      if (accounts.size >= sweepAt) {
        for (const [id, account] of accounts) if (isIdle(account)) accounts.delete(id);
        sweepAt = Math.max(keptMin, 2 * accounts.size);
      }
      const quota = createMonthlyQuota({ spentSince: (sinceMs) => spentSince(callerId, sinceMs), now });
      const account = { fullAtUs: 0, quota, slots: new SlotQueue() };
      accounts.set(callerId, account);
      return account;
    },
  };
}

/** Refunds characters that were charged. */
type Refund = (chars: number) => void;

interface MonthlyQuotaOptions {
  /** Characters in the ledger since `sinceMs`. */
  spentSince(sinceMs: number): Promise<number>;
  now(): number;
}

interface CountedMonth {
  endsMs: number;
  spent: Promise<{ chars: number }>;
}

type MonthlyQuota = ReturnType<typeof createMonthlyQuota>;

/** The monthly character quota of an account. The count of a month starts with the value in the usage ledger. */
function createMonthlyQuota({ spentSince, now }: MonthlyQuotaOptions) {
  let month: CountedMonth | undefined;

  const currentMonth = (): CountedMonth => {
    if (month && now() < month.endsMs) return month;
    const { beginsMs, endsMs } = monthAt(now());
    const spent = spentSince(beginsMs).then((chars) => ({ chars }));
    // After an error, the next call reads the ledger again.
    spent.catch(() => {
      month = undefined;
    });
    month = { endsMs, spent };
    return month;
  };

  return {
    async left(quota: number): Promise<LeftOfMonth> {
      const { endsMs, spent } = currentMonth();
      return { characters: quota - (await spent).chars, endsMs };
    },
    /** Charges the characters, or fails without a charge. If there is no quota, characters are only counted. */
    async take(chars: number, quota: number | undefined, isOwn = true): Promise<Refund> {
      // A month that is already being counted is also counted without a quota, because the key may get a quota again.
      const counted = quota === undefined ? month : currentMonth();
      const spent = await counted?.spent;
      if (!counted || !spent) return () => {};
      const left = quota === undefined ? Infinity : quota - spent.chars;
      if (quota !== undefined && chars > left) throw tooManyCharacters({ chars, quota, left, isOwn, nowMs: now() });
      spent.chars += chars;
      return (refunded) => {
        spent.chars -= refunded;
      };
    },
  };
}

// The limits of API keys: requests per minute, characters per month, syntheses at once. Here is the contract, and the
// limiter of a single process. The limits are checked in that order, and a rejected call is charged nothing.
import { type Release, SlotQueue, SlotTimeout } from '../concurrency/slot-queue.ts';
import { Failure } from '../errors.ts';
import { intervalOf, takeOne } from './gcra.ts';
import type { KeyLimits } from './key-limits.ts';
import { type LimitStatus, type ReportLimitStatus, rateOf, toLimitStatus } from './limit-status.ts';
import { createMonthlyQuota, type MonthlyQuota, type QuotaCharge } from './monthly-quota.ts';
import { tooManyAtOnce, tooManyRequests } from './rate-limit-failures.ts';

/** Whose limits are checked. `callerId` is the owner, which stays the same when a key is replaced. */
export interface Limited {
  callerId: string;
  keyId: string;
  limits: KeyLimits;
}

/** A running synthesis, which must be ended on success and on failure. */
export interface Synthesis {
  /** Frees its slot and refunds the characters that were not spoken. */
  end(spokenChars: number): void;
}

export interface Limiter {
  /**
   * Charges a request. Fails with `rate_limit_exceeded`, or with `invalid_api_key` for a key that is known here to be
   * revoked.
   */
  takeRequest(caller: Limited, report: ReportLimitStatus): Promise<void>;
  /** Reports the status and charges nothing. */
  reportStatus(caller: Limited, report: ReportLimitStatus): Promise<void>;
  /** Charges characters and takes a slot, waiting `slotWaitMs` at most; on failure it refunds the request too. */
  takeSynthesis(caller: Limited, chars: number, options: TakeOptions): Promise<Synthesis>;
  /** The number of the owner's running syntheses. */
  running(callerId: string): Promise<number>;
}

export interface TakeOptions {
  signal: AbortSignal;
  report: ReportLimitStatus;
}

export interface LimiterOptions {
  /** The characters that the owner has spent since then, from the usage ledger. */
  spentSince(callerId: string, sinceMs: number): Promise<number>;
  /** The clock, in epoch milliseconds, with fractions. */
  now?: () => number;
  /** The part of every limit that this process may use, where others use the rest; at least one of each. */
  share?: number;
}

interface Account {
  fullAtUs: number;
  quota: MonthlyQuota;
  slots: SlotQueue;
}

/** How long a synthesis waits for a slot. */
export const slotWaitMs = 250;
/** Above this number, accounts at rest are removed. */
const accountsMax = 10_000;

export function createLimiter(options: LimiterOptions): Limiter {
  const { spentSince, now = Date.now, share = 1 } = options;
  const nowUs = () => Math.round(now() * 1000);
  const accounts = createAccounts({ spentSince, now, share }, nowUs);

  const partOf = (limit: number) => Math.max(1, Math.floor(limit * share));
  /** The limits of this process; the monthly quota takes its part of what is left. */
  const limitsHere = ({ limits }: Limited): KeyLimits => ({
    requestsPerMinute: partOf(limits.requestsPerMinute),
    concurrency: partOf(limits.concurrency),
    charactersPerMonth: limits.charactersPerMonth,
  });

  const statusOf = async (limits: KeyLimits, account: Account): Promise<LimitStatus> => {
    const quota = limits.charactersPerMonth;
    const left = quota === undefined ? undefined : await account.quota.left(quota);
    return toLimitStatus(limits, account.fullAtUs, nowUs(), left);
  };

  return {
    async takeRequest(caller, report) {
      const account = accounts.open(caller.callerId);
      const limits = limitsHere(caller);
      const { isAllowed, fullAtUs, waitUs } = takeOne(account.fullAtUs, nowUs(), rateOf(limits));
      account.fullAtUs = fullAtUs;
      report(await statusOf(limits, account));
      if (!isAllowed) throw tooManyRequests(limits, waitUs);
    },

    async reportStatus(caller, report) {
      report(await statusOf(limitsHere(caller), accounts.open(caller.callerId)));
    },

    async takeSynthesis(caller, chars, { signal, report }) {
      const account = accounts.open(caller.callerId);
      const limits = limitsHere(caller);
      let charge: QuotaCharge | undefined;
      let release: Release | undefined;
      try {
        charge = await account.quota.take(chars, limits.charactersPerMonth);
        release = await takeSlot(account.slots, limits, signal);
        report(await statusOf(limits, account));
      } catch (error) {
        charge?.refund(chars);
        release?.();
        // The request is refunded where a limit rejects it, but not where its caller aborts it.
        if (error instanceof Failure && error.reason === 'rate_limit_exceeded') {
          account.fullAtUs -= intervalOf(rateOf(limits));
          report(await statusOf(limits, account));
        }
        throw error;
      }
      return toSynthesis(charge, chars, release);
    },

    running: async (callerId) => accounts.find(callerId)?.slots.held ?? 0,
  };
}

function createAccounts({ spentSince, now, share }: Required<LimiterOptions>, nowUs: () => number) {
  const accounts = new Map<string, Account>();
  const isIdle = ({ fullAtUs, slots }: Account) => fullAtUs <= nowUs() && slots.held === 0;
  return {
    find: (callerId: string) => accounts.get(callerId),
    open(callerId: string): Account {
      const known = accounts.get(callerId);
      if (known) return known;
      if (accounts.size >= accountsMax) {
        for (const [id, account] of accounts) if (isIdle(account)) accounts.delete(id);
      }
      const quota = createMonthlyQuota({ spentSince: (sinceMs) => spentSince(callerId, sinceMs), now, share });
      const account = { fullAtUs: 0, quota, slots: new SlotQueue() };
      accounts.set(callerId, account);
      return account;
    },
  };
}

const takeSlot = (slots: SlotQueue, limits: KeyLimits, signal: AbortSignal): Promise<Release> =>
  slots.take({ slotsMax: limits.concurrency, waitMsMax: slotWaitMs, signal }).catch((error: unknown) => {
    throw error instanceof SlotTimeout ? tooManyAtOnce(limits) : error;
  });

function toSynthesis(charge: QuotaCharge, chars: number, release: Release): Synthesis {
  let isOver = false;
  return {
    end(spokenChars) {
      if (isOver) return;
      isOver = true;
      charge.refund(chars - spokenChars);
      release();
    },
  };
}

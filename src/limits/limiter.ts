// How often a key may call, how many characters a month, and how many syntheses at once: kept in this process. Asked in
// the order of the contract, and what one limit refuses is charged by none.
import { Failure } from '../errors.ts';
import { intervalOf, takeOne } from './gcra.ts';
import type { KeyLimits } from './key-limits.ts';
import { createKeySlots, type KeySlots } from './key-slots.ts';
import { monthAt } from './month.ts';
import {
  checkText,
  rateOf,
  toLimitStatus,
  tooManyAtOnce,
  tooManyCharacters,
  tooManyRequests,
} from './rate-limit-failures.ts';

/** Of whose limits it is asked: the owner, who stays the same where a key is replaced. */
export interface Limited {
  callerId: string;
  keyId: string;
  limits: KeyLimits;
}

/** How a key stands, to be told with every answer. */
export interface LimitStatus {
  limits: KeyLimits;
  requests: { remaining: number; fullInSeconds: number };
  /** Where there is a limit. */
  characters?: { remaining: number; fullInSeconds: number };
}

/** A synthesis that may run. To be ended, whatever becomes of it. */
export interface Synthesis {
  /** Gives back its place, and the characters that were not spoken. */
  end(spokenChars: number): void;
}

export interface Limiter {
  /**
   * Charges a request. Tells how the key stands, also where it is refused: `rate_limit_exceeded`, and `invalid_api_key`
   * for a key that has been revoked meanwhile, as far as that is known here.
   */
  takeRequest(caller: Limited, tell: (limitStatus: LimitStatus) => void): Promise<void>;
  /** Tells how the key stands, and charges nothing. */
  reportStatus(caller: Limited, tell: (limitStatus: LimitStatus) => void): Promise<void>;
  /** Charges characters and takes a place, after waiting a moment for one; refused, it gives back the request too. */
  takeSynthesis(caller: Limited, chars: number, options: TakeOptions): Promise<Synthesis>;
  /** How many syntheses of the owner's run. */
  running(callerId: string): Promise<number>;
}

export interface TakeOptions {
  signal: AbortSignal;
  tell(limitStatus: LimitStatus): void;
}

export interface LimiterOptions {
  /** What a key has spent in the month that begins then. */
  spentSince(callerId: string, sinceMs: number): Promise<number>;
  /** The clock, in epoch milliseconds; fractions count. */
  now?: () => number;
  /** What part of every limit this process gives out, where others give out the rest; of each one at least. */
  share?: number;
}

interface Account {
  fullAtUs: number;
  month: CountedMonth | undefined;
  turns: KeySlots;
}

interface CountedMonth {
  endsMs: number;
  /** `before`: what was spent when the count began. */
  spent: Promise<Spent>;
}

interface Spent {
  before: number;
  chars: number;
}

/** How long somebody waits for a place. */
export const slotWaitMs = 250;
/** Beyond so many keys, those are forgotten that have nothing to remember. */
const accountsKept = 10_000;

export function createLimiter({ spentSince, now = Date.now, share = 1 }: LimiterOptions): Limiter {
  const accounts = new Map<string, Account>();
  const nowUs = () => Math.round(now() * 1000);

  const isIdle = ({ fullAtUs, turns }: Account) => fullAtUs <= nowUs() && turns.running === 0;
  const accountOf = (callerId: string): Account => {
    const known = accounts.get(callerId);
    if (known) return known;
    if (accounts.size >= accountsKept) {
      for (const [id, account] of accounts) if (isIdle(account)) accounts.delete(id);
    }
    const account = { fullAtUs: 0, month: undefined, turns: createKeySlots() };
    accounts.set(callerId, account);
    return account;
  };

  const part = (limit: number) => Math.max(1, Math.floor(limit * share));
  /** What of the limits is given out here; a month has its part of what is left of it. */
  const limitsHere = ({ limits }: Limited): KeyLimits => {
    const { requestsPerMinute, concurrency } = limits;
    return { ...limits, requestsPerMinute: part(requestsPerMinute), concurrency: part(concurrency) };
  };
  const leftOf = (most: number, { before, chars }: Spent) => before + Math.floor((most - before) * share) - chars;

  const monthOf = (callerId: string, account: Account): CountedMonth => {
    if (account.month && now() < account.month.endsMs) return account.month;
    const { beginsMs, endsMs } = monthAt(now());
    const spent = spentSince(callerId, beginsMs).then((chars) => ({ before: chars, chars }));
    // Asked again if the store did not answer.
    spent.catch(() => {
      account.month = undefined;
    });
    account.month = { endsMs, spent };
    return account.month;
  };

  const limitStatusOf = async (caller: Limited, account: Account): Promise<LimitStatus> => {
    const limits = limitsHere(caller);
    const most = limits.charactersPerMonth;
    if (most === undefined) return toLimitStatus(limits, account.fullAtUs, nowUs());
    const { endsMs, spent } = monthOf(caller.callerId, account);
    const characters = leftOf(most, await spent);
    return toLimitStatus(limits, account.fullAtUs, nowUs(), { characters, endsMs });
  };

  const takeCharacters = async ({ callerId, limits }: Limited, account: Account, chars: number): Promise<Spent> => {
    const most = limits.charactersPerMonth;
    if (most === undefined) {
      // A limit may come back within the month.
      const known = await account.month?.spent;
      if (known) known.chars += chars;
      return known ?? { before: 0, chars: 0 };
    }
    checkText(chars, most);
    const month = monthOf(callerId, account);
    const spent = await month.spent;
    const left = leftOf(most, spent);
    if (chars > left) throw tooManyCharacters(chars, most, left, month.endsMs - now());
    spent.chars += chars;
    return spent;
  };

  return {
    async takeRequest(caller, tell) {
      const account = accountOf(caller.callerId);
      const limits = limitsHere(caller);
      const { isAllowed, fullAtUs, waitUs } = takeOne(account.fullAtUs, nowUs(), rateOf(limits));
      account.fullAtUs = fullAtUs;
      tell(await limitStatusOf(caller, account));
      if (!isAllowed) throw tooManyRequests(limits, waitUs);
    },

    async reportStatus(caller, tell) {
      tell(await limitStatusOf(caller, accountOf(caller.callerId)));
    },

    async takeSynthesis(caller, chars, { signal, tell }) {
      const account = accountOf(caller.callerId);
      const limits = limitsHere(caller);
      let spent: Spent | undefined;
      let hasPlace = false;
      try {
        spent = await takeCharacters(caller, account, chars);
        hasPlace = await account.turns.take(limits.concurrency, slotWaitMs, signal);
        if (!hasPlace) throw tooManyAtOnce(limits);
        tell(await limitStatusOf(caller, account));
      } catch (error) {
        if (spent) spent.chars -= chars;
        if (hasPlace) account.turns.giveBack();
        // Who leaves has made a request all the same.
        if (error instanceof Failure && error.reason === 'rate_limit_exceeded') {
          account.fullAtUs -= intervalOf(rateOf(limits));
          tell(await limitStatusOf(caller, account));
        }
        throw error;
      }
      const taken = spent;
      let isOver = false;
      return {
        end(spokenChars) {
          if (isOver) return;
          isOver = true;
          taken.chars -= chars - spokenChars;
          account.turns.giveBack();
        },
      };
    },

    running: async (callerId) => accounts.get(callerId)?.turns.running ?? 0,
  };
}

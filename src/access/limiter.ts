// How often a key may call, how many characters a month, and how many syntheses at once: kept in this process. Asked in
// the order of the contract, and what one limit refuses is charged by none. Every wait that it names is true: who comes
// back after just that long is let in; but when a place will be free nobody knows, and a second is a guess.
import { Failure } from '../errors.ts';
import { intervalOf, type Rate, standingAt, takeOne } from './gcra.ts';
import type { KeyLimits } from './key-limits.ts';
import { createTurns, type Turns } from './turns.ts';

/** Of whose limits it is asked: the owner, who stays the same where a key is replaced. */
export interface Limited {
  callerId: string;
  limits: KeyLimits;
}

/** How a key stands, to be told with every answer. */
export interface Standing {
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
  /** Charges a request. Tells how the key stands, also where it is refused: `rate_limit_exceeded`. */
  takeRequest(caller: Limited, tell: (standing: Standing) => void): Promise<void>;
  /** Tells how the key stands, and charges nothing. */
  tellStanding(caller: Limited, tell: (standing: Standing) => void): Promise<void>;
  /** Charges characters and takes a place, after waiting a moment for one; refused, it gives back the request too. */
  takeSynthesis(caller: Limited, chars: number, options: TakeOptions): Promise<Synthesis>;
  /** How many syntheses of the owner's run. */
  running(callerId: string): number;
}

export interface TakeOptions {
  signal: AbortSignal;
  tell(standing: Standing): void;
}

export interface LimiterOptions {
  /** What a key has spent in the month that begins then. */
  spentSince(callerId: string, sinceMs: number): Promise<number>;
  /** The clock, in epoch milliseconds; fractions count. */
  now?: () => number;
}

interface Account {
  fullAtUs: number;
  month: Month | undefined;
  turns: Turns;
}

interface Month {
  endsMs: number;
  spent: Promise<{ chars: number }>;
}

const burstMax = 100;
const placeWaitMs = 250;
/** Beyond so many keys, those are forgotten that have nothing to remember. */
const accountsKept = 10_000;

const rateOf = ({ requestsPerMinute }: KeyLimits): Rate => ({
  perMinute: requestsPerMinute,
  burst: Math.min(burstMax, requestsPerMinute),
});

export function createLimiter({ spentSince, now = Date.now }: LimiterOptions): Limiter {
  const accounts = new Map<string, Account>();
  const nowUs = () => Math.round(now() * 1000);

  const isIdle = ({ fullAtUs, turns }: Account) => fullAtUs <= nowUs() && turns.running === 0;
  const accountOf = (callerId: string): Account => {
    const known = accounts.get(callerId);
    if (known) return known;
    if (accounts.size >= accountsKept) {
      for (const [id, account] of accounts) if (isIdle(account)) accounts.delete(id);
    }
    const account = { fullAtUs: 0, month: undefined, turns: createTurns() };
    accounts.set(callerId, account);
    return account;
  };

  const monthOf = (callerId: string, account: Account): Month => {
    const nowMs = now();
    if (account.month && nowMs < account.month.endsMs) return account.month;
    const date = new Date(nowMs);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    const spent = spentSince(callerId, Date.UTC(year, month)).then((chars) => ({ chars }));
    // Asked again if the store did not answer.
    spent.catch(() => {
      account.month = undefined;
    });
    account.month = { endsMs: Date.UTC(year, month + 1), spent };
    return account.month;
  };

  const standingOf = async ({ callerId, limits }: Limited, account: Account): Promise<Standing> => {
    const { remaining, fullInUs } = standingAt(account.fullAtUs, nowUs(), rateOf(limits));
    const requests = { remaining, fullInSeconds: Math.ceil(fullInUs / 1_000_000) };
    if (limits.charactersPerMonth === undefined) return { limits, requests };
    const month = monthOf(callerId, account);
    const left = limits.charactersPerMonth - (await month.spent).chars;
    const fullInSeconds = Math.ceil((month.endsMs - now()) / 1000);
    return { limits, requests, characters: { remaining: Math.max(0, left), fullInSeconds } };
  };

  const takeCharacters = async ({ callerId, limits }: Limited, account: Account, chars: number) => {
    const most = limits.charactersPerMonth;
    if (most === undefined) {
      // A limit may come back within the month.
      const known = await account.month?.spent;
      if (known) known.chars += chars;
      return known ?? { chars: 0 };
    }
    if (chars > most) {
      const message = `This text has ${chars} characters, and this key may speak ${most} in a month.`;
      const details = [{ field: 'text', reason: 'length', message }];
      throw new Failure('invalid_request', { message, limit: most, actual: chars, details });
    }
    const month = monthOf(callerId, account);
    const spent = await month.spent;
    if (spent.chars + chars > most) {
      const message = `This key may speak ${most} characters in a month; ${most - spent.chars} are left of this one.`;
      const facts = { message, limit: most, actual: spent.chars + chars, limitReason: 'characters' as const };
      throw new Failure('rate_limit_exceeded', { ...facts, retryAfterSeconds: (month.endsMs - now()) / 1000 });
    }
    spent.chars += chars;
    return spent;
  };

  return {
    async takeRequest(caller, tell) {
      const account = accountOf(caller.callerId);
      const { isAllowed, fullAtUs, waitUs } = takeOne(account.fullAtUs, nowUs(), rateOf(caller.limits));
      account.fullAtUs = fullAtUs;
      tell(await standingOf(caller, account));
      if (isAllowed) return;
      const { requestsPerMinute: limit } = caller.limits;
      const message = `This key may make ${limit} requests a minute.`;
      const facts = { message, limit, limitReason: 'requests' as const, retryAfterSeconds: waitUs / 1_000_000 };
      throw new Failure('rate_limit_exceeded', facts);
    },

    async tellStanding(caller, tell) {
      tell(await standingOf(caller, accountOf(caller.callerId)));
    },

    async takeSynthesis(caller, chars, { signal, tell }) {
      const account = accountOf(caller.callerId);
      const { concurrency } = caller.limits;
      let spent: { chars: number } | undefined;
      let hasPlace = false;
      try {
        spent = await takeCharacters(caller, account, chars);
        hasPlace = await account.turns.take(concurrency, placeWaitMs, signal);
        if (!hasPlace) {
          const message = `This key may have ${concurrency} syntheses running at once.`;
          const facts = { message, limit: concurrency, limitReason: 'concurrency' as const, retryAfterSeconds: 1 };
          throw new Failure('rate_limit_exceeded', facts);
        }
        tell(await standingOf(caller, account));
      } catch (error) {
        if (spent) spent.chars -= chars;
        if (hasPlace) account.turns.giveBack();
        // Who leaves has made a request all the same.
        if (error instanceof Failure && error.reason === 'rate_limit_exceeded') {
          account.fullAtUs -= intervalOf(rateOf(caller.limits));
          tell(await standingOf(caller, account));
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

    running: (callerId) => accounts.get(callerId)?.turns.running ?? 0,
  };
}

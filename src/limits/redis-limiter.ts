// The limits of keys where several processes share them, on Redis or Valkey: the contract and the rules of limiter.ts, one
// decision a trip, by the server's clock. The ledger stays the truth of what a month has had; what runs, and what has
// ended since it was read, is counted at Redis (owner-account.lua). While Redis is away, the fallback decides.
import { Failure } from '../errors.ts';
import { createId } from '../id.ts';
import { type Redis, RedisAway } from '../redis/redis.ts';
import type { FallbackLimiter } from './fallback-limiter.ts';
import { type Rate, takeOne } from './gcra.ts';
import type { Limited, Limiter, LimiterOptions, LimitStatus, Synthesis, TakeOptions } from './limiter.ts';
import {
  checkText,
  rateOf,
  toLimitStatus,
  tooManyAtOnce,
  tooManyCharacters,
  tooManyRequests,
} from './rate-limit-failures.ts';
import { type Answer, createRedisAccounts, type Place } from './redis-account.ts';
import { openSlotLeases } from './slot-leases.ts';
import { createSlotQueue } from './slot-queue.ts';

export interface RedisLimiter extends Limiter {
  /** No replica admits the key any more; as far as Redis is there. */
  markEnded(ownerId: string, keyId: string): Promise<void>;
  /** A failed attempt from an address: how long from now until all are there again, in microseconds. */
  takeAttempt(address: string, rate: Rate): Promise<number>;
  readonly state: LimiterState;
  /** Settles when Redis knows of every place that was given back. */
  close(): Promise<void>;
}

/** For operators. */
export interface LimiterState {
  isAway: boolean;
  /** How often Redis went away. */
  outages: number;
  /** Requests and syntheses that were decided without it. */
  decidedAlone: number;
}

export interface RedisLimiterOptions extends Omit<LimiterOptions, 'share'> {
  redis: Redis;
  prefix: string;
  fallback: FallbackLimiter;
}

/** So often the ledger is asked again, where it took too long. */
const readingsMax = 3;

export function openRedisLimiter({ redis, prefix, fallback, spentSince, now }: RedisLimiterOptions): RedisLimiter {
  const accounts = createRedisAccounts({ redis, prefix, replica: createId('rep'), now });
  const leases = openSlotLeases(redis, accounts);
  const line = createSlotQueue<Granted>();
  let decidedAlone = 0;

  const orAlone = async <T>(together: () => Promise<T>, alone: (limiter: Limiter) => Promise<T>): Promise<T> => {
    try {
      return await together();
    } catch (error) {
      if (!(error instanceof RedisAway)) throw error;
      decidedAlone++;
      return alone(fallback(redis.outages));
    }
  };

  /** The same, with what was spent of the month; where nobody knows, the ledger is asked. */
  const counted = async (owner: string, answer: Answer): Promise<Answer> => {
    let last = answer;
    for (let reading = 0; last.spentChars === undefined; reading++) {
      if (reading === readingsMax) throw new Failure('storage_unavailable', {}, new Error('the ledger is too slow'));
      last = await accounts.bring(owner, await spentSince(owner, last.month.beginsMs), last);
    }
    return last;
  };

  const limitStatusOf = async ({ callerId, limits }: Limited, answer: Answer): Promise<LimitStatus> => {
    const most = limits.charactersPerMonth;
    if (most === undefined) return toLimitStatus(limits, answer.fullAtUs, answer.nowUs);
    const { spentChars, fullAtUs, nowUs, month } = await counted(callerId, answer);
    return toLimitStatus(limits, fullAtUs, nowUs, { characters: most - spentChars!, endsMs: month.endsMs });
  };

  /** Asks for a place, once: what was answered, but undefined where there is none. */
  const askForPlace = async ({ callerId, limits }: Limited, chars: number): Promise<Granted | undefined> => {
    const { charactersPerMonth, concurrency: placesMax } = limits;
    for (let asked = 0; asked <= readingsMax; asked++) {
      const place = accounts.newSlot(chars);
      const question = { place, rate: rateOf(limits), charactersPerMonth, placesMax };
      const answer = await accounts.speak(callerId, question).catch((error: unknown) => {
        // It may have been taken all the same.
        leases.drop(callerId, place);
        throw error;
      });
      if (answer.outcome === 'full') return undefined;
      if (answer.outcome === 'unread') await counted(callerId, answer);
      else if (answer.outcome !== 'late') return { answer, place };
    }
    throw new Failure('storage_unavailable', {}, new Error('the month cannot be told'));
  };

  const takeSlot = async (caller: Limited, chars: number, signal: AbortSignal): Promise<Granted | undefined> => {
    const { callerId } = caller;
    const ask = () => askForPlace(caller, chars);
    signal.throwIfAborted();
    const direct = line.isEmpty(callerId) ? await ask() : undefined;
    const granted = direct ?? (await line.wait(callerId, signal, ask));
    if (!signal.aborted) return granted;
    if (granted?.answer.outcome === 'taken') await leases.end(callerId, granted.place, 0);
    throw signal.reason;
  };

  const takeTogether = async (caller: Limited, chars: number, options: TakeOptions): Promise<Synthesis> => {
    const { callerId, limits } = caller;
    const { signal, tell } = options;
    const most = limits.charactersPerMonth;
    if (most !== undefined) checkText(chars, most);
    const granted = await takeSlot(caller, chars, signal).catch((error: unknown) => {
      // Nobody here is waited for any more.
      if (signal.aborted && line.isEmpty(callerId)) accounts.leave(callerId, undefined, true).catch(() => {});
      throw error;
    });
    if (!granted) {
      const left = await accounts.leave(callerId, rateOf(limits), line.isEmpty(callerId));
      tell(await limitStatusOf(caller, left));
      throw tooManyAtOnce(limits);
    }
    const { answer, place } = granted;
    tell(await limitStatusOf(caller, answer));
    if (answer.outcome === 'characters') {
      const waitMs = answer.month.endsMs - answer.nowUs / 1000;
      throw tooManyCharacters(chars, most!, most! - answer.spentChars!, waitMs);
    }
    return toSynthesis(callerId, place);
  };

  const toSynthesis = (owner: string, place: Place, alone?: Synthesis): Synthesis => {
    leases.hold(owner, place);
    let isOver = false;
    return {
      end(spokenChars) {
        if (isOver) return;
        isOver = true;
        alone?.end(spokenChars);
        void leases.end(owner, place, spokenChars);
        line.wake(owner);
      },
    };
  };

  return {
    takeRequest: (caller, tell) =>
      orAlone(
        async () => {
          const rate = rateOf(caller.limits);
          const answer = await accounts.takeRequest(caller.callerId, caller.keyId, rate);
          if (answer.outcome === 'ended') throw new Failure('invalid_api_key');
          tell(await limitStatusOf(caller, answer));
          if (answer.outcome === 'taken') return;
          throw tooManyRequests(caller.limits, takeOne(answer.fullAtUs, answer.nowUs, rate).waitUs);
        },
        (alone) => alone.takeRequest(caller, tell),
      ),

    reportStatus: (caller, tell) =>
      orAlone(
        async () => tell(await limitStatusOf(caller, await accounts.look(caller.callerId))),
        (alone) => alone.reportStatus(caller, tell),
      ),

    takeSynthesis: (caller, chars, options) =>
      orAlone(
        () => takeTogether(caller, chars, options),
        async (alone) => {
          const synthesis = await alone.takeSynthesis(caller, chars, options);
          return toSynthesis(caller.callerId, accounts.newSlot(chars), synthesis);
        },
      ),

    running: (owner) =>
      orAlone(
        () => accounts.running(owner),
        (alone) => alone.running(owner),
      ),

    async markEnded(ownerId, keyId) {
      // Without it, replicas still find out from the table, within half a second.
      await accounts.markEnded(ownerId, keyId).catch(() => {});
    },
    async takeAttempt(address, rate) {
      const { fullAtUs, nowUs } = await accounts.takeRequest(`address ${address}`, '', rate);
      return fullAtUs - nowUs;
    },
    get state() {
      return { isAway: redis.isAway, outages: redis.outages, decidedAlone };
    },
    close: () => leases.close(),
  };
}

interface Granted {
  answer: Answer;
  place: Place;
}

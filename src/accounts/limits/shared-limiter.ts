// Implements the limiter of limiter.ts for replicas that share a PostgreSQL database. A decision is one round trip and
// uses the clock of the database. While the database is away, calls fail, because their keys cannot be verified either;
// only a synthesis that continues another one goes on. What the database loses in a crash is restored from what each
// replica knows: the rate limits that it saw last, and the syntheses that it runs.
import { Failure, hasReason } from '../../platform/errors.ts';
import { intervalOf, type Rate, takeOne } from '../../platform/rate.ts';
import type { LimitReply, SharedLimitRows } from '../../platform/store/shared-limits.ts';
import type { LimitedAccount } from '../keys/caller.ts';
import { type Chain, createSeenLimits, openHoldings } from './holdings.ts';
import {
  accountIdOf,
  chainOf,
  type Limited,
  type Limiter,
  type LimiterOptions,
  monthlyQuotaOf,
  reportStatus,
  type Synthesis,
} from './limiter.ts';
import { leastOf, rateOf, toLimitStatus, tooManyAtOnce, tooManyCharacters, tooManyRequests } from './rate-limit.ts';
import { monthAt } from './usage-ledger.ts';

interface SharedLimiter extends Limiter {
  /** Charges a failed attempt from an address. Resolves to the microseconds until all attempts are available again. */
  takeAttempt(address: string, rate: Rate): Promise<number>;
  /** States again what this process holds, because the database may have lost it. */
  restate(): void;
  /** Resolves when the end of all syntheses is sent, or cannot be sent. */
  close(): Promise<void>;
}

interface SharedLimiterOptions extends LimiterOptions {
  rows: SharedLimitRows;
}

/** A reading of the ledger is repeated if the ledger grew meanwhile. */
const ledgerReadsMax = 5;

/** What a synthesis holds. */
interface Held {
  chain: Chain;
  month: string;
  slots: number;
  chars: number;
  unrecorded: number;
  /** Characters that were charged in an earlier month. */
  earlier: number;
}

export function openSharedLimiter({ rows, spentSince, now }: SharedLimiterOptions): SharedLimiter {
  const seen = createSeenLimits();
  const held = new WeakMap<Synthesis, Held>();

  const takeRequest = async (owners: readonly (readonly [ownerId: string, rate?: Rate])[], keyId?: string) => {
    const taking = owners.map(([ownerId, rate]) => {
      const intervalUs = rate ? intervalOf(rate) : 0;
      const capacityUs = rate ? rate.burst * intervalUs : Number.MAX_SAFE_INTEGER;
      return { ownerId, ...seen.get(ownerId), intervalUs, capacityUs };
    });
    const reply = await rows.takeRequest(taking, keyId);
    seen.note(taking, reply);
    return reply;
  };

  /** Returns the characters of the month. If the database has no count, sets it from the ledger. */
  const spentOf = async (ownerId: string, i: number, { nowUs, owners }: LimitReply): Promise<number> => {
    let { spent } = owners[i]!;
    for (let reads = 0, atUs = nowUs; spent === null; reads++) {
      if (reads === ledgerReadsMax) throw countUnknown();
      const { name: month, beginsMs } = monthAt(atUs / 1000);
      const chars = await spentSince(ownerId, beginsMs);
      ({ spent, nowUs: atUs } = await rows.setSpent(ownerId, { month, chars, atUs }));
    }
    return spent;
  };
  const holdings = openHoldings({ rows, seen, readLedger: spentOf, now });

  const statusOf = async (caller: Limited, reply: LimitReply) =>
    leastOf(
      await Promise.all(
        chainOf(caller).map(async ({ callerId, limits }, i) => {
          const quota = limits.charactersPerMonth;
          const { fullAtUs } = reply.owners[i]!;
          if (quota === undefined) return toLimitStatus(limits, fullAtUs, reply.nowUs);
          const characters = quota - (await spentOf(callerId, i, reply));
          return toLimitStatus(limits, fullAtUs, reply.nowUs, {
            characters,
            endsMs: monthAt(reply.nowUs / 1000).endsMs,
          });
        }),
      ),
    );

  /** What a synthesis holds that was granted just now. It takes over what the synthesis that it replaces holds. */
  const holdingOf = (
    chain: Chain,
    { chars, slots, replaces }: { chars: number; slots: number; replaces: Synthesis | undefined },
  ): Held => {
    const month = holdings.monthOf(chain);
    const before = replaces && held.get(replaces);
    if (!before) return { chain, month, slots, chars, unrecorded: chars, earlier: 0 };
    held.delete(replaces);
    const rest = { chain, month, slots: before.slots + slots };
    if (before.month !== month) return { ...rest, chars, unrecorded: chars, earlier: before.earlier + before.chars };
    return { ...rest, chars: before.chars + chars, unrecorded: before.unrecorded + chars, earlier: before.earlier };
  };

  const createSynthesis = (holding: Held): Synthesis => {
    const { chain, month, slots, chars, earlier } = holding;
    const setUnrecorded = (unrecorded: number) => {
      const change = { unrecorded: unrecorded - holding.unrecorded };
      holding.unrecorded = unrecorded;
      return change;
    };
    const synthesis: Synthesis = {
      recorded(recordedChars) {
        if (!held.has(synthesis)) return;
        const rest = chars + earlier - Math.max(recordedChars, earlier);
        holdings.change(chain, month, setUnrecorded(Math.max(0, rest)));
      },
      end(spokenChars) {
        if (!held.delete(synthesis)) return;
        const used = Math.max(0, spokenChars - earlier) - chars;
        holdings.change(chain, month, { held: -slots, used, ...setUnrecorded(0) });
      },
    };
    held.set(synthesis, holding);
    return synthesis;
  };

  return {
    async takeRequest(caller, report) {
      const chain = chainOf(caller);
      // The characters that the answer reports include those of calls that this process has answered.
      if (chain.some(({ limits }) => limits.charactersPerMonth !== undefined))
        await holdings.ended(accountIdOf(caller), caller.callerId);
      const rates = chain.map(({ callerId, limits }) => [callerId, rateOf(limits)] as const);
      const reply = await takeRequest(rates, caller.keyId);
      const { outcome, decider, owners, nowUs } = reply;
      if (outcome === 'ended') throw new Failure('invalid_api_key');
      const { waitUs } = takeOne(owners[decider]!.fullAtUs, nowUs, rates[decider]![1]);
      const refusal = outcome === 'taken' ? undefined : tooManyRequests(chain[decider]!.limits, waitUs, decider === 0);
      await reportStatus(() => statusOf(caller, reply), report, refusal);
    },

    async reportStatus(caller, report) {
      const owners = chainOf(caller).map(({ callerId }) => [callerId] as const);
      report(await statusOf(caller, await takeRequest(owners)));
    },

    async takeSynthesis(caller, chars, { signal, report, replaces, isPart = false, needsNoSlot = false }) {
      const members = chainOf(caller);
      const chain = toChain(caller);
      if (!isPart) monthlyQuotaOf(caller).checkFits(chars);
      const isContinued = replaces !== undefined && held.has(replaces);
      const slots = isContinued ? 0 : 1;
      signal.throwIfAborted();
      const taking = { chars, slots, waits: !isContinued && !needsNoSlot };
      const reply = await holdings.take(chain, taking, signal).catch((error: unknown) => {
        if (!isContinued || !hasReason(error, 'storage_unavailable')) throw error;
        holdings.change(chain, holdings.monthOf(chain), { used: chars, unrecorded: chars });
      });
      if (reply && reply.outcome !== 'taken') {
        const refunded = await holdings.refund(chain, isPart ? 0 : 1);
        await reportStatus(() => statusOf(caller, refunded), report, refusalOf(members, reply, chars));
      }
      const synthesis = createSynthesis(holdingOf(chain, { chars, slots, replaces }));
      if (signal.aborted) {
        synthesis.end(0);
        throw signal.reason;
      }
      if (reply) report(await statusOf(caller, reply));
      return synthesis;
    },

    async running(callerId) {
      await holdings.settled();
      return rows.running(callerId);
    },
    async takeAttempt(address, rate) {
      const { owners, nowUs } = await takeRequest([[`address ${address}`, rate]]);
      return owners[0]!.fullAtUs - nowUs;
    },
    restate: holdings.restate,
    close: () => holdings.close(),
  };
}

const toChain = (caller: Limited): Chain => ({
  accountId: accountIdOf(caller),
  owners: chainOf(caller).map(({ callerId: ownerId, limits: { charactersPerMonth: quota, concurrency, ...rest } }) => {
    return { ownerId, quota, concurrency, intervalUs: intervalOf(rateOf(rest)) };
  }),
});

const countUnknown = () =>
  new Failure('storage_unavailable', {}, new Error('the count of the month cannot be determined'));

function refusalOf(members: readonly LimitedAccount[], { outcome, decider, owners, nowUs }: LimitReply, chars: number) {
  const { limits } = members[decider]!;
  if (outcome === 'full') return tooManyAtOnce(limits, decider === 0);
  const quota = limits.charactersPerMonth!;
  const left = quota - owners[decider]!.spent!;
  return tooManyCharacters({ chars, quota, left, isOwn: decider === 0, nowMs: nowUs / 1000 });
}

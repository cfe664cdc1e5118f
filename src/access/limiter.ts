// The limits of API keys: requests per minute, characters per month, syntheses at once. A call counts for its key and for all
// that the key descends from, so a key and its descendants share its limits. Here is the contract, and the limiter of a
// single process. The limits are checked in that order, and a rejected call is charged nothing.
import { Failure } from '../errors.ts';
import { type Release, SlotQueue, SlotTimeout } from '../runtime/slot-queue.ts';
import type { KeyLimits } from './key-limits.ts';
import {
  checkFitsQuota,
  intervalOf,
  type LeftOfMonth,
  type LimitStatus,
  leastOf,
  type ReportLimitStatus,
  rateOf,
  takeOne,
  toLimitStatus,
  tooManyAtOnce,
  tooManyCharacters,
  tooManyRequests,
} from './rate-limit.ts';
import { monthAt } from './usage-ledger.ts';

/** A key, or a person or machine that makes keys, and its limits. */
export interface LimitedAccount {
  /** The owner, which stays the same when a key is replaced. */
  callerId: string;
  keyId?: string;
  limits: KeyLimits;
}

/** Whose limits are checked: those of a key, and of all that it descends from together with all their keys. */
export interface Limited extends LimitedAccount {
  keyId: string;
  /** The nearest first. Default: none. */
  above?: readonly LimitedAccount[];
}

/** A running synthesis, which must be ended on success and on failure. */
export interface Synthesis {
  /** Tells how many of its characters are in the usage ledger, for a limiter that reads the ledger while it runs. */
  recorded?(chars: number): void;
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
  /** Charges characters and takes a slot, waiting `slotWaitMs` at most; where a limit refuses it, the request is refunded too. */
  takeSynthesis(caller: Limited, chars: number, options: TakeOptions): Promise<Synthesis>;
  /** The number of running syntheses of an owner and of all that descend from it. */
  running(callerId: string, accountId?: string): Promise<number>;
}

/** The key, and all whose limits hold for it too, up to its account. */
export const chainOf = (caller: Limited): readonly [LimitedAccount, ...LimitedAccount[]] => [
  caller,
  ...(caller.above ?? []),
];

/** The last of the chain: what is kept of all its keys is kept together. */
export const accountIdOf = ({ callerId, above }: Pick<Limited, 'callerId' | 'above'>): string =>
  above?.at(-1)?.callerId ?? callerId;

export interface TakeOptions {
  signal: AbortSignal;
  report: ReportLimitStatus;
  /**
   * A running synthesis that goes on as this one: its slot is kept, so that there is nothing to wait for, and its
   * characters are this one's too. Where this fails, it still runs.
   */
  replaces?: Synthesis | undefined;
  /** One of many that one request takes: a refusal refunds no request, and is no fault of the text, however long it is. */
  isPart?: boolean | undefined;
  /** Nobody listens: its characters are charged, and it neither waits for a slot nor is refused for lack of one. */
  needsNoSlot?: boolean | undefined;
}

export interface LimiterOptions {
  /** The characters that the owner and all that descend from it have spent since then, from the usage ledger. */
  spentSince(callerId: string, sinceMs: number): Promise<number>;
  /** The clock, in epoch milliseconds, with fractions. */
  now?: () => number;
  /** The part of every limit that this process may use, where others use the rest; at least one of each. */
  share?: number;
}

/** How long a synthesis waits for a slot. */
export const slotWaitMs = 250;

export function createLimiter({ spentSince, now = Date.now, share = 1 }: LimiterOptions): Limiter {
  const nowUs = () => Math.round(now() * 1000);
  const accounts = createAccounts({ spentSince, now, share }, nowUs);
  const openChain = (caller: Limited): readonly Member[] =>
    chainOf(caller).map((each, i) => ({
      account: accounts.open(each.callerId),
      limits: shareOf(each.limits, share),
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
  { callerId: owner }: Limited,
  chars: number,
  { signal, report, replaces, isPart = false, needsNoSlot = false }: TakeOptions,
): Promise<Synthesis> {
  const charges: QuotaCharge[] = [];
  const releases: Release[] = [];
  try {
    if (!isPart) for (const { limits, isOwn } of chain) checkFitsQuota(chars, limits.charactersPerMonth, isOwn);
    for (const { account, limits, isOwn } of chain)
      charges.push(await account.quota.take(chars, limits.charactersPerMonth, isOwn));
    const isHeld = replaces instanceof HeldSynthesis && replaces.isHeld;
    if (!isHeld && !needsNoSlot) await takeSlots(chain, { owner, signal, releases });
    report(await statusOf(chain));
  } catch (error) {
    endHolding({ parts: [{ chars, charges }], releases }, 0);
    // The request is refunded where a limit rejects it, but not where its caller aborts it.
    if (!(error instanceof Failure && error.reason === 'rate_limit_exceeded')) throw error;
    if (!isPart) for (const { account, limits } of chain) account.fullAtUs -= intervalOf(rateOf(limits));
    await reportStatus(() => statusOf(chain), report, error);
  }
  const before = replaces instanceof HeldSynthesis ? replaces.takeHolding() : undefined;
  const parts = [...(before?.parts ?? []), { chars, charges }];
  return new HeldSynthesis({ parts, releases: [...(before?.releases ?? []), ...releases] });
}

/** The part of the limits that this process may use; a monthly quota is divided when it is read. */
function shareOf(limits: KeyLimits, share: number): KeyLimits {
  if (share === 1) return limits;
  const partOf = (limit: number) => Math.max(1, Math.floor(limit * share));
  return { ...limits, requestsPerMinute: partOf(limits.requestsPerMinute), concurrency: partOf(limits.concurrency) };
}

/** What a synthesis holds: slots, and the charges of its parts, of which there is one for each that it has replaced. */
interface Holding {
  parts: readonly { chars: number; charges: readonly QuotaCharge[] }[];
  releases: readonly Release[];
}

class HeldSynthesis implements Synthesis {
  #holding: Holding | undefined;

  constructor(holding: Holding) {
    this.#holding = holding;
  }

  get isHeld(): boolean {
    return this.#holding !== undefined;
  }

  /** Ends it and leaves what it holds to the caller. */
  takeHolding(): Holding | undefined {
    const holding = this.#holding;
    this.#holding = undefined;
    return holding;
  }

  /** Whoever takes it may pass on this function alone. */
  readonly end = (spokenChars: number): void => {
    const held = this.takeHolding();
    if (held) endHolding(held, spokenChars);
  };
}

/** What was not spoken is the end of the text. */
function endHolding({ parts, releases }: Holding, spokenChars: number): void {
  let unspoken = parts.reduce((sum, { chars }) => sum + chars, -spokenChars);
  for (const { chars, charges } of parts.toReversed()) {
    const refunded = Math.min(unspoken, chars);
    for (const charge of charges) charge.refund(refunded);
    unspoken -= refunded;
  }
  for (const release of releases) release();
}

/** An account of the chain, with its limits in this process. */
interface Member {
  account: Account;
  limits: KeyLimits;
  /** Whether it is the key of the call itself. */
  isOwn: boolean;
}

/** Reports the status, and throws the refusal, if any. A status that cannot be read does not replace a refusal. */
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
 * Takes a slot of each account, the key's own first: while a call waits for a slot of an ancestor, it holds only slots that
 * nobody else could use without that one. The slots of an account go round its keys.
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

/** What this process counts of an account: its requests, its characters of the month, and its slots. */
interface Account {
  fullAtUs: number;
  quota: MonthlyQuota;
  slots: SlotQueue;
}

/** Idle accounts are removed when there are this many, and then each time the number has doubled. */
const keptMin = 1_000;

interface AccountsOptions extends Pick<MonthlyQuotaOptions, 'now' | 'share'> {
  /** The characters that the owner and all that descend from it have spent since then. */
  spentSince(callerId: string, sinceMs: number): Promise<number>;
}

export function createAccounts({ spentSince, now, share }: AccountsOptions, nowUs: () => number) {
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
      const quota = createMonthlyQuota({ spentSince: (sinceMs) => spentSince(callerId, sinceMs), now, share });
      const account = { fullAtUs: 0, quota, slots: new SlotQueue() };
      accounts.set(callerId, account);
      return account;
    },
  };
}

interface QuotaCharge {
  refund(chars: number): void;
}

interface MonthlyQuotaOptions {
  /** The characters that the ledger has since then. */
  spentSince(sinceMs: number): Promise<number>;
  now(): number;
  /** The part of what is left that this process may use. */
  share: number;
}

interface CountedMonth {
  endsMs: number;
  /** `before` comes from the ledger; `chars` is the current count, `before` included. */
  spent: Promise<{ before: number; chars: number }>;
}

type MonthlyQuota = ReturnType<typeof createMonthlyQuota>;

/** The character quota of an account. The count of a month starts with what the usage ledger has. */
function createMonthlyQuota({ spentSince, now, share }: MonthlyQuotaOptions) {
  let month: CountedMonth | undefined;

  const currentMonth = (): CountedMonth => {
    if (month && now() < month.endsMs) return month;
    const { beginsMs, endsMs } = monthAt(now());
    const spent = spentSince(beginsMs).then((chars) => ({ before: chars, chars }));
    // The next call reads the ledger again.
    spent.catch(() => {
      month = undefined;
    });
    month = { endsMs, spent };
    return month;
  };
  const leftOf = (quota: number, { before, chars }: Awaited<CountedMonth['spent']>) =>
    before + Math.floor((quota - before) * share) - chars;

  return {
    async left(quota: number): Promise<LeftOfMonth> {
      const { endsMs, spent } = currentMonth();
      return { characters: leftOf(quota, await spent), endsMs };
    },
    /** Charges the characters, or fails and charges none. Without a quota they are only counted. */
    async take(chars: number, quota: number | undefined, isOwn = true): Promise<QuotaCharge> {
      // Without a quota, a month that was counted before still is: the key may get a quota again.
      const counted = quota === undefined ? month : currentMonth();
      const spent = await counted?.spent;
      if (!counted || !spent) return { refund() {} };
      const left = quota === undefined ? Infinity : leftOf(quota, spent);
      if (quota !== undefined && chars > left)
        throw tooManyCharacters({ chars, quota, left, isOwn }, counted.endsMs - now());
      spent.chars += chars;
      return {
        refund(refunded) {
          spent.chars -= refunded;
        },
      };
    },
  };
}

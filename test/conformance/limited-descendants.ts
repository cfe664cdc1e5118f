// Tests that a limiter counts a key and the keys that descend from it together, exactly. Part of the limiter suite.
import { expect, test } from 'vitest';
import type { Limiter } from '../../src/accounts/limits/limiter.ts';
import type { LimitStatus } from '../../src/accounts/limits/rate-limit.ts';
import type { Failure } from '../../src/platform/errors.ts';

export const signal = new AbortController().signal;
export const usual = { requestsPerMinute: 600, concurrency: 20, charactersPerMonth: undefined };
export const silent = () => {};

export const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: Failure) => error,
  );
export const admitted = async (all: Promise<unknown>[]) =>
  (await Promise.allSettled(all)).filter(({ status }) => status === 'fulfilled').length;

/** Opens a limiter with a clock, and a ledger that returns the characters spent by an owner. */
type Open = (spentSince?: (callerId: string) => number) => Promise<{ clock: { nowMs: number }; limiter: Limiter }>;

export function testDescendants(openLimiter: Open): void {
  /**
   * A grandparent with two children, each with one child. Grandchildren have `limits`, the other keys `limitsAbove`.
   */
  async function openFamily(limitsAbove: object, limits: object = {}, spent: Record<string, number> = {}) {
    const { clock, limiter } = await openLimiter((callerId) => spent[callerId] ?? 0);
    const above = (callerId: string, given: object) => ({
      callerId,
      keyId: callerId,
      limits: { ...usual, ...given },
    });
    const caller = (name: string) => ({
      ...above(name, limits),
      above: [above(`parent of ${name}`, {}), above('grandparent', limitsAbove)],
    });
    const request = (name: string) => limiter.takeRequest(caller(name), silent);
    const speak = (name: string, chars = 1, until = signal) =>
      limiter.takeSynthesis(caller(name), chars, { signal: until, report: silent });
    const limitStatus = async (name: string) => {
      let status: LimitStatus | undefined;
      await limiter.reportStatus(caller(name), (one) => (status = one));
      return status!;
    };
    return { clock, limiter, request, speak, limitStatus };
  }

  test('requests of descendants count for all that they descend from, and refused ones for none', async () => {
    const { clock, request, limitStatus, limiter } = await openFamily({ requestsPerMinute: 60 });
    const all = Array.from({ length: 200 }, (_, i) => request(i % 2 ? 'ann' : 'ben'));
    expect(await admitted(all)).toBe(60);
    const refusal = await refusalOf(request('ann'));
    expect(refusal).toMatchObject({ facts: { limitReason: 'requests', limit: 60, retryAfterSeconds: 1 } });
    expect(refusal!.message).toContain('account');
    const { requests, limits } = await limitStatus('ben');
    expect([requests, limits.requestsPerMinute]).toEqual([{ remaining: 0, fullInSeconds: 60 }, 600]);
    clock.nowMs += 1_000;
    // Each key was charged for only 30 of its 100 requests, so its own burst is full again.
    const own = { callerId: 'ann', keyId: 'ann', limits: usual };
    expect(await admitted(Array.from({ length: 200 }, () => limiter.takeRequest(own, silent)))).toBeGreaterThan(70);
    expect(await refusalOf(request('ben'))).toBeUndefined();
    expect(await refusalOf(request('ben'))).toBeDefined();
  });

  test('syntheses of descendants hold slots of all that they descend from; one that ends lets in a waiting one', async () => {
    const { speak, limiter } = await openFamily({ concurrency: 3 }, { concurrency: 2 });
    const running = [await speak('ann'), await speak('ann'), await speak('ben')];
    expect(await refusalOf(speak('ann'))).toMatchObject({ facts: { limitReason: 'concurrency', limit: 2 } });
    expect(await refusalOf(speak('ben'))).toMatchObject({ facts: { limitReason: 'concurrency', limit: 3 } });
    const counts = () => Promise.all(['ann', 'ben', 'parent of ann', 'grandparent'].map((id) => limiter.running(id)));
    expect(await counts()).toEqual([2, 1, 2, 3]);
    const waiting = speak('ben');
    running[0]!.end(1);
    (await waiting).end(1);
    for (const one of running) one.end(1);
    await expect.poll(counts).toEqual([0, 0, 0, 0]);
  });

  test('characters of descendants count for all that they descend from, from what the ledger has of each', async () => {
    const spent = { grandparent: 500, 'parent of ann': 100 };
    const { speak, limitStatus } = await openFamily({ charactersPerMonth: 1_000 }, { charactersPerMonth: 400 }, spent);
    const left = async () => [
      (await limitStatus('ann')).characters!.remaining,
      (await limitStatus('ben')).characters!.remaining,
    ];
    expect(await left()).toEqual([400, 400]);
    const running = await speak('ann', 300);
    (await speak('ben', 100)).end(100);
    expect(await left()).toEqual([100, 100]);
    expect(await refusalOf(speak('ben', 101))).toMatchObject({
      facts: { limitReason: 'characters', limit: 1_000, actual: 1_001 },
    });
    running.end(50);
    expect(await refusalOf(speak('ann', 351))).toMatchObject({ facts: { limitReason: 'characters', limit: 400 } });
    await expect.poll(left).toEqual([350, 300]);
    expect(await refusalOf(speak('ben', 1_001))).toMatchObject({ reason: 'invalid_request', facts: { limit: 400 } });
  });

  test('a descendant that waits for a slot of its account takes none when it leaves', async () => {
    const { speak, limiter } = await openFamily({ concurrency: 1 });
    const holder = await speak('ann');
    const leaving = new AbortController();
    const waiting = speak('ben', 1, leaving.signal);
    leaving.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    holder.end(1);
    await expect.poll(() => limiter.running('grandparent')).toBe(0);
    expect(await limiter.running('ben')).toBe(0);
    (await speak('ben')).end(1);
  });

  test('a status that cannot be read does not replace a refusal', async () => {
    const { limiter } = await openLimiter(() => {
      throw new Error('away');
    });
    const caller = {
      callerId: 'key',
      keyId: 'key',
      limits: { ...usual, requestsPerMinute: 1, charactersPerMonth: 9 },
    };
    await expect(limiter.takeRequest(caller, silent)).rejects.toThrow('away');
    const refusal = await refusalOf(limiter.takeRequest(caller, silent));
    expect(refusal).toMatchObject({ reason: 'rate_limit_exceeded', facts: { limitReason: 'requests' } });
  });
}

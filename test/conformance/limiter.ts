// Tests any limiter against the contract in src/accounts/limits/limiter.ts, with a manual clock: limits are exact under
// concurrency, and every suggested wait is long enough.
import { afterEach, describe, expect, test } from 'vitest';
import type { Limiter, LimiterOptions, Synthesis } from '../../src/accounts/limits/limiter.ts';
import type { LimitStatus } from '../../src/accounts/limits/rate-limit.ts';
import { admitted, refusalOf, signal, silent, testDescendants, usual } from './limited-descendants.ts';

export interface OpenLimiter {
  limiter: Limiter;
  close(): Promise<void>;
}

export function limiterConformance(
  name: string,
  open: (options: Required<Pick<LimiterOptions, 'spentSince' | 'now'>>) => Promise<OpenLimiter>,
): void {
  describe(`${name} meets the contract of a limiter`, () => {
    const opened: OpenLimiter[] = [];
    afterEach(async () => {
      for (const one of opened.splice(0)) await one.close();
    });

    async function openLimiter(spentSince: (callerId: string) => Promise<number> | number = () => 0) {
      // A time so early that microseconds are exact.
      const clock = { nowMs: Date.UTC(1970, 0, 31, 12) };
      const one = await open({ spentSince: async (callerId) => spentSince(callerId), now: () => clock.nowMs });
      opened.push(one);
      const { limiter } = one;
      const caller = (limits = {}, callerId = 'key') => ({
        callerId,
        keyId: callerId,
        limits: { ...usual, ...limits },
      });
      const request = (limits = {}, callerId = 'key') => limiter.takeRequest(caller(limits, callerId), silent);
      const speak = (chars: number, limits = {}, until = signal, replaces?: Synthesis) =>
        limiter.takeSynthesis(caller(limits), chars, { signal: until, report: silent, replaces });
      const limitStatus = async (limits = {}) => {
        let status: LimitStatus | undefined;
        await limiter.takeRequest(caller(limits), (one) => (status = one)).catch(silent);
        return status!;
      };
      return { clock, limiter, request, speak, limitStatus };
    }

    testDescendants(openLimiter);

    test.each([
      [600, 100],
      [60, 60],
      [7, 7],
      [1, 1],
      [1_000_000, 100],
    ])(
      'of 1000 at once, a key of %i a minute gets its burst of %i, and another key its own',
      async (perMinute, burst) => {
        const { request } = await openLimiter();
        const limits = { requestsPerMinute: perMinute };
        expect(await admitted(Array.from({ length: 1000 }, () => request(limits)))).toBe(burst);
        expect(await refusalOf(request(limits, 'other'))).toBeUndefined();
      },
    );

    test.each([600, 61, 7, 999_983])(
      'of %i a minute, who waits as told is let in, 250 times; sooner is too soon',
      async (n) => {
        const { clock, request } = await openLimiter();
        const limits = { requestsPerMinute: n };
        let waited = 0;
        while (waited < 250) {
          const refusal = await refusalOf(request(limits));
          if (!refusal) continue;
          expect(refusal).toMatchObject({
            reason: 'rate_limit_exceeded',
            facts: { limitReason: 'requests', limit: n },
          });
          const waitMs = refusal.facts.retryAfterSeconds! * 1000;
          clock.nowMs += waitMs - 0.001;
          expect(await refusalOf(request(limits))).toBeDefined();
          clock.nowMs += 0.001;
          expect(await refusalOf(request(limits))).toBeUndefined();
          waited++;
        }
      },
    );

    test('a minute lets in a minute’s worth after the burst', async () => {
      const { clock, request } = await openLimiter();
      let count = 0;
      for (let ms = 0; ms < 60_000; ms += 50) {
        clock.nowMs += 50;
        if (!(await refusalOf(request({ requestsPerMinute: 300 })))) count++;
      }
      // The first request came after 50 ms, so the last of the 300 is due only after the minute.
      expect(count).toBe(100 + 299);
    });

    test('the state of the limits is reported with every request, refused ones too', async () => {
      const { clock, limitStatus } = await openLimiter(() => 400);
      const limits = { requestsPerMinute: 60, charactersPerMonth: 1000 };
      expect(await limitStatus(limits)).toEqual({
        limits: { ...usual, ...limits },
        requests: { remaining: 59, fullInSeconds: 1 },
        characters: { remaining: 600, fullInSeconds: 12 * 3600 },
      });
      for (let i = 0; i < 59; i++) await limitStatus(limits);
      expect((await limitStatus(limits)).requests).toEqual({ remaining: 0, fullInSeconds: 60 });
      clock.nowMs += 30_000;
      expect((await limitStatus(limits)).requests).toEqual({ remaining: 29, fullInSeconds: 31 });
    });

    test('characters are counted exactly, refunded where nothing was spoken, and reset each month', async () => {
      const { clock, speak, limiter } = await openLimiter(() => 100);
      const limits = { charactersPerMonth: 1_000, concurrency: 10_000 };
      const all = await Promise.allSettled(Array.from({ length: 1000 }, () => speak(9, limits)));
      const running = all.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
      expect([running.length, await limiter.running('key')]).toEqual([100, 100]);
      running[0]!.end(0);
      running[0]!.end(0);
      running[1]!.end(5);
      (await speak(13, limits)).end(13);
      const refusal = await refusalOf(speak(1, limits));
      expect(refusal).toMatchObject({
        reason: 'rate_limit_exceeded',
        facts: { limitReason: 'characters', limit: 1_000 },
      });
      for (const one of running.slice(1)) one.end(9);
      clock.nowMs += refusal!.facts.retryAfterSeconds! * 1000 - 1;
      expect(await refusalOf(speak(1, limits))).toBeDefined();
      clock.nowMs += 1;
      // The new month reads the ledger again, which still returns 100 here.
      expect(await refusalOf(speak(900, limits))).toBeUndefined();
      expect(await refusalOf(speak(1_001, limits))).toMatchObject({
        reason: 'invalid_request',
        facts: { limit: 1_000 },
      });
    });

    test('concurrent syntheses are counted exactly; without a free slot calls wait briefly, in order', async () => {
      const { speak, limiter } = await openLimiter();
      const limits = { concurrency: 5 };
      const first = await Promise.all(Array.from({ length: 5 }, () => speak(1, limits)));
      const order: number[] = [];
      const taken = async (n: number) => {
        const one = await speak(1, limits);
        order.push(n);
        return one;
      };
      const waiting = [1, 2, 3].map(taken);
      const late = refusalOf(waiting[2]!);
      const tooMany = Array.from({ length: 100 }, () => refusalOf(speak(1, limits)));
      first[0]!.end(1);
      await waiting[0];
      first[1]!.end(1);
      await waiting[1];
      const refused = await Promise.all(tooMany);
      expect(refused.every((one) => one?.facts.limitReason === 'concurrency')).toBe(true);
      expect([order, await limiter.running('key')]).toEqual([[1, 2], 5]);
      expect(await late).toMatchObject({ facts: { limitReason: 'concurrency', retryAfterSeconds: 1 } });
      for (const one of [...first.slice(2), await waiting[0]!, await waiting[1]!]) one.end(1);
      expect(await limiter.running('key')).toBe(0);
    });

    test('a synthesis that goes on keeps its slot, however many wait for it, and what was not spoken is refunded', async () => {
      const { limiter, speak, limitStatus } = await openLimiter();
      const limits = { concurrency: 1, charactersPerMonth: 1000 };
      const left = async () => (await limitStatus(limits)).characters!.remaining;
      const first = await speak(100, limits);
      const waiting = speak(0, limits);
      const second = await speak(50, limits, signal, first);
      first.end(0);
      expect(await left()).toBe(850);
      expect(await limiter.running('key')).toBe(1);
      expect((await refusalOf(waiting))?.facts.limitReason).toBe('concurrency');
      expect((await refusalOf(speak(900, limits, signal, second)))?.facts.limitReason).toBe('characters');
      expect(await limiter.running('key')).toBe(1);
      const third = await speak(850, limits, signal, second);
      expect(await left()).toBe(0);
      third.end(90);
      await expect.poll(left).toBe(910);
      expect(await limiter.running('key')).toBe(0);
    });

    test('a synthesis that is asked for again and again refunds no requests', async () => {
      const { limiter, speak, limitStatus } = await openLimiter();
      const limits = { requestsPerMinute: 60, concurrency: 1, charactersPerMonth: 1_000 };
      const holder = await speak(10, limits);
      for (let i = 0; i < 9; i++) await limitStatus(limits);
      const key = { callerId: 'key', keyId: 'key', limits: { ...usual, ...limits } };
      const again = (chars: number, replaces?: Synthesis) =>
        limiter.takeSynthesis(key, chars, { signal, report: silent, isPart: true, replaces });
      for (let i = 0; i < 3; i++) {
        expect((await refusalOf(again(1)))?.facts.limitReason).toBe('concurrency');
        expect((await refusalOf(again(995, holder)))?.facts.limitReason).toBe('characters');
        // The text exceeds a whole month's quota. Only a whole text, not a part, is invalid for that reason.
        expect(await refusalOf(again(1_001, holder))).toMatchObject({
          reason: 'rate_limit_exceeded',
          facts: { limitReason: 'characters', limit: 1_000, actual: 1_011, retryAfterSeconds: Infinity },
        });
      }
      expect((await limitStatus(limits)).requests.remaining).toBe(50);
      holder.end(10);
    });

    test('what needs no slot waits for none, and is charged; who waits for one is not overtaken', async () => {
      const { limiter, speak } = await openLimiter();
      const limits = { concurrency: 1, charactersPerMonth: 100 };
      const key = { callerId: 'key', keyId: 'key', limits: { ...usual, ...limits } };
      const takeWithout = (chars: number) =>
        limiter.takeSynthesis(key, chars, { signal, report: silent, isPart: true, needsNoSlot: true });
      const holder = await speak(10, limits);
      const waiting = speak(10, limits);
      const segments = await Promise.all([takeWithout(20), takeWithout(20)]);
      expect((await refusalOf(takeWithout(51)))?.facts.limitReason).toBe('characters');
      for (const segment of segments) segment.end(20);
      holder.end(10);
      (await waiting).end(10);
      (await takeWithout(40)).end(40);
      expect((await refusalOf(takeWithout(1)))?.facts.limitReason).toBe('characters');
    });

    test('a caller that leaves while waiting takes no slot', async () => {
      const { speak, limiter } = await openLimiter();
      const holder = await speak(1, { concurrency: 1 });
      const leaving = new AbortController();
      const waiting = speak(1, { concurrency: 1 }, leaving.signal);
      leaving.abort(new Error('gone'));
      await expect(waiting).rejects.toThrow('gone');
      holder.end(1);
      expect(await limiter.running('key')).toBe(0);
    });

    test('a request that one limit refuses is charged to none', async () => {
      const { request, speak, limitStatus } = await openLimiter(() => 1_000);
      const limits = { requestsPerMinute: 60, charactersPerMonth: 1_000, concurrency: 1 };
      for (let i = 0; i < 300; i++) {
        expect(await refusalOf(request(limits))).toBeUndefined();
        await expect(speak(10, limits)).rejects.toMatchObject({ facts: { limitReason: 'characters' } });
      }
      expect((await limitStatus(limits)).requests.remaining).toBe(59);
    });

    test('a limit that is removed and set again has counted the characters in between', async () => {
      const { speak } = await openLimiter();
      const limits = { charactersPerMonth: 1_000 };
      (await speak(500, limits)).end(500);
      (await speak(100_000)).end(100_000);
      expect(await refusalOf(speak(1, limits))).toMatchObject({ facts: { limitReason: 'characters' } });
    });

    test('a ledger that fails is queried again', async () => {
      let isBroken = true;
      const { speak } = await openLimiter(() => {
        if (isBroken) throw new Error('away');
        return 0;
      });
      const limits = { charactersPerMonth: 10 };
      await expect(speak(1, limits)).rejects.toThrow('away');
      isBroken = false;
      (await speak(1, limits)).end(1);
    });
  });
}

// Tests that memory needed only during startup is released once, when the service is idle.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { freeStartMemory } from '../../../src/app/cli/serve.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a service that is busy when it is due is looked at again, until it is idle', () => {
  const isIdle = vi.fn(() => false);
  freeStartMemory(isIdle);
  vi.advanceTimersByTime(10_000);
  expect(isIdle.mock.calls.length).toBeGreaterThan(1);
  isIdle.mockReturnValue(true);
  vi.advanceTimersByTime(10_000);
  expect(vi.getTimerCount()).toBe(0);
});

// Tests the usage ledger while its store fails: nothing is lost or counted twice, and memory is bounded.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { UsageRow } from '../../../src/accounts/limits/usage-ledger.ts';
import { createUsageLedger } from '../../../src/accounts/limits/usage-ledger.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { markOutcomeUnknown } from '../../../src/platform/store/row-store.ts';

const spoken = (keyId: string, characters = 1): UsageRow => ({
  ...{ keyId, voiceId: 'tone', day: '2026-11-22', requests: 1, characters, audioMs: 10 },
});

function openLedger(options: { pendingRowsMax?: number; retryMs?: number } = {}) {
  const written: UsageRow[] = [];
  const faults: unknown[] = [];
  const state: { failure: Error | undefined } = { failure: undefined };
  const rows = {
    async addAll(all: readonly UsageRow[]) {
      if (state.failure) throw state.failure;
      written.push(...all);
    },
  };
  const ledger = createUsageLedger(rows, { retryMs: 20, onFault: (fault) => faults.push(fault), ...options });
  const total = () => written.reduce((sum, { characters }) => sum + characters, 0);
  return { ledger, written, faults, state, total };
}

test.each(['storage_full', 'storage_unavailable'] as const)(
  'usage that the store refuses with %s is kept, and written later',
  async (reason) => {
    const { ledger, state, total, faults } = openLedger();
    state.failure = new Failure(reason);
    for (let i = 0; i < 50; i++) await ledger.add(spoken(`key_${i % 5}`));
    expect([ledger.pendingRows, total()]).toEqual([5, 0]);
    expect(faults).toEqual([state.failure]);
    state.failure = undefined;
    await expect.poll(() => ledger.pendingRows).toBe(0);
    await ledger.add(spoken('key_0'));
    expect(total()).toBe(51);
  },
);

test('what is added in the next turns of the event loop is written in the same transaction, and soon', async () => {
  const batches: number[] = [];
  const ledger = createUsageLedger({ addAll: async (all) => void batches.push(all.length) }, { onFault() {} });
  const added: Promise<void>[] = [];
  for (let i = 0; i < 3; i++) {
    added.push(ledger.add(spoken(`key_${i}`)));
    await nextTurn();
  }
  await Promise.all(added);
  expect(batches).toEqual([3]);
  // Callers wait for a few turns of the event loop at most, however many entries arrive.
  let isWritten = false;
  void ledger.add(spoken('first')).then(() => (isWritten = true));
  let turns = 0;
  for (; !isWritten && turns < 100; turns++) {
    void ledger.add(spoken(`later_${turns}`));
    await nextTurn();
  }
  expect(turns).toBeLessThan(10);
});

test('the number of pending rows is limited, and further work is refused in advance', async () => {
  const { ledger, state, total } = openLedger({ pendingRowsMax: 3 });
  state.failure = new Failure('storage_full');
  for (let i = 0; i < 3; i++) {
    ledger.checkPending();
    await ledger.add(spoken(`key_${i}`));
  }
  expect(() => ledger.checkPending()).toThrow(expect.objectContaining({ reason: 'storage_full' }));
  // Usage of calls that are still running is not lost.
  await ledger.add(spoken('key_running'));
  expect([ledger.pendingRows, ledger.hasRoom]).toEqual([4, false]);
  state.failure = undefined;
  await expect.poll(() => ledger.pendingRows).toBe(0);
  ledger.checkPending();
  expect(total()).toBe(4);
});

test('closing writes the pending rows, or throws an error that contains them', async () => {
  const clean = openLedger({ retryMs: 1_000_000 });
  clean.state.failure = new Failure('storage_full');
  for (let i = 0; i < 1200; i++) await clean.ledger.add(spoken(`key_${i}`));
  clean.state.failure = undefined;
  await clean.ledger.close();
  expect(clean.total()).toBe(1200);

  const full = openLedger({ retryMs: 1_000_000 });
  full.state.failure = new Failure('storage_full');
  await full.ledger.add(spoken('key_pending', 7));
  const failure = await full.ledger.close().catch((error) => error);
  expect(failure.cause.message).toContain('"keyId":"key_pending"');
  expect(failure.cause.message).toContain('"characters":7');
});

test('rows that may have been written are not written again: the caller gets the failure', async () => {
  const { ledger, state, total } = openLedger();
  const failure = new Failure('storage_unavailable');
  markOutcomeUnknown(failure);
  state.failure = failure;
  await expect(ledger.add(spoken('key'))).rejects.toBe(failure);
  expect([ledger.pendingRows, total()]).toEqual([0, 0]);
});

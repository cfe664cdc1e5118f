// Tests lookups in copies of tables: the cost of a miss, and that earlier changes are always seen.
import { expect, test } from 'vitest';
import { Failure } from '../../src/platform/errors.ts';
import { createFindCurrent } from '../../src/speech/stored-voices.ts';

/** A table that another process writes, a copy of the table, and a count of reads. After `hold`, reads wait. */
function openCopy() {
  const table = new Set<string>();
  const copy = new Set<string>();
  const releases: (() => void)[] = [];
  let isHeld = false;
  let reads = 0;
  const readChanges = async () => {
    reads++;
    const read = [...table];
    if (isHeld) await new Promise<void>((resolve) => releases.push(resolve));
    for (const name of read) copy.add(name);
  };
  const findCurrent = createFindCurrent(readChanges);
  const find = (name: string) =>
    findCurrent(() => {
      if (copy.has(name)) return name;
      throw new Failure('voice_not_found');
    });
  return {
    table,
    releases,
    find,
    findCurrent,
    hold: () => (isHeld = true),
    reads: () => reads,
  };
}

test('a name that is known costs no read, and one that another process has made one', async () => {
  const { table, find, reads } = openCopy();
  table.add('ada');
  expect([await find('ada'), await find('ada'), reads()]).toEqual(['ada', 'ada', 1]);
});

test('a thousand guesses at once share one read, and none is found', async () => {
  const { find, reads } = openCopy();
  const guesses = Array.from({ length: 1_000 }, (_, n) => find(`guess-${n}`));
  const outcomes = await Promise.allSettled(guesses);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect(reads()).toBe(1);
});

test('guesses one after the other cost at most one read in 20 ms', async () => {
  const { find, reads } = openCopy();
  const startMs = performance.now();
  for (let n = 0; n < 20; n++) await find(`guess-${n}`).catch(() => {});
  // A timer may fire 1 ms too early.
  expect(reads()).toBeLessThanOrEqual(1 + (performance.now() - startMs) / 18);
});

test('what is made while a read runs is found by a read that begins after it', async () => {
  const { table, releases, find, hold, reads } = openCopy();
  hold();
  const early = find('early').catch(() => 'missing');
  await expect.poll(reads).toBe(1);
  table.add('late');
  const late = find('late');
  await expect.poll(reads).toBe(2);
  for (const release of releases) release();
  expect([await early, await late]).toEqual(['missing', 'late']);
});

test.each([
  [
    'a voice in a field',
    new Failure('invalid_request', { details: [{ field: 'text', reason: 'voice_not_found', message: '' }] }),
    1,
  ],
  [
    'a lexicon in a field',
    new Failure('invalid_request', { details: [{ field: 'lexicon_ids[0]', reason: 'not_found', message: '' }] }),
    1,
  ],
  [
    'anything else that is wrong',
    new Failure('invalid_request', { details: [{ field: 'text', reason: 'too_long', message: '' }] }),
    0,
  ],
  ['a fault', new Error('broken'), 0],
])('%s', async (_, error, expected) => {
  const { findCurrent, reads } = openCopy();
  const fail = () => {
    throw error;
  };
  await expect(findCurrent(fail)).rejects.toBe(error);
  expect(reads()).toBe(expected);
});

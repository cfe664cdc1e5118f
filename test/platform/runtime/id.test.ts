// Tests the format of ids, their order in time, and their uniqueness; and the search for the known name that is closest to
// a misspelt one.
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createId, isDead, processName } from '../../../src/platform/runtime/id.ts';
import { nearestName } from '../../../src/platform/runtime/nearest-name.ts';

test('an id is a prefix and a ULID, longer where more randomness is asked for', () => {
  expect(createId('key')).toMatch(/^key_[0-9A-HJKMNP-TV-Z]{26}$/);
  expect(createId('aud', 128)).toMatch(/^aud_[0-9A-HJKMNP-TV-Z]{36}$/);
});

test('ids sort by the time they were made', async () => {
  const before = createId('req');
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(createId('req') > before).toBe(true);
});

test('10 000 ids are 10 000 ids', () => {
  expect(new Set(Array.from({ length: 10_000 }, () => createId('req'))).size).toBe(10_000);
});

const bootIdPath = '/proc/sys/kernel/random/boot_id';
const onLinux = test.skipIf(!existsSync(bootIdPath));

/** The name of a process of this machine. */
const nameOf = (pid: number, run: string) => processName.replace(/\d+\|[^|]*$/, `${pid}|${run}`);
const deadPid = () => spawnSync(process.execPath, ['-e', '']).pid;

test('of this machine, a process that has ended is dead, and one that runs is not', () => {
  expect(isDead(processName)).toBe(false);
  expect(isDead(nameOf(process.ppid, 'run_PARENT'))).toBe(false);
  expect(isDead(nameOf(process.pid, 'run_BEFORE'))).toBe(true);
  expect(isDead(nameOf(deadPid(), 'run_BEFORE'))).toBe(true);
  expect(processName.length).toBeLessThan(400);
});

onLinux('of a machine of the same host name and namespace, as a clone has, no process is known to be dead', () => {
  const bootId = readFileSync(bootIdPath, 'utf8').trim();
  for (const name of [nameOf(deadPid(), 'run_THERE'), nameOf(process.pid, 'run_THERE')])
    expect(isDead(name.replace(bootId, randomUUID()))).toBe(false);
});

const known = [
  'voice_id',
  'text',
  'sample_rate',
  'language_code',
  'output_format',
  'speaking_rate',
  'group_by',
  'limit',
];

test.each([
  ['language', 'language_code'],
  ['groupby', 'group_by'],
  ['voiceId', 'voice_id'],
  ['voice', 'voice_id'],
  ['sample_rat', 'sample_rate'],
  ['smaple_rate', 'sample_rate'],
  ['format', 'output_format'],
  ['Limit', 'limit'],
  ['limits', 'limit'],
  ['txet', 'text'],
  ['response_format', 'output_format'],
  ['speed', 'speaking_rate'],
  ['input', 'text'],
])('%s is %s', (given, meant) => {
  expect(nearestName(given, known)).toBe(meant);
});

test.each(['', '_', 'q', 'x', 'emotion', 'temperature', '声', 'voice_id'.repeat(100)])(
  '%j is none of them',
  (given) => {
    expect(nearestName(given, known)).toBeUndefined();
  },
);

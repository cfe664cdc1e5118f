// Tests that the failure table matches the contract, and that docs/errors.md shows the same rows.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  Failure,
  failureTable,
  fieldReasons,
  type Reason,
  retryAdvice,
  shorten,
  toFailure,
} from '../src/platform/errors.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/errors.md'), 'utf8');
const rowsOf = (title: string): string[] => {
  const [, section = ''] = page.split(`## ${title}\n`);
  return section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| `'));
};

test('docs/errors.md has the table of failures and that of what is wrong with fields, row by row', () => {
  const rows = Object.entries(failureTable).map(
    ([reason, { status, code, sentence }]) =>
      `| \`${reason}\` | ${status} | ${code} | ${retryAdvice(reason as Reason)} | ${sentence} |`,
  );
  expect(rowsOf('All failures')).toEqual(rows);
  const reasons = Object.entries(fieldReasons).map(([reason, sentence]) => `| \`${reason}\` | ${sentence} |`);
  expect(rowsOf('What is wrong with a field')).toEqual(reasons);
});

test('a failure has the sentence of its row, unless it has a message of its own', () => {
  expect(new Failure('overloaded').message).toBe(failureTable.overloaded.sentence);
  expect(new Failure('overloaded', { message: 'Too many.' }).message).toBe('Too many.');
});

test('input in a message has at most 100 characters, and no half of a pair', () => {
  expect(['x'.repeat(100), 'x'.repeat(101)].map((text) => shorten(text))).toEqual([
    'x'.repeat(100),
    `${'x'.repeat(99)}…`,
  ]);
  expect(shorten(`${'x'.repeat(98)}😀😀`)).toBe(`${'x'.repeat(98)}\ufffd…`);
});

test('statuses are those of the contract', () => {
  const statuses = Object.fromEntries(Object.entries(failureTable).map(([reason, { status }]) => [reason, status]));
  expect(statuses).toEqual({
    invalid_request: 400,
    text_too_long: 400,
    invalid_api_key: 401,
    invalid_token: 401,
    insufficient_scope: 403,
    access_denied: 403,
    voice_not_found: 404,
    not_found: 404,
    method_not_allowed: 405,
    voice_not_ready: 409,
    request_timeout: 408,
    idempotency_conflict: 409,
    audio_expired: 410,
    stream_expired: 410,
    payload_too_large: 413,
    unsupported_media_type: 415,
    precondition_failed: 412,
    range_not_satisfiable: 416,
    rate_limit_exceeded: 429,
    internal_error: 500,
    not_supported: 501,
    engine_error: 502,
    engine_unavailable: 503,
    overloaded: 503,
    oauth_not_configured: 503,
    temporarily_unavailable: 503,
    engine_timeout: 504,
    storage_unavailable: 503,
    storage_full: 507,
  });
});

test('what is not a Failure becomes an internal_error that hides its cause', () => {
  const cause = new TypeError('secret detail');
  const failure = toFailure(cause);
  expect(failure.reason).toBe('internal_error');
  expect(failure.cause).toBe(cause);
  expect(failure.message).not.toContain('secret');
  const known = new Failure('overloaded', { retryAfterSeconds: 3 });
  expect(toFailure(known)).toBe(known);
});

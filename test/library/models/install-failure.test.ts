// Tests that the messages of failed installations contain no path and no password.
import { expect, test } from 'vitest';
import { toInstallFailure } from '../../../src/library/models/model-installs.ts';
import { Failure } from '../../../src/platform/errors.ts';

const told = (error: unknown) => {
  const { reason, message, cause } = toInstallFailure(error, '/srv/sonant/data');
  expect(cause).toBeDefined();
  return { reason, message };
};
const of = (message: string) => told(new Failure('invalid_request', { message })).message;

test('paths of the machine are left out', () => {
  expect(of('/srv/sonant/data/models/.downloads/amy/amy.tar.bz2 was not imported')).toBe(
    'amy.tar.bz2 was not imported',
  );
  expect(of('model amy already exists in /srv/sonant/data/models/amy')).toBe('model amy already exists in models/amy');
});

test('credentials in a URL are left out', () => {
  expect(of('https://user:secret@mirror.example/a/b.tar.bz2 answers 403')).toBe(
    'https://mirror.example/a/b.tar.bz2 answers 403',
  );
});

test('a password is left out whole, also where it contains what ends it', () => {
  expect(of('https://user:se@cr@et@mirror.example/a answers 403')).toBe('https://mirror.example/a answers 403');
});

test.each([
  ['EROFS', 'storage_unavailable', /cannot write to its folder of models/],
  ['EACCES', 'storage_unavailable', /cannot write to its folder of models/],
  ['SQLITE_CANTOPEN', 'storage_unavailable', /cannot write to its folder of models/],
  ['ENOSPC', 'storage_full', /disk has no space/],
])('%s of the file system is %s, in words', (code, reason, message) => {
  const error = Object.assign(new Error(`${code}: at /srv/sonant/data/models`), { code });
  expect(told(error)).toEqual({ reason, message: expect.stringMatching(message) });
});

test('anything else is an internal error, which only the log explains', () => {
  const { reason, message } = told(new Error('secret of the machine'));
  expect({ reason, isTold: message.includes('secret') }).toEqual({ reason: 'internal_error', isTold: false });
});

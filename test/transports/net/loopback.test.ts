// Tests addresses and hosts that count as this machine, and others that only look like this machine.
import { describe, expect, test } from 'vitest';
import { isLoopbackHost, isLoopbackUrl } from '../../../src/platform/net/client-addresses.ts';

describe('a URL is on this machine', () => {
  test.each([
    'http://localhost',
    'http://localhost:8080/v1',
    'https://LOCALHOST/',
    'http://127.0.0.1:1',
    'http://127.1.2.3/',
    'http://[::1]:8080/',
    'http://user:secret@localhost/',
  ])('%s', (url) => expect(isLoopbackUrl(url)).toBe(true));
});

describe('a URL is elsewhere', () => {
  test.each([
    'http://localhost:x@sonant.test/',
    'http://localhost@sonant.test/',
    'http://127.0.0.1.sonant.test/',
    'http://localhost.sonant.test/',
    'http://10.0.0.1/',
    'http://[::2]/',
    'http://0.0.0.0/',
    'localhost',
    '',
  ])('%s', (url) => expect(isLoopbackUrl(url)).toBe(false));
});

test('hosts that only look like those of this machine are elsewhere', () => {
  expect(['localhost', '127.0.0.1', '127.9.9.9', '::1'].filter((host) => !isLoopbackHost(host))).toEqual([]);
  expect(['127.sonant.test', '0.0.0.0', '::', '', 'sonant.test'].filter(isLoopbackHost)).toEqual([]);
});

// Tests public addresses at the edges of each block that is not public, and addresses that embed another address.
import { describe, expect, test } from 'vitest';
import { isLoopbackHost, isLoopbackUrl, isPublicAddress } from '../../../src/platform/net/client-addresses.ts';

test.for([
  '0.0.0.0',
  '0.255.255.255',
  '10.0.0.1',
  '100.64.0.0',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.255.255',
  '198.18.0.1',
  '198.51.100.7',
  '203.0.113.7',
  '224.0.0.1',
  '239.255.255.255',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::a00:1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:a9fe:a9fe::1',
  '3fff::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  'localhost',
  '',
  '2130706433',
  '0x7f.1',
])('%s is not', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.for([
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '223.255.255.255',
  '2001:4860:4860::8888',
  '2606:4700::1111',
  '2a00:1450:4001::1',
])('%s is', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

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

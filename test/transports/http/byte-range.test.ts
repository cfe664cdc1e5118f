// Tests ranges according to RFC 9110 section 14, for a file of a hundred bytes.
import { expect, test } from 'vitest';
import { parseRange } from '../../../src/transports/http/audio-routes.ts';

test.each([
  [undefined, 'whole'],
  ['', 'whole'],
  ['bytes=0-0', [0, 0]],
  ['bytes=0-99', [0, 99]],
  ['bytes=10-19', [10, 19]],
  ['bytes=10-', [10, 99]],
  ['bytes=99-', [99, 99]],
  ['bytes=90-1000', [90, 99]],
  ['bytes=-1', [99, 99]],
  ['bytes=-100', [0, 99]],
  ['bytes=-1000', [0, 99]],
  ['BYTES=1-2', [1, 2]],
  ['bytes= 1-2 ', [1, 2]],
  ['bytes=1-2,', [1, 2]],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=100-200', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=100-,200-300', 'unsatisfiable'],
  ['bytes=0-1,5-9', 'whole'],
  [`bytes=${Array(100).fill('0-0')}`, 'whole'],
  [`bytes=${Array(101).fill('0-0')}`, 'unsatisfiable'],
  [`bytes=${Array(1500).fill('0-0')}`, 'unsatisfiable'],
  [`bytes=${Array(1500).fill('0-0')},x`, 'whole'],
  ['bytes=0-1,100-', 'whole'],
  ['bytes=2-1', 'whole'],
  ['bytes=-', 'whole'],
  ['bytes=a-b', 'whole'],
  ['bytes=1-2,x', 'whole'],
  ['bytes=0x1-2', 'whole'],
  ['bytes=--1', 'whole'],
  ['bytes=1.0-2', 'whole'],
  ['bytes=99999999999999999999-', 'whole'],
  ['items=0-1', 'whole'],
  ['bytes', 'whole'],
])('%s', (header, expected) => {
  const range = parseRange(header, 100);
  expect(typeof range === 'string' ? range : [range.first, range.last]).toEqual(expected);
});

test('nothing satisfies a range of an empty file', () => {
  expect(parseRange('bytes=0-', 0)).toBe('unsatisfiable');
  expect(parseRange('bytes=-5', 0)).toBe('unsatisfiable');
});

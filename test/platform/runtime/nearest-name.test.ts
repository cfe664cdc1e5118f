// Tests the search for the known name that is closest to a misspelt one.
import { expect, test } from 'vitest';
import { nearestName } from '../../../src/platform/runtime/nearest-name.ts';

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

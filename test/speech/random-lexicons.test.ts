// Tests random texts with random lexicons.
import { test } from 'vitest';
import { isLongRun } from '../long/run-length.ts';
import { checkRandomLexicons } from './random-lexicons.ts';

const count = isLongRun ? 1000 : 60;

test(`${count} random texts with random lexicons`, { timeout: 2_000 * count }, () => checkRandomLexicons(count));

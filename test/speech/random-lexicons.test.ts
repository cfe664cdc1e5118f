// Tests some of the random texts with random lexicons in random-lexicons.long.ts.
import { test } from 'vitest';
import { checkRandomLexicons } from './random-lexicons.ts';

test('60 random texts with random lexicons', { timeout: 120_000 }, () => checkRandomLexicons(60));

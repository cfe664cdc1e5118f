// Tests a thousand random texts with random lexicons.
import { test } from 'vitest';
import { checkRandomLexicons } from './random-lexicons.ts';

test('1000 random texts with random lexicons', { timeout: 900_000 }, () => checkRandomLexicons(1000));

// Tests some of the texts with pauses at random places in random-pauses.long.ts.
import { test } from 'vitest';
import { checkRandomPauses } from './random-pauses.ts';

test('60 texts with pauses at random places', { timeout: 120_000 }, () => checkRandomPauses(60));

// Tests texts with pauses at random places. random-pauses.long.ts tests more of these texts.
import { test } from 'vitest';
import { checkRandomPauses } from './random-pauses.ts';

test('60 texts with pauses at random places', { timeout: 120_000 }, () => checkRandomPauses(60));

// Tests texts with pauses at random places.
import { test } from 'vitest';
import { isLongRun } from '../long/run-length.ts';
import { checkRandomPauses } from './random-pauses.ts';

const count = isLongRun ? 1000 : 60;

test(`${count} texts with pauses at random places`, { timeout: 2_000 * count }, () => checkRandomPauses(count));

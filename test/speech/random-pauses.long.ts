// Tests a thousand texts with pauses at random places.
import { test } from 'vitest';
import { checkRandomPauses } from './random-pauses.ts';

test('1000 texts with pauses at random places', { timeout: 900_000 }, () => checkRandomPauses(1000));

// The pepper of the configuration, for whatever hashes keys.
import type { Config } from '../config.ts';
import { createPepper, type Pepper } from '../keys/api-key.ts';

export const pepperOf = ({ keyPepper }: Config): Pepper | undefined =>
  keyPepper === '' ? undefined : createPepper(keyPepper);

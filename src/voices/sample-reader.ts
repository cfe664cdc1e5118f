// stub
import type { ReadSamples } from './clone-making.ts';
export const readSamples: ReadSamples = async () => {
  throw new Error('stub');
};

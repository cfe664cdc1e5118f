// Limits samples of any number, one block at a time, as the pipeline does.
import { blocksOf } from '../../src/audio/kernels.ts';
import { limitBlock } from '../../src/audio/level.ts';
import { join } from '../../src/platform/pcm.ts';

export const limit = (samples: Float32Array): Float32Array =>
  join(
    Float32Array,
    Array.from(blocksOf(samples), ([block]) => limitBlock(block).slice()),
  );

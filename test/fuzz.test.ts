// A short run of `npm run fuzz`, always with the same inputs.
import { expect, test } from 'vitest';
import { doorTargets } from './fuzz/door-targets.ts';
import { createDice, mutate } from './fuzz/mutate.ts';
import { parserTargets } from './fuzz/parser-targets.ts';

const run = async (open: (typeof parserTargets)[number], count: number) => {
  const target = await open();
  const dice = createDice(1);
  try {
    for (let left = count; left > 0; left--) {
      const input = mutate(target.seeds, target.words, dice);
      await expect(
        Promise.resolve(target.run(input)),
        `${target.name}: ${input.toString('base64')}`,
      ).resolves.toBeUndefined();
    }
  } finally {
    await target.close?.();
  }
};

test.each([...parserTargets.keys()])('no random input breaks parser %i', (index) => run(parserTargets[index]!, 150));

test.each([...doorTargets.keys()])('no random input breaks door %i', (index) => run(doorTargets[index]!, 60));

// Tests `npm run fuzz` briefly, always with the same inputs; `npm run test:long` has three times as many.
import { expect, test } from 'vitest';
import { apiTargets } from './fuzz/api-targets.ts';
import { createDice, mutate } from './fuzz/mutate.ts';
import { parserTargets } from './fuzz/parser-targets.ts';
import { isLongRun } from './long/run-length.ts';

const count = isLongRun ? { parser: 150, api: 60 } : { parser: 50, api: 20 };

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

test.each([...parserTargets.keys()])('no random input breaks parser %i', (index) =>
  run(parserTargets[index]!, count.parser),
);

test.each([...apiTargets.keys()])('no random input breaks API %i', (index) => run(apiTargets[index]!, count.api));

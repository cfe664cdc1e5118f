// Runs in a process of `npm run fuzz`, and feeds one target with inputs until the target's time is up. It reports each
// input before the input is run, so that the parent knows the input that killed the process or keeps it busy.
import { apiTargets } from './api-targets.ts';
import { createDice, mutate } from './mutate.ts';
import { parserTargets } from './parser-targets.ts';

export type FuzzNews =
  | { is: 'input'; input: string }
  | { is: 'fault'; input: string; fault: string }
  | { is: 'done'; name: string; inputs: number };

/** Waits until the parent has received the message, because a parser does not yield to the event loop. */
const tell = (news: FuzzNews) => new Promise<void>((resolve) => process.send!(news, () => resolve()));
const [, , index, seconds, seed] = process.argv;
const target = await [...parserTargets, ...apiTargets][Number(index)]!();
const dice = createDice(Number(seed));
const until = Date.now() + Number(seconds) * 1000;
/** Limit on CPU time for one input. Books take the most, and are read in processes that can be killed. */
const cpuMsMax = 20_000;
let inputs = 0;
while (Date.now() < until) {
  const input = mutate(target.seeds, target.words, dice);
  await tell({ is: 'input', input: input.toString('base64') });
  const before = process.cpuUsage();
  try {
    await target.run(input);
    const { user, system } = process.cpuUsage(before);
    const cpuMs = (user + system) / 1000;
    if (cpuMs > cpuMsMax) throw new Error(`${input.length} bytes took ${cpuMs.toFixed(0)} ms of CPU`);
  } catch (error) {
    await tell({ is: 'fault', input: input.toString('base64'), fault: String((error as Error).stack) });
  }
  inputs++;
}
await tell({ is: 'done', name: target.name, inputs });
await target.close?.();
process.disconnect();

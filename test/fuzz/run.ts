// `npm run fuzz [SECONDS [SEED]]`: feeds every parser and API for SECONDS (default: 20) with inputs made from valid
// ones. Each target has its own process with little memory. An input that crashes the process or keeps it busy for too
// long is written to a file, and the run fails. Prints the inputs and faults of each target.
import { fork } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiTargets } from './api-targets.ts';
import type { FuzzNews } from './fuzz-process.ts';
import { parserTargets } from './parser-targets.ts';

const secondsUsual = 20;
/** Time limit for one input, on a busy machine. */
const silentMsMax = 30_000;
/** Time limit until the first input: a busy machine loads a target slowly. */
const startMsMax = 180_000;
const memoryMegabytesMax = 512;
/** Maximum number of faults reported per target; more faults would only repeat them. */
const faultsMax = 20;

const [seconds = secondsUsual, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number);
const folder = mkdtempSync(join(tmpdir(), 'sonant-fuzz-faults-'));
let faultsInAll = 0;
console.log(`${seconds} s each, seed ${seed}`);
for (const index of [...parserTargets, ...apiTargets].keys()) {
  const { name, inputs, faults } = await runTarget(index);
  faultsInAll += faults;
  console.log(`${name.padEnd(20)} ${String(inputs).padStart(9)} inputs ${String(faults).padStart(4)} faults`);
}
if (faultsInAll > 0) {
  console.log(`the inputs are in ${folder}`);
  process.exitCode = 1;
}

function runTarget(index: number): Promise<{ name: string; inputs: number; faults: number }> {
  return new Promise((resolve) => {
    const child = fork(new URL('./fuzz-process.ts', import.meta.url), [String(index), String(seconds), String(seed)], {
      execArgv: [`--max-old-space-size=${memoryMegabytesMax}`],
    });
    let name = `target ${index}`;
    let inputs = 0;
    let faults = 0;
    let last = '';
    let isDone = false;
    const note = (input: string, fault: string) => {
      faults++;
      if (faults > faultsMax) return;
      const file = join(folder, `${index}-${faults}`);
      writeFileSync(file, Buffer.from(input, 'base64'));
      console.log(`${file}: ${fault.split('\n').slice(0, 4).join('\n  ')}`);
    };
    let watchdog = setTimeout(() => child.kill('SIGKILL'), startMsMax);
    child.on('message', (news: FuzzNews) => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => child.kill('SIGKILL'), silentMsMax);
      if (news.is === 'input') {
        inputs++;
        last = news.input;
      } else if (news.is === 'fault') note(news.input, news.fault);
      else {
        name = news.name;
        isDone = true;
      }
    });
    child.on('exit', (code, signal) => {
      clearTimeout(watchdog);
      if (!isDone) note(last, `the process ended with ${signal ?? code}`);
      resolve({ name, inputs, faults });
    });
  });
}

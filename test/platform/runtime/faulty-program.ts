// Runs as a process in the tests of the host, and communicates through its pipes, in lines (line-codec.ts). Its
// argument is a FaultyStart in JSON.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { WorkerReply } from '../../../src/platform/runtime/host.ts';
import { perform, start } from './faulty-work.ts';

/** Waits until the output is read, like a program without an event loop. */
function reply(message: WorkerReply<string>): void {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

let isCancelled = false;
let count = 0;

async function work(line: string): Promise<void> {
  isCancelled = false;
  count++;
  try {
    await perform(JSON.parse(line), {
      isCancelled: () => isCancelled,
      send: (pieces) => reply({ is: 'pieces', pieces }),
    });
    reply({ is: 'done', end: `task ${count}`, isWorn: line.includes('"wear"') });
  } catch (error) {
    reply({ is: 'failed', message: (error as Error).message });
  }
}

await start(JSON.parse(process.argv[2]!));
createInterface({ input: process.stdin })
  .on('line', (line) => {
    if (line === 'cancel') isCancelled = true;
    else void work(line);
  })
  .on('close', () => process.exit());
reply({ is: 'ready', facts: 'a fact' });

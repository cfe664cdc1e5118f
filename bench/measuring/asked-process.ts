// Runs a contender in its own process, so that its cost is measured alone. The first message is data for the parent.
// The process answers each message with a figure, such as its CPU time, and exits with its parent. Services get the
// memory settings of a normal start.
import { type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { serviceEnvironment } from '../../src/memory.js';

export interface AskedProcess<Told> {
  pid: number;
  told: Told;
  ask(message?: object): Promise<number>;
  close(): Promise<void>;
}

export async function startProcess<Told>(
  file: string,
  args: readonly string[] = [],
  options: ForkOptions = {},
): Promise<AskedProcess<Told>> {
  const child = fork(file, args, { env: { ...process.env, ...serviceEnvironment }, ...options });
  const exited = once(child, 'exit');
  const failed = exited.then(([code]) => {
    throw new Error(`${file} ended with ${code}`);
  });
  const message = async () => (await Promise.race([once(child, 'message'), failed]))[0];
  return {
    pid: child.pid!,
    told: await message(),
    ask(question = {}) {
      child.send(question);
      return message();
    },
    async close() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

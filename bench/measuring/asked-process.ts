// A contender in a process of its own, so that what it costs is its own. Its first message tells what its parent has to know,
// and it answers every message with a figure, such as the CPU that it has used. It ends with its parent. A service has the
// settings of memory that it has when it is started as a program.
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

// A contender in a process of its own, so that what it costs is its own. Its first message tells what its parent has to know,
// and it answers every message with a figure, such as the CPU that it has used. It ends with its parent.
import { type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';

export interface AskedProcess<Told> {
  pid: number;
  told: Told;
  ask(): Promise<number>;
  close(): Promise<void>;
}

export async function startProcess<Told>(
  file: string,
  args: readonly string[] = [],
  options: ForkOptions = {},
): Promise<AskedProcess<Told>> {
  const child = fork(file, args, options);
  const exited = once(child, 'exit');
  const failed = exited.then(([code]) => {
    throw new Error(`${file} ended with ${code}`);
  });
  const [told] = await Promise.race([once(child, 'message'), failed]);
  failed.catch(() => {});
  return {
    pid: child.pid!,
    told,
    async ask() {
      child.send('ask');
      return (await once(child, 'message'))[0];
    },
    async close() {
      child.disconnect();
      await exited;
    },
  };
}

// The wire of cut-wire.ts, as who cuts it holds it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface Wire {
  port: number;
  /** Every connection is reset, and so is every new one. */
  reset(): Promise<void>;
  /** No byte passes, in either direction, on old connections or new ones. */
  silence(): Promise<void>;
  /** All is as it was, and what was held back arrives. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

export async function openWire(target: { path: string } | { host: string; port: number }): Promise<Wire> {
  const child = fork(join(import.meta.dirname, 'cut-wire.ts'), [JSON.stringify(target)]);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const tell = async (order: 'heal' | 'reset' | 'silence') => {
    const done = once(child, 'message');
    child.send(order);
    await done;
  };
  return {
    port,
    reset: () => tell('reset'),
    silence: () => tell('silence'),
    heal: () => tell('heal'),
    async close() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

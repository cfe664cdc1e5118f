// Controls the proxy of cut-wire.ts.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface Wire {
  port: number;
  /** Resets all connections, old and new. */
  reset(): Promise<void>;
  /** Stops all bytes, in both directions, on old and new connections. */
  silence(): Promise<void>;
  /** Restores everything; bytes that were held back arrive. */
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

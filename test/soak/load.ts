// Puts load of all kinds on an installation until it is stopped, and records the results over time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Call, CheckingClient, Kind } from './checking-client.ts';

/** The kinds of concurrent callers. */
const usualCallers: readonly Kind[] = ['stream', 'events', 'grpc stream', 'link', 'buffer', 'grpc', 'key'];
const restMs = 300;

export interface Load {
  /** Calls that have finished. */
  readonly calls: readonly Call[];
  /** Lets running calls finish. */
  stop(): Promise<readonly Call[]>;
}

export function startLoad(client: CheckingClient, callers: readonly Kind[] = usualCallers): Load {
  const calls: Call[] = [];
  let isOver = false;
  const callRepeatedly = async (kind: Kind) => {
    while (!isOver) {
      const call = await client.call(kind);
      calls.push(call);
      if (call.outcome.startsWith('WRONG')) console.log(`${kind}: ${call.outcome}`);
      await sleep(restMs);
    }
  };
  const asking = Promise.all(callers.map(callRepeatedly));
  return {
    calls,
    async stop() {
      isOver = true;
      await asking;
      return calls;
    },
  };
}

export const wrongOf = (calls: readonly Call[]): string[] =>
  calls.filter(({ outcome }) => outcome.startsWith('WRONG')).map(({ kind, outcome }) => `${kind}: ${outcome}`);

/** "503 storage_unavailable x 12 (link, buffer)", most frequent first. */
export function tallyOf(calls: readonly Call[]): string {
  const all = [...Map.groupBy(calls, ({ outcome }) => outcome)].sort(([, a], [, b]) => b.length - a.length);
  return all
    .map(([outcome, some]) => {
      const which = [...new Set(some.map(({ kind }) => kind))].sort().join(', ');
      return outcome === 'ok' ? `${some.length} ok` : `${some.length} x ${outcome} (${which})`;
    })
    .join('; ');
}

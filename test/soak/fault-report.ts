// Reports the effect of a fault on clients, as a row of the table in docs/reliability.md: | fault | results of the
// calls during the fault | for how long after it some failed | longest silence |
import type { Call } from './checking-client.ts';
import { tallyOf } from './load.ts';

export interface FaultReport {
  calls: readonly Call[];
  beganMs: number;
  endedMs: number;
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const isOk = ({ outcome }: Call) => outcome === 'ok';

/** Calls that ran while the fault lasted. */
export const touchedOf = ({ calls, beganMs, endedMs }: FaultReport): Call[] =>
  calls.filter((call) => call.endedMs > beganMs && call.beganMs < endedMs);

export const longestSilenceMs = ({ calls }: FaultReport): number =>
  Math.max(0, ...calls.map(({ silentMs }) => silentMs));

/** Calls that began after the recovery, and failed. */
export const lateFailuresOf = ({ calls, endedMs }: FaultReport): Call[] =>
  calls.filter((call) => call.beganMs >= endedMs && !isOk(call));

export function toRow(name: string, report: FaultReport): string {
  const { beganMs, endedMs, calls } = report;
  const late = lateFailuresOf(report);
  const lastMs = late.length === 0 ? 0 : Math.max(...late.map((call) => call.beganMs)) - endedMs;
  // Time from which clients of every kind were answered again.
  const again = [...Map.groupBy(calls, ({ kind }) => kind).values()].map(
    (some) => some.find((call) => isOk(call) && call.endedMs > endedMs)?.endedMs ?? Number.NaN,
  );
  const firstOkMs = Math.min(...again) - endedMs;
  const lateSaid = late.length === 0 ? 'none' : `${tallyOf(late)}, the last began ${seconds(lastMs)} after it`;
  const cells = [
    `${name}, for ${seconds(endedMs - beganMs)}`,
    tallyOf(touchedOf(report)),
    lateSaid,
    seconds(firstOkMs),
    seconds(longestSilenceMs(report)),
  ];
  return `| ${cells.join(' | ')} |`;
}

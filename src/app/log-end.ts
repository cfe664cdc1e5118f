// Logs how a call or a request ended, and faults of work that no caller waits for.
import { type Failure, failureTable, isOfOthers } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';

/** Logs an internal error as an error, a fault of a store or an engine as a warning, a caller's mistake at the usual level. */
export function logEnd(
  log: Log,
  usual: 'debug' | 'info',
  what: string,
  ended: object,
  failure: Failure | undefined,
): void {
  const written = Object.fromEntries(Object.entries(ended).map(([name, value]) => [name, toWritten(name, value)]));
  if (!failure) return void log[usual](what, written);
  const { reason, cause } = failure;
  const isOurs = failureTable[reason].status >= 500;
  const level = reason === 'internal_error' ? 'error' : isOurs && cause !== undefined ? 'warn' : usual;
  log[level](what, { ...written, reason, ...(isOurs && { cause }) });
}

/** Times are written to the microsecond. */
const toWritten = (name: string, value: unknown): unknown =>
  typeof value === 'number' && name.endsWith('Ms') ? Math.round(value * 1000) / 1000 : value;

/** A fault that no caller was told of: a warning where a store or an engine failed, an error where the program did. */
export function logFault(log: Log, fault: unknown): void {
  log[isOfOthers(fault) ? 'warn' : 'error']('a fault that no caller was told of', { fault });
}

// Logs how a call or a request ended.
import { type Failure, failureTable } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';

/** Logs an internal error as an error, a fault of a store or an engine as a warning, a caller's mistake at the usual level. */
export function logEnd(
  log: Log,
  usual: 'debug' | 'info',
  what: string,
  ended: object,
  failure: Failure | undefined,
): void {
  if (!failure) return void log[usual](what, { ...ended });
  const { reason, cause } = failure;
  const isOurs = failureTable[reason].status >= 500;
  const level = reason === 'internal_error' ? 'error' : isOurs && cause !== undefined ? 'warn' : usual;
  log[level](what, { ...ended, reason, ...(isOurs && { cause }) });
}

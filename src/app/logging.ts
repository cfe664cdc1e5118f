// Logs how calls and requests ended, and errors that no caller receives. A client can repeat some calls at no cost:
// calls without a valid key, and calls refused for overload. Only a few lines a minute are logged for such calls, per
// reason or key; the rest are only counted.
import type { EndedCall } from '../api.ts';
import { type Failure, failureTable, isOfOthers } from '../platform/errors.ts';
import { type Log, openRepeatedLines } from '../platform/telemetry/log.ts';

/** `keyId` is undefined if the key is unknown. */
interface Refusal {
  reason: string;
  keyId?: string | undefined;
}

export function openCallLog(log: Log) {
  const lines = openRepeatedLines((refusal: Refusal, count) => {
    const what = refusal.keyId === undefined ? 'without a valid key' : 'refused for overload';
    log.info(`more calls ${what} in the last minute`, { ...refusal, count });
  });
  return {
    write({ failure, speech, ...call }: EndedCall): void {
      const write = () => logEnd(log, 'info', 'call', { ...call, ...speech }, failure);
      const reason = failure?.reason;
      const { keyId } = call;
      if (reason === undefined || reason === 'internal_error') write();
      else if (call.callerId === undefined) lines.add(reason, { reason }, write);
      else if (reason === 'overloaded') lines.add(`${reason} ${keyId}`, { reason, keyId }, write);
      else write();
    },
    close: () => lines.close(),
  };
}

/**
 * Logs an internal error as an error, a failure of a store or engine as a warning, and anything else at the level
 * `usual`.
 */
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

/** Rounds times to microseconds. */
const toWritten = (name: string, value: unknown): unknown =>
  typeof value === 'number' && name.endsWith('Ms') ? Math.round(value * 1000) / 1000 : value;

/** Logs an error that no caller receives: a failure of a store or engine as a warning, any other fault as an error. */
export function logFault(log: Log, fault: unknown): void {
  log[isOfOthers(fault) ? 'warn' : 'error']('background fault', { fault });
}

// Logs the end of every call. Of calls that fail before their caller is known, which anybody can make by the million, it
// logs a few a minute, and then their number.
import type { EndedCall } from '../operations/ended-call.ts';
import type { Log } from '../telemetry/log.ts';
import { openRepeatedLines } from '../telemetry/repeated-lines.ts';
import { logEnd } from './log-end.ts';

export function openCallLog(log: Log) {
  const lines = openRepeatedLines((reason, count) =>
    log.info('more calls without a valid key in the last minute', { reason, count }),
  );
  return {
    write({ failure, speech, ...call }: EndedCall): void {
      const write = () => logEnd(log, 'info', 'call', { ...call, ...speech }, failure);
      const isUnauthenticated = call.callerId === undefined && failure !== undefined;
      if (isUnauthenticated && failure.reason !== 'internal_error') lines.add(failure.reason, write);
      else write();
    },
    close: () => lines.close(),
  };
}

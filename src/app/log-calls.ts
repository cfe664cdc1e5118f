// Logs the end of every call, but of calls that fail before their caller is known only a few in a minute and then their
// number: anybody can make a million of them.
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
      const isStranger = call.callerId === undefined && failure !== undefined;
      if (isStranger && failure.reason !== 'internal_error') lines.add(failure.reason, write);
      else write();
    },
    close: () => lines.close(),
  };
}

// Logs the end of every call. Of calls that cost nothing to make by the million it logs a few a minute, and then their
// number: of those that fail before their caller is known, by reason, and of those refused for overload, by key.
import type { EndedCall } from '../api/ended-call.ts';
import type { Log } from '../telemetry/log.ts';
import { openRepeatedLines } from '../telemetry/repeated-lines.ts';
import { logEnd } from './log-end.ts';

/** A reason, and the key where it is known. */
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

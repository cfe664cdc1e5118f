// Logs the end of every call, but where calls are cheap to make by the million, only a few in a minute and then their number:
// of calls that fail before their caller is known, by reason, and of those that a key is refused for overload, by key.
import type { EndedCall } from '../operations/ended-call.ts';
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

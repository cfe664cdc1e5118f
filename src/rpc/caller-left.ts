// The error by which Connect is told that a caller has left: one for all calls, since every call would create one at its end.
import { Code, ConnectError } from '@connectrpc/connect';

let callerHasLeft: ConnectError | undefined;

/** Created when it is first needed: an error of Connect loads the web's Headers, which a start need not wait for. */
export function callerLeft(): ConnectError {
  callerHasLeft ??= new ConnectError('the caller has left', Code.Canceled);
  return callerHasLeft;
}

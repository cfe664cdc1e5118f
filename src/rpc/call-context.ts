// Connect's context values for the call of an operation, set before the handler runs.
import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { Call } from '../api/call.ts';
import type { Operation } from '../api/operation.ts';
import type { RunningCall } from '../api/running-call.ts';

/** Where the call comes from: an IP address. */
export const addressKey: ContextKey<string> = createContextKey('', { description: 'address' });

/** Stands for the connection that the call came on. */
export const connectionKey: ContextKey<object | undefined> = createContextKey(undefined, { description: 'connection' });

export const runningCallKey: ContextKey<{ running: RunningCall; operation: Operation } | undefined> = createContextKey(
  undefined,
  { description: 'running call' },
);

export const callKey: ContextKey<Call | undefined> = createContextKey(undefined, { description: 'call' });

/** The call that a handler answers. */
export function callOf({ values, method }: Pick<HandlerContext, 'values' | 'method'>): Call {
  const call = values.get(callKey);
  if (!call) throw new Error(`${method.name} was called past the runner`);
  return call;
}

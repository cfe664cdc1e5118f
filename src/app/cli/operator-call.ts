// Calls an RPC as the operator, for commands that work on the database without the service. The flags are members of the
// request, which is checked as the REST API checks a body, and the answer is the JSON of the response.
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { type KeyCaller, operator } from '../../accounts.ts';
import { type Api, anonymous, type Call, callWithFields } from '../../api.ts';
import { type Fields, writeMessage } from '../../contract.ts';

const { name: actorName, ...own } = operator;
const never = new AbortController().signal;

/** A call of a command, which nobody limits or logs. */
export const localCall = (caller: KeyCaller, signal: AbortSignal): Call => ({
  caller,
  requestId: '',
  address: '',
  signal,
  leaving: signal,
  begunMs: performance.now(),
  reportLimits() {},
  reportSpeech() {},
});

/** Returns all pages of a list. `keyId` is the key that a call about the caller's own key concerns. */
export async function callAsOperator(
  method: DescMethodUnary,
  callRpc: Api['callRpc'],
  members: Fields,
  keyId = actorName,
): Promise<{ json: any; response: any }> {
  const call = localCall({ ...anonymous, ...own, callerId: actorName, keyId, actorName }, never);
  const response = await callWithFields(callRpc, method, members, call, true);
  const json = writeMessage(method.output, response);
  if (!json.next_cursor) return { json, response };
  const rest = await callAsOperator(method, callRpc, { ...members, cursor: json.next_cursor }, keyId);
  for (const [name, items] of Object.entries(rest.json)) if (Array.isArray(items)) items.unshift(...(json[name] as []));
  return rest;
}

/** Converts a flag to a number. Text that is not a number becomes NaN, which violates every rule. */
export const toNumber = (text: string | undefined) => (text === undefined ? undefined : Number(text));

// Calls RPCs for the APIs of other vendors, with requests and responses as objects of JSON.
import type { DescMethod } from '@bufbuild/protobuf';
import { type Api, type Call, callWithFields } from '../../api.ts';
import { endpointsOf, type Fields, writeMessage } from '../../contract.ts';

/** Returns the response as REST returns it. */
export async function callForJson(
  callRpc: Api['callRpc'],
  method: DescMethod,
  fields: Fields,
  call: Call,
  isStrict = false,
): Promise<Readonly<Record<string, any>>> {
  const result = await callWithFields(callRpc, method, fields, call, isStrict);
  const { responseBody } = endpointsOf(method)[0] ?? {};
  return writeMessage(responseBody?.message ?? method.output, responseBody ? result[responseBody.localName] : result);
}

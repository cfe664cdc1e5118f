// Calls RPCs for the APIs of other vendors, with requests and responses as objects of JSON.
import { create, type DescMethod } from '@bufbuild/protobuf';
import { FieldMaskSchema } from '@bufbuild/protobuf/wkt';
import type { Api, Call } from '../../api.ts';
import { endpointsOf, type Fields, newReading, readMembers, writeMessage } from '../../contract.ts';

/** Calls the RPC with the members of its request, of which an update changes those that are given. */
export async function callWith(
  method: DescMethod,
  callRpc: Api['callRpc'],
  call: Call,
  members: Fields,
  { isStrict = false }: { isStrict?: boolean } = {},
): Promise<Readonly<Record<string, any>>> {
  const { input, output } = method;
  const message = create(input);
  const reading = newReading(isStrict);
  readMembers(message, input, members, reading);
  const { violations, emptyLists } = reading;
  const given = reading.given.filter((path) => !emptyLists.includes(path));
  const isUpdate = input.field.updateMask !== undefined;
  const mask = isUpdate ? given.filter((path) => !input.fields.some(({ name }) => name === path)) : undefined;
  if (mask) Object.assign(message, { updateMask: create(FieldMaskSchema, { paths: mask }) });
  const result = await callRpc(method, message, call, { violations, given, emptyLists, mask });
  const { responseBody } = endpointsOf(method)[0] ?? {};
  return writeMessage(responseBody?.message ?? output, responseBody ? result[responseBody.localName] : result);
}

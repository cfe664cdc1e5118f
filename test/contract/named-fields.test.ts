// Tests that a refused RPC names its field in the details of its status: the id of a resource that does not exist, in
// every call that has one.
import { create, type DescMethod, fromBinary, toBinary } from '@bufbuild/protobuf';
import grpc from '@grpc/grpc-js';
import { afterAll, expect, test } from 'vitest';
import { operator, scopes } from '../../src/accounts/keys/caller.ts';
import { openTestGateway } from '../transports/http/open-gateway.ts';
import { explain, failureOf } from '../transports/rpc/grpc-client.ts';
import { openCore } from '../transports/rpc/open-core.ts';
import { sonantServices } from '../transports/rpc/sonant-services.ts';

const gateway = await openTestGateway({}, afterAll);
const { target } = await openCore(gateway, afterAll);
const client = new grpc.Client(target, grpc.credentials.createInsecure());
afterAll(() => client.close());

const { key } = await gateway.keyVerifier.management.create({ scopes }, operator);

function call({ parent, name, input, output }: DescMethod, fields: object): Promise<unknown> {
  const metadata = new grpc.Metadata();
  metadata.set('x-api-key', key);
  return new Promise((resolve, reject) => {
    const stream = client.makeServerStreamRequest(
      `/${parent.typeName}/${name}`,
      (message: Uint8Array) => Buffer.from(message),
      (bytes: Buffer) => fromBinary(output, bytes),
      toBinary(input, create(input, fields as never)),
      metadata,
    );
    stream
      .on('data', () => {})
      .on('error', reject)
      .on('end', resolve);
  });
}

/** Calls that look up a resource before anything else. */
const reads = /^(Synthesize|Estimate|Preview|Get|Watch|Delete|Cancel|Retry|Install|Remove|Rotate|Revoke)/;
const rows = sonantServices.flatMap(({ methods }) =>
  methods.flatMap((method) => {
    const field = method.input.fields.find(({ name }) => /^(\w+_id|name)$/.test(name));
    return field && reads.test(method.name) ? [[method.name, method, field] as const] : [];
  }),
);

const texts = { text: 'Hello.', textChunks: ['Hello.'] };

test.each(rows)('%s names the id that leads nowhere', async (_, method, field) => {
  const { code, violations } = explain(await failureOf(call(method, { ...texts, [field.localName]: 'nobody' })));
  expect([code, violations?.map((each) => each.field)]).toEqual(['NOT_FOUND', [field.name]]);
});

// Tests permissions: every operation of the HTTP API and of gRPC is called with every kind of credential, and the
// outcomes must match the table in docs/access.md. `npx vitest run test/transports/http/access.test.ts -u` updates the table.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { create, type DescMethod, fromBinary, toBinary } from '@bufbuild/protobuf';
import grpc from '@grpc/grpc-js';
import { afterAll, expect, test } from 'vitest';
import { operator, scopes } from '../../../src/accounts/keys/caller.ts';
import { openCore } from '../rpc/open-core.ts';
import { sonantServices } from '../rpc/sonant-services.ts';
import { openTestGateway } from './open-gateway.ts';
import type { OpenApi } from './openapi-check.ts';

type Headers = Readonly<Record<string, string>>;
/** `yes`: the call was admitted, whatever happened afterwards. */
type Outcome = 'yes' | '401' | '403';
type Call = (headers: Headers) => Promise<Outcome>;

const secret = 'the secret of ci';
const clients = [`ci:${createHash('sha256').update(secret).digest('hex')}`];
const gateway = await openTestGateway({ signing: { clients } }, afterAll);
const { keyVerifier } = gateway;
const { management } = keyVerifier;
const { target } = await openCore(gateway, afterAll);
const client = new grpc.Client(target, grpc.credentials.createInsecure());
afterAll(() => client.close());

const makeKey = (given: readonly string[]) => management.create({ scopes: given }, operator);
const bearing = ({ key }: { key: string }): Headers => ({ 'x-api-key': key });
const childScopes = ['speech:stream', 'voices:read', 'usage:read'];
async function makeChild() {
  const parent = await makeKey(['keys:write', ...childScopes]);
  const actor = { ...operator, ...(await keyVerifier.verify(parent.key)), address: '', requestId: '' };
  return { parentId: parent.apiKey.keyId, child: await management.create({ scopes: childScopes }, actor) };
}

/** Each function creates a credential of its kind, which a call may use up. */
const credentials: Readonly<Record<string, () => Promise<Headers>>> = {
  none: async () => ({}),
  revoked: async () => {
    const made = await makeKey(scopes);
    await management.revoke(made.apiKey.keyId, operator);
    return bearing(made);
  },
  token: async () => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'ci', client_secret: secret });
    const answer = await fetch(`${gateway.url}/oauth/get-key`, { method: 'POST', body });
    return { authorization: `Bearer ${((await answer.json()) as { access_token: string }).access_token}` };
  },
  ...Object.fromEntries(scopes.map((scope) => [`\`${scope}\``, async () => bearing(await makeKey([scope]))])),
  child: async () => bearing((await makeChild()).child),
  narrowed: async () => {
    const { parentId, child } = await makeChild();
    await management.update(parentId, { scopes: ['keys:write', 'voices:read'] }, operator);
    return bearing(child);
  },
  orphan: async () => {
    const { parentId, child } = await makeChild();
    await management.revoke(parentId, operator);
    return bearing(child);
  },
};

/** Bodies of operations whose permissions depend on the body. */
const bodies: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  'post /api/audio/speech/buffer': {
    ', method rest': { voice_id: 'tone-low', text: 'Hi.' },
    ', method streaming': { voice_id: 'tone-low', text_chunks: ['Hi.'], method: 'streaming' },
  },
  'post /api/audio/speech': {
    ', method rest': { voice_id: 'tone-low', text: 'Hi.', return_format: 'buffer' },
    ', method streaming': { voice_id: 'tone-low', text_chunks: ['Hi.'], method: 'streaming' },
  },
};

const readDocument = async () => (await (await fetch(`${gateway.url}/openapi.json`)).json()) as OpenApi;

async function listRestCalls(): Promise<Map<string, Call>> {
  const { paths } = await readDocument();
  const calls = new Map<string, Call>();
  for (const [path, methods] of Object.entries(paths)) {
    const url = gateway.url + path.replace('{id}', 'none').replace('{file}', 'aud_none.wav');
    for (const method of Object.keys(methods)) {
      for (const [name, body] of Object.entries(bodies[`${method} ${path}`] ?? { '': undefined })) {
        calls.set(`\`${method.toUpperCase()} ${path}\`${name}`, async (credential) => {
          const isForm = path.startsWith('/oauth/') && method === 'post';
          const type: Headers = isForm ? {} : { 'content-type': 'application/json' };
          const hasBody = ['post', 'patch'].includes(method) && !path.endsWith('/revoke');
          const sent = isForm ? new URLSearchParams({ grant_type: 'none' }) : JSON.stringify(body ?? {});
          const init = hasBody ? { body: sent, headers: { ...type, ...credential } } : { headers: credential };
          const answer = await fetch(url, { method: method.toUpperCase(), ...init });
          await answer.arrayBuffer();
          return answer.status === 401 || answer.status === 403 ? `${answer.status}` : 'yes';
        });
      }
    }
  }
  return calls;
}

/** Calls a method of any kind with an empty message. */
function callRpc({ parent, name, input, output }: DescMethod, credential: Headers): Promise<Outcome> {
  const metadata = new grpc.Metadata();
  for (const [header, value] of Object.entries(credential)) metadata.set(header, value);
  const stream = client.makeBidiStreamRequest(
    `/${parent.typeName}/${name}`,
    (message: Uint8Array) => Buffer.from(message),
    (bytes: Buffer) => fromBinary(output, bytes),
    metadata,
  );
  stream.on('data', () => {});
  stream.on('error', () => {});
  stream.write(toBinary(input, create(input)));
  stream.end();
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  stream.on('status', ({ code }) => {
    resolve(code === grpc.status.UNAUTHENTICATED ? '401' : code === grpc.status.PERMISSION_DENIED ? '403' : 'yes');
  });
  return promise;
}

const listRpcCalls = (): Map<string, Call> =>
  new Map(
    sonantServices.flatMap(({ methods }) =>
      methods.map((method) => [
        `\`${method.parent.name}/${method.name}\``,
        (credential: Headers) => callRpc(method, credential),
      ]),
    ),
  );

const kinds = Object.keys(credentials);
/** Operations that revoke the credential used for the call. */
const usesUp = (name: string) => /self\/revoke|RevokeOwn/.test(name);

type Row = readonly [name: string, ...outcomes: Outcome[]];

async function callAll(calls: ReadonlyMap<string, Call>): Promise<Row[]> {
  const lasting = await Promise.all(kinds.map((kind) => credentials[kind]!()));
  const rows: Row[] = [];
  for (const [name, call] of calls) {
    const held = usesUp(name) ? await Promise.all(kinds.map((kind) => credentials[kind]!())) : lasting;
    const outcomes: Outcome[] = [];
    for (const credential of held) outcomes.push(await call(credential));
    rows.push([name, ...outcomes]);
  }
  return rows;
}

/** Operations with the same outcomes share a row. */
function toTable(rows: readonly Row[]): string {
  const head = ['operations', ...kinds];
  const groups = Map.groupBy(rows, ([, ...outcomes]) => outcomes.join(' | '));
  const lines = [...groups].map(([outcomes, group]) => `| ${group.map(([name]) => name).join('<br>')} | ${outcomes} |`);
  return [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...lines].join('\n');
}

const rest = await callAll(await listRestCalls());

test('a key is needed, and a token accepted, where /openapi.json says so, and nowhere else', async () => {
  const { paths } = await readDocument();
  const documented = (isMeant: (security: readonly object[]) => boolean) =>
    Object.entries(paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).flatMap(([method, { security }]) =>
          isMeant(security) ? [`\`${method.toUpperCase()} ${path}\``] : [],
        ),
      )
      .sort();
  const outcomeOf = (row: Row, kind: string) => row[1 + kinds.indexOf(kind)];
  const refused = rest.filter((row) => outcomeOf(row, 'none') === '401');
  const named = (rows: readonly Row[]) => [...new Set(rows.map(([name]) => name.split(',', 1)[0]))].sort();
  expect(named(refused)).toEqual(documented((security) => security.length > 0));
  const accepted = refused.filter((row) => outcomeOf(row, 'token') === 'yes');
  expect(named(accepted)).toEqual(documented((security) => security.some((one) => 'accessToken' in one)));
});

test('docs/access.md is the table of every operation by credential', async () => {
  const page = `# Who may call what

The result of every operation with every kind of credential: no key, a key with all scopes that is revoked, a bearer token of
\`POST /oauth/get-key\`, or a key with one scope. A child is a key with ${childScopes.map((scope) => `\`${scope}\``).join(', ')} that another key created;
it is narrowed when that key has only \`keys:write\` and \`voices:read\`, and an orphan when that key is revoked.

401 is \`invalid_api_key\` or \`invalid_token\`, 403 is \`insufficient_scope\`. The [APIs of other vendors](api.md#calls) need \`speech:stream\` or
\`voices:read\`. \`npx vitest run test/transports/http/access.test.ts -u\` writes this page.

## HTTP

${toTable(rest)}

## gRPC

${toTable(await callAll(listRpcCalls()))}
`;
  await expect(page).toMatchFileSnapshot(join(import.meta.dirname, '../..', '..', 'docs', 'access.md'));
});

// Tests the pages of every list, over REST and Connect: refused sizes, and cursors that are bound to list and filters.
import { afterAll, expect, test } from 'vitest';
import { scopes } from '../../../src/accounts/keys/caller.ts';
import { openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({}, afterAll);
const headers = { 'X-API-Key': await gateway.makeKey(scopes) };

/** Lists, each with a filter that matches all of its items. */
const lists = [
  { name: 'voices', path: '/api/voices', rpc: 'VoiceService/ListVoices', filter: ['engine', 'tone'] },
  { name: 'lexicons', path: '/api/lexicons', rpc: 'LexiconService/ListLexicons' },
  { name: 'jobs', path: '/api/audio/jobs', rpc: 'JobService/ListJobs', filter: ['status', 'succeeded'] },
  { name: 'api_keys', path: '/api/auth/api-keys', rpc: 'ApiKeyService/ListApiKeys' },
] as const;

for (const name of ['one', 'two', 'three']) {
  const lexicon = { name, entries: [{ grapheme: 'AWS', alias: 'A W S' }] };
  for (const [path, body] of [
    ['/api/lexicons', lexicon],
    ['/api/auth/api-keys', { name }],
  ] as const)
    expect((await gateway.send(path, { headers, body })).status, path).toBe(201);
  const job = { id: name, voice_id: 'tone-low', text: 'Hello.' };
  expect((await gateway.send('/api/audio/jobs', { headers, body: job })).status).toBe(202);
}

interface Listed {
  next_cursor: string;
  details: { field: string; reason: string }[];
}
const list = async (path: string, query: Record<string, string>) => {
  const answer = await gateway.send(`${path}?${new URLSearchParams(query)}`, { headers });
  return { status: answer.status, ...((await answer.json()) as Listed) };
};
const call = async (rpc: string, body: object) => {
  const answer = await gateway.send(`/sonant.v1.${rpc}`, { headers, body });
  return { status: answer.status, body: await answer.text() };
};
const refused = { status: 400, details: [{ field: 'cursor', reason: 'format' }] };

test.each(lists)('$name: a size beyond the limits is a fault of range', async ({ path, rpc }) => {
  for (const limit of ['-1', '-2147483649', '0', '1001', '99999999999999999999'])
    expect(await list(path, { limit })).toMatchObject({ status: 400, details: [{ field: 'limit', reason: 'range' }] });
  for (const pageSize of [-1, -2147483648, 0, 1001, 2147483647]) {
    const answer = await call(rpc, { limit: pageSize });
    expect(answer, `${pageSize}`).toEqual({ status: 400, body: expect.stringMatching(/"limit".*RANGE/s) });
  }
});

test.each(lists)('$name: a cursor is good for its list alone', async ({ path, rpc }) => {
  const { next_cursor: cursor } = await list(path, { limit: '1' });
  expect(await list(path, { limit: '2', cursor })).toMatchObject({ status: 200 });
  expect(await call(rpc, { cursor })).toMatchObject({ status: 200 });
  for (const other of lists) {
    if (other.path === path) continue;
    expect(await list(other.path, { cursor }), other.name).toMatchObject(refused);
    const answer = await call(other.rpc, { cursor });
    expect(answer, other.name).toEqual({ status: 400, body: expect.stringMatching(/"cursor".*FORMAT/s) });
  }
});

test.each(lists.filter((each) => 'filter' in each))('$name: and for its filters', async ({ path, filter }) => {
  const filtered = { [filter[0]]: filter[1] };
  const { next_cursor: cursor } = await list(path, { limit: '1' });
  expect(await list(path, { ...filtered, cursor })).toMatchObject(refused);
  // A job succeeds after a while.
  const listFiltered = () => list(path, { ...filtered, limit: '1' });
  await expect.poll(async () => (await listFiltered()).next_cursor, { timeout: 20_000 }).toBeTruthy();
  const { next_cursor: ofFiltered } = await listFiltered();
  expect(await list(path, { cursor: ofFiltered })).toMatchObject(refused);
  expect(await list(path, { ...filtered, cursor: ofFiltered })).toMatchObject({ status: 200 });
});

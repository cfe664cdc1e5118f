// Tests lexicons over HTTP and gRPC: created, listed, replaced and deleted; their owners and limits; and their use by
// requests and voices on every API.
import { afterAll, describe, expect, test } from 'vitest';
import { LexiconService } from '../../../gen/sonant/v1/lexicon_pb.ts';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { explain, failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';
import { openTestGateway } from './open-gateway.ts';
import { readReply } from './read-reply.ts';
import { talkLive } from './talk-live.ts';

const scopes = ['voices:read', 'voices:write', 'speech:synthesize', 'speech:stream'];
const gateway = await openTestGateway({}, afterAll);
const admin = await gateway.makeKey([...scopes, 'admin']);
const owner = await gateway.makeKey(scopes);
const other = await gateway.makeKey(scopes);
const { clientOf } = await openCore(gateway, afterAll);

const url = '/api/lexicons';
const aws = [{ grapheme: 'AWS', alias: 'Amazon Web Services' }];
const pls = `<lexicon version="1.0" alphabet="ipa" xml:lang="en">
  <meta name="title" content="Vegetables"/>
  <lexeme><grapheme>tomato</grapheme><phoneme>təˈmɑːtəʊ</phoneme></lexeme>
</lexicon>`;

async function send(method: string, path: string, body?: unknown, as = owner, headers: Record<string, string> = {}) {
  const isText = typeof body === 'string';
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: {
      'X-API-Key': as,
      ...(body !== undefined && { 'content-type': isText ? 'application/pls+xml' : 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
  });
  return readReply(response);
}
const make = async (entries: readonly object[] = aws, more: object = {}, as = owner): Promise<string> =>
  (await send('POST', url, { name: 'Made', entries, ...more }, as)).body.lexicon_id;
const faultsOf = ({ body }: Awaited<ReturnType<typeof send>>) =>
  (body.details as { field: string; reason: string }[]).map(({ field, reason }) => `${field} ${reason}`);
const said = (from: number) =>
  gateway.tone.segments
    .slice(from)
    .map(({ text }) => text)
    .join(' ');
const spoken = async (fields: object, as = owner): Promise<string> => {
  const from = gateway.tone.segments.length;
  const answer = await send(
    'POST',
    '/api/audio/speech',
    { voice_id: 'tone-low', return_format: 'buffer', ...fields },
    as,
  );
  expect(answer.status).toBe(200);
  return said(from);
};

describe('a lexicon', () => {
  test('is made, read, replaced and deleted', async () => {
    const made = await send('POST', url, { name: 'Products', entries: aws });
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'Products', access: 'private', owner: 'self', entry_count: 1 },
    });
    const { lexicon_id: id, version } = made.body;
    expect(made.headers.get('location')).toMatch(new RegExp(`/api/lexicons/${id}$`));
    expect((await send('GET', `${url}/${id}`)).body).toEqual({ ...made.body, entries: aws });
    expect((await send('GET', url)).body.lexicons).toContainEqual(made.body);
    const entries = [{ grapheme: 'gif', phoneme: 'dʒɪf', alphabet: 'ipa', language_code: 'en', case: 'insensitive' }];
    const replaced = await send('PUT', `${url}/${id}`, { entries });
    expect(replaced).toMatchObject({ status: 200, body: { name: 'Products', entry_count: 1 } });
    expect(replaced.body.version).not.toBe(version);
    expect((await send('GET', `${url}/${id}`)).body.entries).toEqual(entries);
    expect((await send('DELETE', `${url}/${id}`)).status).toBe(204);
    for (const method of ['GET', 'DELETE']) expect((await send(method, `${url}/${id}`)).status).toBe(404);
    expect((await send('PUT', `${url}/${id}`, { entries: aws })).status).toBe(404);
  });

  test('comes and goes as a PLS document', async () => {
    const made = await send('POST', url, pls);
    expect(made).toMatchObject({ status: 201, body: { name: 'Vegetables', entry_count: 1 } });
    const path = `${url}/${made.body.lexicon_id}`;
    expect((await send('GET', path)).body.entries).toEqual([
      { grapheme: 'tomato', phoneme: 'təˈmɑːtəʊ', alphabet: 'ipa', language_code: 'en' },
    ]);
    const accept = { accept: 'application/pls+xml' };
    const written = await send('GET', `${path}?language_code=en`, undefined, owner, accept);
    expect(written.headers.get('content-type')).toBe('application/pls+xml; charset=utf-8');
    expect(String(written.bytes)).toContain('<lexeme><grapheme>tomato</grapheme><phoneme>təˈmɑːtəʊ');
    expect((await send('PUT', `${path}?name=Greens`, String(written.bytes))).body).toMatchObject({
      name: 'Greens',
      entry_count: 1,
    });
    const empty = await send('POST', url, '');
    expect([empty.status, faultsOf(empty)]).toEqual([400, ['body markup']]);
  });

  test('is refused with all its faults', async () => {
    const entries = [
      { grapheme: '', alias: 'x' },
      { grapheme: 'a' },
      { grapheme: 'a', alias: 'b', phoneme: 'c' },
      { grapheme: 'a', phoneme: '123' },
      { grapheme: 'a', alias: 'b', case: 'upper', language_code: 'no language', colour: 'red' },
      'text',
      { word: 'a', alias: 'b' },
      { graphem: 3, grapheme: 3, phonem: 'a', phoneme: 'x'.repeat(201) },
      { grapheme: 'a', phoneme: '1', alphabet: 'x-sampa' },
    ];
    const refused = await send('POST', url, { name: ' ', access: 'friends', entries });
    expect(refused.status).toBe(400);
    // Faults found while the body is decoded, by the rules, and by further checks.
    expect(faultsOf(refused)).toEqual([
      'access enum',
      'entries[4].colour unknown',
      'entries[5] type',
      'entries[6].word unknown',
      'entries[6].grapheme required',
      'entries[7].graphem unknown',
      'entries[7].grapheme type',
      'entries[7].phonem unknown',
      'entries[0].grapheme length',
      'entries[4].case enum',
      'entries[7].phoneme length',
      'entries[8].alphabet enum',
      'entries[1].alias required',
      'entries[2].phoneme conflict',
      'entries[3].phoneme format',
      'entries[4].language_code format',
      'name length',
    ]);
    const messages = refused.body.details.map(({ message }: { message: string }) => message);
    expect(messages).toContain('is not a known field; did you mean entries[7].grapheme?');
    expect(messages.filter((message: string) => message.includes('did you mean'))).toHaveLength(2);
    expect(faultsOf(await send('POST', url, { entries: aws }))).toEqual(['name required']);
    expect(faultsOf(await send('POST', url, { name: 'x' }))).toEqual(['entries required']);
    expect((await send('POST', url, { name: 'x', entries: [] })).body).toMatchObject({ entry_count: 0 });
    const empty = { access: 'all', entries: [{ grapheme: '', alias: '' }] };
    const ofEmpty = ['entries[0].grapheme length', 'entries[0].alias required'];
    const named = (name: unknown) => send('POST', url, { name, ...empty }).then(faultsOf);
    expect(await named(5)).toEqual(['name type', 'access enum', ...ofEmpty]);
    expect(await named('')).toEqual(['access enum', ...ofEmpty, 'name required']);
    const malformed = await send('POST', url, pls.replace('</phoneme>', '</alias>'));
    expect(malformed.body.details[0]).toMatchObject({ field: 'body', reason: 'markup' });
    expect(malformed.body.details[0].message).toMatch(/^line 3, column \d+: /);
    const bomb = `<!DOCTYPE lexicon [<!ENTITY a "b">]>${pls}`;
    expect((await send('POST', url, bomb)).body.details[0].message).toContain('document type declaration');
  });

  test('holds 10 000 entries; more than 20 000, and 10 MB, are refused', async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ grapheme: `word${i}`, alias: 'an alias', case: 'insensitive' }));
    const id = await make(many(10_000));
    expect((await send('GET', `${url}/${id}`)).body.entries).toHaveLength(10_000);
    expect(faultsOf(await send('POST', url, { name: 'x', entries: many(20_001) }))).toEqual(['entries too_long']);
    const large = await send('POST', url, `${pls}${' '.repeat(10 << 20)}`);
    expect(large).toMatchObject({ status: 413, body: { limit: 4 << 20 } });
    await send('DELETE', `${url}/${id}`);
  });

  test('of another account does not exist, unless it is for everyone', async () => {
    const mine = await make();
    const shared = await make(aws, { access: 'everyone' });
    expect((await send('GET', `${url}/${mine}`, undefined, other)).status).toBe(404);
    expect((await send('DELETE', `${url}/${mine}`, undefined, other)).status).toBe(404);
    expect((await send('GET', `${url}/${shared}`, undefined, other)).body.owner).toBe('other');
    expect((await send('DELETE', `${url}/${shared}`, undefined, other)).status).toBe(403);
    expect((await send('GET', `${url}/${mine}`, undefined, admin)).status).toBe(200);
    const refused = await send(
      'POST',
      '/api/audio/speech',
      { voice_id: 'tone-low', text: 'x', lexicon_ids: [shared, mine] },
      other,
    );
    expect(refused.status).toBe(400);
    expect(faultsOf(refused)).toEqual(['lexicon_ids[1] not_found']);
  });

  test('is counted by account', async () => {
    const crowded = await gateway.makeKey(scopes);
    for (let i = 0; i < 100; i++) await make(aws, {}, crowded);
    const refused = await send('POST', url, { name: 'x', entries: aws }, crowded);
    expect(refused).toMatchObject({ status: 400, body: { limit: 100 } });
  });
});

describe('speech', () => {
  test('uses the lexicons of the request on every API, and does not reuse cached audio of other content', async () => {
    const id = await make();
    const fields = { text: 'I use AWS.', lexicon_ids: [id] };
    expect(await spoken(fields)).toBe('I use Amazon Web Services.');
    expect(await spoken(fields)).toBe('');
    await send('PUT', `${url}/${id}`, { entries: [{ grapheme: 'AWS', alias: 'the cloud' }] });
    expect(await spoken(fields)).toBe('I use the cloud.');

    const from = gateway.tone.segments.length;
    await send('POST', '/api/audio/speech/sse', {
      voice_id: 'tone-low',
      text_chunks: ['SSE: AWS.'],
      lexicon_ids: [id],
    });
    await send('POST', '/v1/audio/speech', { model: 'x', voice: 'tone-low', input: 'OpenAI: AWS.', lexicon_ids: [id] });
    const client = clientOf(SpeechService);
    const withKey = { metadata: { 'x-api-key': owner } };
    await client.unary('synthesizeSpeech', { voiceId: 'tone-low', text: 'gRPC: AWS.', lexiconIds: [id] }, withKey);
    const start = { type: 'start', voice_id: 'tone-low', lexicon_ids: [id] };
    await talkLive({ url: gateway.url, key: owner }, [start, { type: 'text', text: 'Live: AWS.' }, { type: 'end' }]);
    expect(said(from)).toBe('SSE: the cloud. OpenAI: the cloud. gRPC: the cloud. Live: the cloud.');
    const failure = await failureOf(
      client.unary('synthesizeSpeech', { voiceId: 'tone-low', text: 'x', lexiconIds: ['gone'] }, withKey),
    );
    expect(explain(failure)).toMatchObject({ code: 'INVALID_ARGUMENT', info: { reason: 'INVALID_REQUEST' } });
  });

  test('uses the lexicons of the voice, for whoever speaks with it, until they are deleted', async () => {
    const id = await make();
    const bound = { voice_id: 'bound', name: 'Bound', bindings: [{ engine: 'tone', voice_id: 'tone-high' }] };
    const made = await send('POST', '/api/voices', { ...bound, lexicon_ids: [id] });
    expect(made).toMatchObject({ status: 201, body: { lexicon_ids: [id] } });
    await send('PATCH', '/api/voices/bound', { access: 'everyone' }, admin);
    expect(await spoken({ voice_id: 'bound', text: 'AWS' }, other)).toBe('Amazon Web Services');
    expect((await send('PATCH', '/api/voices/bound', { lexicon_ids: [] })).body.lexicon_ids).toEqual([]);
    expect(await spoken({ voice_id: 'bound', text: 'AWS' }, other)).toBe('AWS');
    await send('PATCH', '/api/voices/bound', { lexicon_ids: [id] });
    await send('DELETE', `${url}/${id}`);
    expect(await spoken({ voice_id: 'bound', text: 'AWS again' }, other)).toBe('AWS again');
    const foreign = await make(aws, {}, other);
    expect(faultsOf(await send('PATCH', '/api/voices/bound', { lexicon_ids: [foreign] }))).toEqual([
      'lexicon_ids[0] not_found',
    ]);
  });
});

test('LexiconService does the same over gRPC', async () => {
  const client = clientOf(LexiconService);
  const withKey = { metadata: { 'x-api-key': owner } };
  const entries = [{ grapheme: 'gif', phoneme: 'dʒɪf', alphabet: 'ipa', case: 'insensitive' }];
  const { lexicon } = await client.unary('createLexicon', { spec: { name: 'Calls', entries } }, withKey);
  const { lexiconId } = lexicon!;
  const got = await client.unary('getLexicon', { lexiconId }, withKey);
  expect(got.lexicon).toMatchObject({ name: 'Calls', entryCount: 1, entries });
  for (const spec of [undefined, {}, { name: 'Renamed' }]) {
    const empty = await failureOf(client.unary('replaceLexicon', { lexiconId, ...(spec && { spec }) }, withKey));
    expect(explain(empty).violations).toMatchObject([{ field: 'entries', reason: 'REQUIRED' }]);
  }
  expect((await client.unary('getLexicon', { lexiconId }, withKey)).lexicon).toEqual(got.lexicon);
  await client.unary('replaceLexicon', { lexiconId, spec: { pls } }, withKey);
  const listed = await client.unary('listLexicons', { limit: 1000 }, withKey);
  expect(listed.lexicons.find((each) => each.lexiconId === lexiconId)).toMatchObject({
    name: 'Vegetables',
    entries: [],
  });
  await client.unary('deleteLexicon', { lexiconId }, withKey);
  const long = Array.from({ length: 9_000 }, (_, i) => ({ grapheme: `word ${i}`, alias: 'a'.repeat(150) }));
  const large = await client.unary('createLexicon', { spec: { name: 'Large', entries: long } }, withKey);
  expect(large.lexicon?.entryCount).toBe(9_000);
  await client.unary('deleteLexicon', { lexiconId: large.lexicon!.lexiconId }, withKey);
  const gone = explain(await failureOf(client.unary('getLexicon', { lexiconId }, withKey)));
  expect(gone).toMatchObject({ code: 'NOT_FOUND' });
  const both = { name: 'x', pls: '<lexicon>', entries };
  expect(explain(await failureOf(client.unary('createLexicon', { spec: both }, withKey)))).toMatchObject({
    code: 'INVALID_ARGUMENT',
    violations: [
      { field: 'entries', reason: 'CONFLICT' },
      { field: 'pls', reason: 'MARKUP' },
    ],
  });
});

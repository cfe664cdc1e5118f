// Tests the lexicons in memory: changes by other processes are noticed, and the number of compiled lexicons is limited.
import { create } from '@bufbuild/protobuf';
import { expect, onTestFinished, test } from 'vitest';
import { LexiconSpecSchema } from '../../../gen/sonant/v1/lexicon_pb.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { Violations } from '../../../src/contract/violations.ts';
import { openLexiconCache } from '../../../src/library/lexicons/lexicon-cache.ts';
import { checkLexicon } from '../../../src/library/lexicons/lexicon-fields.ts';
import { createLexiconManagement } from '../../../src/library/lexicons/lexicon-management.ts';
import { createLexiconRows } from '../../../src/library/lexicons/lexicon-rows.ts';
import { atOnce } from '../../../src/platform/runtime/steps.ts';
import { matchLexicons } from '../../../src/text/lexicon.ts';
import { countTurns } from '../../count-turns.ts';
import { openSqliteInFolder, withNotices } from '../../platform/store/open-test-store.ts';

async function open() {
  const watched = withNotices((await openSqliteInFolder()).store);
  const rows = createLexiconRows(watched.rows);
  const replica = async () => {
    const cache = await openLexiconCache({ rows, onFault: () => {} });
    onTestFinished(() => cache.close());
    return { cache, management: createLexiconManagement({ rows, cache, lexiconsPerAccount: 2 }) };
  };
  return { replica, announced: watched.announced };
}

const fields = (alias: string) => {
  const spec = create(LexiconSpecSchema, { name: 'Names', entries: [{ grapheme: 'AWS', alias }] });
  return atOnce(checkLexicon(spec, new Violations()));
};
const saidBy = async (cache: Awaited<ReturnType<typeof openLexiconCache>>, id: string) => {
  const lexicon = cache.find(id, undefined);
  return lexicon && [...matchLexicons([await lexicon.compile()], 'AWS', 'en')].flatMap((match) => match?.said ?? []);
};

test('what one replica makes, replaces and deletes, the others see, and one that starts later', async () => {
  const { replica } = await open();
  const [one, other] = [await replica(), await replica()];
  const { lexiconId, version } = await one.management.create(fields('first'), operator);
  expect(await saidBy(one.cache, lexiconId)).toEqual([{ kind: 'alias', text: 'first' }]);
  await expect.poll(() => saidBy(other.cache, lexiconId)).toEqual([{ kind: 'alias', text: 'first' }]);
  const replaced = await other.management.replace(lexiconId, fields('second'), operator);
  expect(replaced.version).not.toBe(version);
  await expect.poll(() => saidBy(one.cache, lexiconId)).toEqual([{ kind: 'alias', text: 'second' }]);
  expect(await saidBy((await replica()).cache, lexiconId)).toEqual([{ kind: 'alias', text: 'second' }]);
  await one.management.remove(lexiconId, operator);
  await expect.poll(() => saidBy(other.cache, lexiconId)).toBeUndefined();
  expect((await replica()).cache.list()).toEqual([]);
});

test('each change notifies other processes once', async () => {
  const { replica, announced } = await open();
  const { management } = await replica();
  const { lexiconId } = await management.create(fields('first'), operator);
  expect(announced).toEqual(['lexicons']);
  await management.replace(lexiconId, fields('second'), operator);
  expect(announced).toHaveLength(2);
  await management.remove(lexiconId, operator);
  expect(announced).toEqual(Array(3).fill('lexicons'));
});

test('an account has as many as it may, counted by the database', async () => {
  const { replica } = await open();
  const [one, other] = [await replica(), await replica()];
  const ada = { ...operator, accountId: 'ada', usesAllVoices: false };
  const first = await one.management.create(fields('a'), ada);
  await other.management.create(fields('b'), ada);
  const third = () => one.management.create(fields('c'), ada);
  await expect(third()).rejects.toMatchObject({ reason: 'invalid_request', facts: { limit: 2 } });
  await one.management.remove(first.lexiconId, ada);
  await third();
  const eve = { ...ada, accountId: 'eve' };
  await expect(one.management.remove(first.lexiconId, eve)).rejects.toMatchObject({ reason: 'not_found' });
});

test('other tasks run while a large lexicon is compiled, and it is compiled once', async () => {
  const { replica } = await open();
  const { cache, management } = await replica();
  const entries = Array.from({ length: 20_000 }, (_, i) => ({ grapheme: `w${i.toString(36)}`, alias: 'x' }));
  const spec = create(LexiconSpecSchema, { name: 'Large', entries });
  const { lexiconId } = await management.create(atOnce(checkLexicon(spec, new Violations())), operator);
  const lexicon = cache.find(lexiconId, undefined)!;
  const turns = await countTurns(async () => {
    const [first, second] = await Promise.all([lexicon.compile(), lexicon.compile()]);
    expect(first).toBe(second);
    expect([...matchLexicons([first], 'wfff', 'en')]).toHaveLength(1);
  });
  expect(turns).toBeGreaterThan(10);
});

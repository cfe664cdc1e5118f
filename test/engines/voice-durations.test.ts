// Tests that what is learned of a voice survives a restart, is shared by replicas, and is forgotten with the voice.
import { expect, test } from 'vitest';
import { createVoiceDurations, openVoiceDurations, type VoiceDurations } from '../../src/engines/voice-durations.ts';
import type { RowStore } from '../../src/platform/store/row-store.ts';
import { openSqliteInFolder } from '../platform/store/open-test-store.ts';
import { sentences } from '../sentences.ts';

const secondsPerLetter = 0.06;
const measured = (text: string, more = {}) => ({
  speech: secondsPerLetter * text.length,
  end: 0.2,
  repeat: 0,
  ...more,
});
const teach = ({ learn }: VoiceDurations, name: string, texts = sentences) => {
  for (const text of texts) learn(name, name.split(' ')[0]!, text, measured(text));
};
const judge = ({ learn }: VoiceDurations, name: string) => {
  const [text] = sentences as [string];
  return learn(name, name.split(' ')[0]!, text, measured(text, { speech: 3 * measured(text).speech, end: 0.1 }));
};

const throwFault = (fault: unknown) => {
  throw fault;
};

test('after a restart, a voice is judged at once, and one of the same name with another version is not', async () => {
  const { store } = await openSqliteInFolder();
  const first = await openVoiceDurations(store, throwFault);
  expect(judge(first, 'ada 1')).toBeUndefined();
  teach(first, 'ada 1');
  const before = judge(first, 'ada 1')!;
  await first.close();
  const second = await openVoiceDurations(store, throwFault);
  const after = judge(second, 'ada 1')!;
  expect(after.speech.share).toBeCloseTo(before.speech.share, 0);
  expect(after.end.share).toBeCloseTo(before.end.share, 1);
  expect(judge(second, 'ada 2')).toBeUndefined();
  await second.close();
});

test('replicas add up what each has learned', async () => {
  const { store } = await openSqliteInFolder();
  const [one, other] = [await openVoiceDurations(store, throwFault), await openVoiceDurations(store, throwFault)];
  teach(one, 'ada', sentences.slice(0, 20));
  teach(other, 'ada', sentences.slice(20, 40));
  expect(judge(one, 'ada')).toBeUndefined();
  await Promise.all([one.close(), other.close()]);
  const [row] = await store.query<{ learned: string }>('select learned from voice_durations');
  expect(JSON.parse(row!.learned).count).toBe(41);
});

test('voices are shared once while they go on learning, and one that is forgotten meanwhile is not stored', async () => {
  const { store } = await openSqliteInFolder();
  let stored = 0;
  const busy: RowStore = {
    query: (...asked) => store.query(...asked),
    async transaction(...asked) {
      if (++stored < 100) teach(durations, 'ada', sentences.slice(0, 1));
      await durations.forget('otto');
      return store.transaction(...asked);
    },
    now: () => store.now(),
    listen: () => () => {},
    close: async () => {},
  };
  const durations = await openVoiceDurations(busy, throwFault);
  for (const name of ['ada', 'otto']) teach(durations, name, sentences.slice(0, 1));
  await durations.close();
  expect(stored).toBe(1);
  expect(await store.query('select name from voice_durations')).toEqual([{ name: 'ada' }]);
});

test('a voice is forgotten when it is deleted, or after a month', async () => {
  const { store } = await openSqliteInFolder();
  const durations = await openVoiceDurations(store, throwFault);
  teach(durations, 'ada', sentences.slice(0, 1));
  teach(durations, 'otto', sentences.slice(0, 1));
  await durations.close();
  const names = async () =>
    (await store.query<{ name: string }>('select name from voice_durations')).map((row) => row.name);
  expect((await names()).toSorted()).toEqual(['ada', 'otto']);
  await durations.forget('ada');
  await durations.close();
  expect(await names()).toEqual(['otto']);
  await store.query('update voice_durations set used_at_ms = used_at_ms - $1', 31 * 24 * 3_600_000);
  await durations.close();
  expect(await names()).toEqual([]);
});

test('with too many voices, the one that was used longest ago is forgotten first, also after a restart', async () => {
  const { store } = await openSqliteInFolder();
  const first = await openVoiceDurations(store, throwFault);
  teach(first, 'ada');
  await first.close();
  await store.query(`insert into voice_durations (name, voice_id, learned, used_at_ms)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 999)
    select 'other ' || n, 'other', learned, used_at_ms - n from numbers, voice_durations`);
  const second = await openVoiceDurations(store, throwFault);
  teach(second, 'otto', sentences.slice(0, 1));
  expect(judge(second, 'other 999')).toBeUndefined();
  expect(judge(second, 'ada')).toBeDefined();
  await second.close();
});

test('older segments count less', () => {
  const durations = createVoiceDurations();
  for (let n = 0; n < 60; n++) teach(durations, 'ada');
  expect(durations.voices.get('ada')!.all.count).toBeLessThan(2_100);
});

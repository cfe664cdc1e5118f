// Tests a list of voices from a server: it arrives late, changes, and is ignored if it is empty.
import { expect, test } from 'vitest';
import type { Voice } from '../../src/engines/engine.ts';
import { openVoiceList } from '../../src/engines/voice-list.ts';
import { Failure } from '../../src/platform/errors.ts';
import { openTone } from './tone-engine.ts';

const [low, high] = openTone().voices as [Voice, Voice];
const away = new Failure('engine_unavailable', { retryAfterSeconds: 1 });

test('comes late where it cannot be had at the start, follows changes, and survives what goes wrong', async () => {
  const answers = [away, [low], [], away, [low], [low, high]];
  const seen: (readonly Voice[])[] = [];
  const list = await openVoiceList({
    server: { engine: 'tone' },
    async load() {
      const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
      if (answer instanceof Failure) throw answer;
      return answer;
    },
    refreshMs: 1,
  });
  const note = () => {
    const voices = list.voices();
    if (seen.at(-1) !== voices) seen.push(voices);
    return voices.length;
  };
  await expect.poll(note, { interval: 1 }).toBe(2);
  expect(seen.map((voices) => voices.length).filter((count, i, all) => count !== all[i - 1])).toEqual([0, 1, 2]);
  list.close();
});

test('may be empty where it is said so, and is loaded again when asked for, once for all who ask meanwhile', async () => {
  let answer: readonly Voice[] = [low];
  let loads = 0;
  const list = await openVoiceList({
    server: { engine: 'tone' },
    load: async () => {
      loads++;
      return answer;
    },
    mayBeEmpty: true,
  });
  const before = list.voices();
  answer = [{ ...low }];
  await list.refresh();
  expect(list.voices()).toBe(before);
  answer = [];
  await Promise.all([list.refresh(), list.refresh(), list.refresh()]);
  expect([list.voices(), loads]).toEqual([[], 4]);
  list.close();
});

test('fails at the start only where it is needed then, or where no server lists the voices', async () => {
  const refused = new Failure('engine_unavailable');
  for (const fault of [away, refused, new TypeError('no list')]) {
    const load = () => Promise.reject(fault);
    await expect(openVoiceList({ server: { engine: 'tone' }, load, isNeededNow: true })).rejects.toBe(fault);
    await expect(openVoiceList({ load })).rejects.toBe(fault);
    const logged: unknown[] = [];
    const list = await openVoiceList({ server: { engine: 'tone', log: (...entry) => logged.push(entry) }, load });
    expect(list.voices()).toEqual([]);
    expect(logged).toEqual([['warn', expect.stringContaining('no list of voices'), { engine: 'tone', fault }]]);
    list.close();
  }
});

test('has no voices with invalid ids, none twice, and not too many, and limits texts', async () => {
  const logged: unknown[] = [];
  const named = (voiceId: string, more: Partial<Voice> = {}): Voice => ({ ...low, voiceId, ...more });
  const ids = ['', 'a\nb', ' a', 'a\0', '\ud800', 'a\u202eb', 'x'.repeat(129)];
  const many = Array.from({ length: 6_000 }, (_, n) => named(`v${n}`));
  const load = async () => [
    ...ids.map((voiceId) => named(voiceId)),
    named('a', { name: 'N'.repeat(300_000), description: 'A\r\nB' }),
    named('a', { name: 'second' }),
    named('é b/c', { name: '\n', languageCodes: ['en', `en-x-${'a'.repeat(99)}`] }),
    named('mute', { languageCodes: ['x'.repeat(99)] }),
    ...many,
  ];
  const list = await openVoiceList({ server: { engine: 'tone', log: (...entry) => logged.push(entry) }, load });
  const [first, second, ...rest] = list.voices();
  expect(first).toMatchObject({ voiceId: 'a', name: 'N'.repeat(200), description: 'A B' });
  expect(second).toMatchObject({ voiceId: 'é b/c', name: 'é b/c', languageCodes: ['en'] });
  expect(rest).toEqual(many.slice(0, 4_998));
  const facts = { engine: 'tone', count: ids.length + 2 + 1_002 };
  expect(logged).toEqual([['warn', expect.stringContaining('voices are left out'), facts]]);
  list.close();
});

// Tests a list of voices from a server: it arrives late, changes, and is ignored if it is empty.
import { expect, test } from 'vitest';
import type { Voice } from '../../src/engines/engine.ts';
import { openVoiceList } from '../../src/engines/voice-list.ts';
import { Failure } from '../../src/errors.ts';
import { openTone } from './tone-engine.ts';

const [low, high] = openTone().voices as [Voice, Voice];
const away = new Failure('engine_unavailable', { retryAfterSeconds: 1 });

test('comes late where it cannot be had at the start, follows changes, and survives what goes wrong', async () => {
  const answers = [away, [low], [], away, [low], [low, high]];
  const seen: (readonly Voice[])[] = [];
  const list = await openVoiceList({
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

test('fails at the start where it is needed then, or where waiting will not help', async () => {
  await expect(openVoiceList({ load: () => Promise.reject(away), isNeededNow: true })).rejects.toBe(away);
  const refused = new Failure('engine_unavailable');
  await expect(openVoiceList({ load: () => Promise.reject(refused) })).rejects.toBe(refused);
});

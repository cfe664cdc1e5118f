// Tests changes to stored voices, whose languages stay among their bindings' languages, and the number per account.
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Actor, operator } from '../../../src/accounts/keys/caller.ts';
import { createVault } from '../../../src/library/voices/clone-vault.ts';
import { openVoiceCache } from '../../../src/library/voices/voice-cache.ts';
import type { VoiceFields } from '../../../src/library/voices/voice-fields.ts';
import { createVoiceManagement, type VoiceManagement } from '../../../src/library/voices/voice-management.ts';
import { createVoiceRows } from '../../../src/library/voices/voice-rows.ts';
import type { Failure } from '../../../src/platform/errors.ts';
import { isSpokenBy } from '../../../src/platform/language-code.ts';
import type { Topic } from '../../../src/platform/store/row-store.ts';
import { noLexicons } from '../../../src/speech/text-reading.ts';
import { createVoices } from '../../../src/speech/voice.ts';
import { openTone } from '../../engines/tone-engine.ts';
import { openSqliteInFolder, withNotices } from '../../platform/store/open-test-store.ts';

const german = { engine: 'german', voiceId: 'german-low' };
const french = { engine: 'french', voiceId: 'french-low' };
let management: VoiceManagement;
let announced: Topic[];

const create = async (voiceId: string, fields: VoiceFields, actor: Actor) =>
  management.create(voiceId, fields, management.checkNew(voiceId, fields, actor, []), actor);

beforeEach(async () => {
  const watched = withNotices((await openSqliteInFolder()).store);
  announced = watched.announced;
  const rows = createVoiceRows(watched.rows);
  const vault = createVault(async () => 'a master key of thirty-two chars.');
  const voiceCache = await openVoiceCache({ rows, vault, purge: async () => {}, onFault: () => {} });
  onTestFinished(() => voiceCache.close());
  const engines = [
    openTone({ name: 'german', languageCodes: ['de'] }),
    openTone({ name: 'french', languageCodes: ['fr'], blends: true }),
  ];
  const voices = createVoices(engines, { stored: voiceCache.stored });
  const noClone = () => Promise.reject(new Error('no clone is made here'));
  const making = { cloneMaking: { prepare: noClone, make: noClone }, vault, voicesPerAccount: 2 };
  management = createVoiceManagement({
    rows,
    voiceCache,
    voices,
    lexicons: noLexicons,
    engines,
    making,
    preview: noClone,
  });
  await create('reader', { name: 'Reader', bindings: [german] }, operator);
});

test('each change notifies other processes once', async () => {
  const changes = [
    () => create('another', { name: 'Another', bindings: [german] }, operator),
    () => management.update('another', { name: 'Renamed' }, operator),
    () => management.update('another', { aliases: ['alias'] }, operator),
    () => management.chooseDefault('another', operator),
    () => management.chooseDefault(undefined, operator),
    () => management.remove('another', operator),
  ];
  for (const [index, change] of changes.entries()) {
    await change();
    // The first announcement was for the voice of the other tests.
    expect(announced).toEqual(Array(index + 2).fill('voices'));
  }
});

test.each([
  ['bindings', { bindings: [french] }],
  [
    'a blend',
    {
      blend: [
        { voiceId: 'french-low', weight: 1 },
        { voiceId: 'french-high', weight: 1 },
      ],
    },
  ],
])('%s that do not speak the languages of the voice are refused, if it gets no others with them', async (_, change) => {
  await expect(management.update('reader', change, operator)).rejects.toMatchObject({
    reason: 'invalid_request',
    facts: { details: [{ field: 'language_codes', reason: 'unsupported_language' }] },
  });
  const { voice, bindings } = await management.update('reader', { name: 'Same' }, operator);
  expect([voice.languageCodes, bindings[0]!.speaker.voiceId]).toEqual([['de'], 'german-low']);
  const changed = await management.update('reader', { ...change, languageCodes: ['fr'] }, operator);
  expect(isSpokenBy(changed.bindings[0]!.speaker, changed.voice.languageCodes[0]!)).toBe(true);
});

test('bindings that speak more than the languages of the voice leave them as they are', async () => {
  const { voice } = await management.update('reader', { bindings: [french, german] }, operator);
  expect(voice.languageCodes).toEqual(['de']);
});

const user: Actor = { ...operator, name: 'key:key_1', accountId: 'key_1', usesAllVoices: false };
const make = (voiceId: string, actor: Actor) =>
  create(voiceId, { name: 'One', bindings: [german] }, actor).then(
    () => 'made',
    ({ reason, facts }: Failure) => `${reason} ${facts.limit} ${facts.actual}`,
  );

test('an account has so many voices at most, counted at once; admins and the operator have more', async () => {
  const outcomes = await Promise.all(['one', 'two', 'three', 'four'].map((voiceId) => make(voiceId, user)));
  expect(outcomes.toSorted()).toEqual(['invalid_request 2 2', 'invalid_request 2 2', 'made', 'made']);
  const [made] = ['one', 'two', 'three', 'four'].filter((_, i) => outcomes[i] === 'made');
  await management.remove(made!, user);
  expect([await make('five', user), await make('six', user)]).toEqual(['made', 'invalid_request 2 2']);
  expect(await make('theirs', { ...user, accountId: 'key_2' })).toBe('made');
  for (const actor of [{ ...user, usesAllVoices: true }, operator])
    for (const n of [1, 2, 3]) expect(await make(`${actor.name.slice(0, 3)}-${n}`, actor)).toBe('made');
});

// Tests lists of voices: unique ids, order, aliases and languages.
import { expect, test } from 'vitest';
import type { Engine, Voice } from '../../src/engines/engine.ts';
import { isSpokenBy } from '../../src/platform/language-code.ts';
import { ofEveryone, StoredVoices } from '../../src/speech/stored-voices.ts';
import { createVoices, type OfferedVoice } from '../../src/speech/voice.ts';
import { openTone } from '../engines/tone-engine.ts';
import { storedVoice } from './stored-voice.ts';

const keptVoice = (voiceId: string) =>
  storedVoice({ voiceId, name: voiceId, bindings: [{ engine: 'tone', speakerId: 'tone-low' }] });

test('a voice is found with its engine, and an unknown one is a failure', () => {
  const tone = openTone();
  const voices = createVoices([tone]);
  const speaker = tone.voices[0]!;
  expect(voices.find('tone-low')).toMatchObject({
    voice: speaker,
    status: 'ready',
    bindings: [{ engine: tone, speaker }],
  });
  expect(() => voices.find('nobody')).toThrow(expect.objectContaining({ reason: 'voice_not_found' }));
  expect(voices.list().map(({ voice }) => voice.voiceId)).toEqual(['tone-low', 'tone-high']);
});

test('the default voice is listed first, then natural before synthetic ones, then by name', () => {
  const named = (engine: ReturnType<typeof openTone>, isSynthetic: boolean, names: readonly string[]): Engine => ({
    ...engine,
    capabilities: { ...engine.capabilities, isSynthetic },
    voices: names.map((name) => ({ ...engine.voices[0]!, name, voiceId: `${engine.name}-${name}` })),
  });
  const robots = named(openTone({ name: 'robots' }), true, ['Zed', 'Bob 10', 'Bob 9', 'amy']);
  const people = named(openTone({ name: 'people' }), false, ['Zoë', 'Élodie', 'ada', 'Zoe', 'Бьорк']);
  const bindings = [{ engine: 'people', speakerId: 'people-ada' }];
  const stored = { ...keptVoice('own'), name: 'Bea', bindings };
  const kept = new StoredVoices([stored]);
  const listed = createVoices([robots, people], { stored: kept }).list();
  const natural = ['ada', 'Bea', 'Élodie', 'Zoe', 'Zoë', 'Бьорк'];
  expect(listed.map(({ voice }) => voice.name)).toEqual(['Zed', ...natural, 'amy', 'Bob 9', 'Bob 10']);
  const namesBegun = (preferred: string) =>
    createVoices([robots, people], { stored: kept, preferred })
      .list()
      .slice(0, 2)
      .map(({ voice }) => voice.name);
  expect(namesBegun('own')).toEqual(['Bea', 'ada']);
  expect(namesBegun('nobody')).toEqual(['Zed', 'ada']);
});

test('an alias is found until a voice has it as its id, and again when that has gone', () => {
  const tone = openTone();
  const [low, high] = tone.voices as [Voice, Voice];
  const named = (voiceId: string): Voice => ({ ...high, voiceId });
  let offered: readonly Voice[] = tone.voices;
  const stored = new StoredVoices();
  stored.name('alloy', ofEveryone, 'tone-high');
  const engine: Engine = Object.defineProperty({ ...tone }, 'voices', { get: () => offered });
  const voices = createVoices([engine], { stored, preferred: 'alloy' });
  const look = (name: string) => voices.lookUp(name)?.voice.voiceId;
  expect([look('alloy'), voices.find('tone-high').aliases]).toEqual(['tone-high', ['alloy']]);
  expect(voices.list()[0]!.voice.voiceId).toBe('tone-high');
  // A model with a voice of that id is installed.
  offered = [low, high, named('alloy')];
  expect([look('alloy'), voices.find('tone-high').aliases]).toEqual(['alloy', []]);
  expect(voices.list()[0]!.voice.voiceId).toBe('alloy');
  offered = [low, high];
  expect(look('alloy')).toBe('tone-high');
  // The voice is removed: the alias belongs to no voice until the voice is back.
  offered = [low];
  expect([look('alloy'), voices.list()[0]!.voice.voiceId]).toEqual([undefined, 'tone-low']);
  offered = [low, high];
  expect(look('alloy')).toBe('tone-high');
  stored.name('alloy', ofEveryone, undefined);
  stored.chosen = 'tone-high';
  expect([look('alloy'), voices.list()[0]!.voice.voiceId]).toEqual([undefined, 'tone-high']);
  expect(voices.usableBy({ voiceIds: ['tone-low'] }).findDefault()).toMatchObject({
    offered: { voice: { voiceId: 'tone-low' } },
    source: 'order',
    chosen: undefined,
  });
});

test('a change of a stored voice makes it anew, and no other', () => {
  const ids = Array.from({ length: 300 }, (_, n) => `voice-${n}`);
  const stored = new StoredVoices(ids.map(keptVoice));
  const voices = createVoices([openTone()], { stored });
  const before = voices.list();
  const others = before.filter(({ voice }) => voice.voiceId !== 'voice-7');
  const isAnother = (each: OfferedVoice) => !before.includes(each);
  stored.put('voice-7', { ...keptVoice('voice-7'), name: 'Aaron' });
  expect(voices.list().filter(isAnother)).toMatchObject([{ voice: { voiceId: 'voice-7', name: 'Aaron' } }]);
  expect(voices.list()[1]!.voice.name, 'by name, after the default voice').toBe('Aaron');
  expect(
    before.filter(({ voice }) => voice.name === 'Aaron'),
    'a list that is being read stays',
  ).toEqual([]);
  stored.put('voice-7', undefined);
  expect(voices.list()).toEqual(others);
  stored.chosen = 'voice-8';
  expect(voices.list().filter(isAnother)).toMatchObject([
    { voice: { voiceId: 'voice-8' } },
    { voice: { voiceId: 'tone-low' } },
  ]);
  expect(voices.list()).toHaveLength(others.length);
});

test('of voices with the same id, a server’s is left out, and then the one of the later engine', () => {
  const voiceOf = (engine: string, voiceId: string): Voice => ({ ...openTone().voices[0]!, engine, voiceId });
  const engineOf = (name: string, ...ids: string[]): Engine => {
    return { ...openTone({ name }), voices: ids.map((voiceId) => voiceOf(name, voiceId)) };
  };
  const server = { ...engineOf('server', 'slt', 'amy', 'own'), servers: [] };
  const engines = [server, engineOf('first', 'slt'), engineOf('second', 'slt', 'amy')];
  const left: string[][] = [];
  const onLeftOut = (voices: readonly Voice[]) =>
    left.push(voices.map(({ engine, voiceId }) => `${engine} ${voiceId}`));
  const voices = createVoices(engines, { onLeftOut });
  const ownerOf = (voiceId: string) => voices.find(voiceId).bindings.map(({ engine }) => engine.name);
  expect(['slt', 'amy', 'own'].map(ownerOf)).toEqual([['first'], ['second'], ['server']]);
  expect(left).toEqual([['server slt', 'server amy', 'second slt']]);
  Object.assign(engines[2]!, { voices: [] });
  expect(ownerOf('amy')).toEqual(['server']);
  expect(voices.leftOut().map(({ voiceId }) => voiceId)).toEqual(['slt']);
  expect(left).toHaveLength(2);
});

test.each([
  ['en', 'en-US', true],
  ['en', 'en', true],
  ['en', 'EN-gb', true],
  ['pt-BR', 'pt', true],
  ['pt-BR', 'pt-PT', false],
  ['en', 'eng', false],
  ['de', 'en-US', false],
])('a voice of %s asked for %s: %s', (range, asked, spoken) => {
  const [voice] = openTone({ languageCodes: [range] }).voices;
  expect(isSpokenBy(voice!, asked)).toBe(spoken);
});

// Tests English phonemes with the real lexicons, tagger, dictionary and network (fetched-voice.ts).
import { globSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type EnglishPhonemes, fromArpabet, openEnglish } from '../../../src/engines/phonemes/english.ts';
import { englishFiles, writeTable } from '../../../src/engines/phonemes/english-tables.ts';
import { unpackArchive } from '../../../src/platform/archives/unpack-archive.ts';
import { newFolder } from '../../new-folder.ts';
import { fetchVoice } from '../fetched-voice.ts';

const { folder: packages, why = '' } = await fetchVoice();
const folder = newFolder(afterAll);
const signal = new AbortController().signal;
const sources: Record<string, string> = {};
if (packages) {
  for (const archive of globSync(join(packages, '*.{whl,tgz}'))) {
    const to = join(folder, basename(archive));
    await unpackArchive({ archive, to, signal });
    for (const file of globSync(join(to, '**/{*.json.gz,*.npz}'))) sources[basename(file)] = file;
    for (const file of globSync(join(to, 'package/index.js'))) sources['cmudict.js'] = file;
  }
  for (const accent of ['US', 'GB'] as const) {
    mkdirSync(join(folder, accent));
    for (const { is, source, as } of englishFiles(accent)) {
      const [from, to] = [sources[source]!, join(folder, accent, as)];
      await (is === 'net' ? unpackArchive({ archive: from, to, signal }) : writeTable({ is, from, to }, signal));
    }
  }
}
const opened = new Map<string, EnglishPhonemes>();
const phonemesOf = (accent: 'US' | 'GB'): EnglishPhonemes => {
  const found = opened.get(accent) ?? openEnglish(join(folder, accent), accent);
  opened.set(accent, found);
  return found;
};
/** The phonemes of a text, with a space between words. */
const read = (text: string, accent: 'US' | 'GB' = 'US', given?: Parameters<EnglishPhonemes>[1]) =>
  phonemesOf(accent)(text, given)
    .map(({ phonemes }) => phonemes)
    .join(' ');

beforeEach((context) => context.skip(!packages, why));

test.each([
  ['the apple, the pear', 'ði ˈæpᵊl , ðə pˈɛɹ'],
  ['an hour to eat, time to go to.', 'ɐn ˈWəɹ tʊ ˈit , tˈIm tə ɡˌO tu .'],
  ['I am in. I am an actor in Rome.', 'ˌI ɐm ˈɪn . ˌI ɐm ɐn ˈæktəɹ ɪn ɹˈOm .'],
  ['I used to live there.', 'ˌI jˈust tə lˈɪv ðˈɛɹ .'],
  ['They used two cups.', 'ðˌA jˈuzd tˈu kˈʌps .'],
])('function words depend on the next word: %s', (text, expected) => expect(read(text)).toBe(expected));

test.each([
  ['He will record a record.', 'hˌi wɪl ɹəkˈɔɹd ɐ ɹˈɛkəɹd .'],
  ['They live near a live show.', 'ðˌA lˈɪv nˌɪɹ ɐ lˈIv ʃˈO .'],
  ['The farms produce good produce.', 'ðə fˈɑɹmz pɹədˈus ɡˈʊd pɹˈOdˌus .'],
])('words are read by their part of speech: %s', (text, expected) => expect(read(text)).toBe(expected));

test.each([
  ['cats dogs horses judges wishes', 'kˈæts dˈɔɡz hˈɔɹsᵻz ʤˈʌʤəz wˈɪʃᵻz'],
  ["the boys' toys, James' hat, a fox's den", 'ðə bˈYz tˈYz , ʤˈAmz hˈæt , ɐ fˈɑksᵻz dˈɛn'],
  ['emailed texted googled', 'ˈimˌAld tˈɛkstᵻd ɡˈuɡᵊld'],
])('inflected forms follow their stems: %s', (text, expected) => expect(read(text)).toBe(expected));

test.each([
  ['the F B I met I B M\u2019s team', 'ði ˌɛf bˌi ˈI mˈɛt ˌI bˌi ˈɛmz tˈim'],
  ['U.S. law', 'jˌuˈɛs lˈɔ'],
  ['a well-known T-shirt', 'ɐ wˌɛlnˈOn tˈiʃˌɜɹt'],
  ['J. K. Rowling', 'ʤˈA kˈA ɹˈOlɪŋ'],
  ['\u201cWell,\u201d she said \u2014 (no)!', '“ wˈɛl , ” ʃi sˈɛd — ( nˈO ) !'],
])('letters, compounds and punctuation: %s', (text, expected) => expect(read(text)).toBe(expected));

test('names come from the CMU dictionary, other words from the network, and other scripts are transliterated', () => {
  expect(read('Nguyen Beyoncé')).toBe('nujˈɛn bɪjˌɔnsˈA');
  expect(read('kubectl hibari')).toBe('kjˈubɛkᵊl hˈɪbəɹi');
  expect(read('Москва')).toBe(read('Moskva'));
  expect(read('漢字 word')).toMatch(/^\S.* wˈɜɹd$/);
});

test('names that the tables have wrong are read right', () => {
  expect(read("Anna's friends Maria and Pierre Dubois")).toBe('ˈænəz fɹˈɛndz məɹˈiə ænd piˈɛɹ dubwˈɑ');
  expect(read('Siobhan', 'GB')).toBe('ʃəvˈɔːn');
});

test('British English has its own lexicon, and converts other words', () => {
  expect(read('The car was better in the park.', 'GB')).toBe('ðə kˈɑː wɒz bˈɛtə ɪn ðə pˈɑːk .');
  expect(read('Beyoncé', 'GB')).not.toMatch(/[ɹOæ]/);
});

test('each word has its range in the text, and given phonemes replace those of a range', () => {
  const text = 'A (very) odd word\u2019s end\u2026';
  for (const { start, end } of phonemesOf('US')(text)) expect(text.slice(start, end)).toMatch(/^(\S+)$/);
  expect(phonemesOf('US')(text).map(({ start, end }) => text.slice(start, end))).toEqual([
    ...['A', '(', 'very', ')', 'odd', 'word\u2019s', 'end', '\u2026'],
  ]);
  expect(read('the tomato', 'US', [{ from: 4, to: 10, phonemes: 'ˈɑtO' }])).toBe('ði ˈɑtO');
});

test('no letter or digit is left out', () => {
  const text = "Zxqwv ǅ 7 ½ ß ﬁn Ωmega naïve \u0301 e\u0301 x2y — ’ ' - /";
  const spoken = phonemesOf('US')(text).map(({ start, end }) => text.slice(start, end));
  for (const word of ['Zxqwv', '7', 'ß', 'ﬁn', 'Ωmega', 'naïve', 'e\u0301', 'x', '2', 'y', '/'])
    expect(spoken).toContain(word);
});

describe('entries of the CMU dictionary', () => {
  test.each([
    ['HH AH0 L OW1', 'həlˈO'],
    ['W AO1 T ER0', 'wˈɔɾəɹ'],
    ['L IH1 T AH0 L', 'lˈɪɾᵊl'],
    ['B ER1 D', 'bˈɜɹd'],
    ['Z IH1 R OW2', 'zˈɪɹˌO'],
  ])('%s', (symbols, phonemes) => expect(fromArpabet(symbols)).toBe(phonemes));
});

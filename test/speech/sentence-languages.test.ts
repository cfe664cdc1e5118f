// Tests the share of sentences whose language is detected correctly, and the scores of text that is in no language.
import { expect, test } from 'vitest';
import { createSentenceLanguages, scoreLanguages } from '../../src/speech/sentence-languages.ts';
import { beginnings, languages, typicalSets } from '../text/declarations.ts';

const shareOf = (among: readonly (typeof languages)[number][], wordCount: number) => {
  const told = among.flatMap((language) =>
    beginnings(language, wordCount, 20).map(
      (sentence) => createSentenceLanguages()(sentence, among, among[0]!) === language,
    ),
  );
  return told.filter(Boolean).length / told.length;
};

test.each([
  [5, 0.98],
  [10, 0.99],
  [20, 0.99],
])('of sentences of %i words in 20 languages, a share of %f is told right', (wordCount, share) => {
  expect(shareOf(languages, wordCount)).toBeGreaterThan(share);
});

test('of sentences of 5 words in the languages of a voice, nearly all are told right', () => {
  for (const set of typicalSets) expect(shareOf(set, 5), set.join()).toBeGreaterThan(0.95);
});

test('a language whose script is another has no score, and where one is left, it is that', () => {
  expect(scoreLanguages('Поезд', ['en', 'ru', 'ja'])).toEqual([undefined, 0, undefined]);
  expect(scoreLanguages('12:30', ['en', 'ru'])).toEqual([0, 0]);
  expect(scoreLanguages('हम', ['en', 'ru'])).toEqual([undefined, undefined]);
});

test('a language that the table has under another name is found by it', () => {
  const [bokmal, german] = scoreLanguages('Jeg vet ikke hvor toget er.', ['nb', 'de']);
  expect(bokmal!).toBeGreaterThan(german! + 100);
  const [indonesian, english] = scoreLanguages('Kereta api berikutnya berangkat besok pagi.', ['id', 'en']);
  expect(indonesian!).toBeGreaterThan(english! + 100);
});

test('what it reads of a sentence is bounded', () => {
  const sentence = 'Der Zug fährt heute leider nicht ';
  expect(scoreLanguages(sentence.repeat(1000), ['de', 'en'])).toEqual(
    scoreLanguages(sentence.repeat(20), ['de', 'en']),
  );
});

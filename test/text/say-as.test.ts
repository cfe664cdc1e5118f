// Tests SSML's say-as in languages that have a table; English is also tested with documents (ssml tests).
import { expect, test } from 'vitest';
import { sayAs } from '../../src/text/say-as.ts';

test.each([
  ['mdy', '5/3/2024', 'May third, twenty twenty four'],
  ['dmy', '5/3/2024', 'March fifth, twenty twenty four'],
  ['ymd', '2024-03-05', 'March fifth, twenty twenty four'],
  ['md', '5/3', 'May third'],
  ['md', '12/31', 'December thirty first'],
  ['dm', '5.3.', 'March fifth'],
  ['my', '3/2024', 'March, twenty twenty four'],
  ['ym', '2024/3', 'March, twenty twenty four'],
  ['y', '1999', 'nineteen ninety nine'],
  ['m', '3', 'March'],
  ['d', '3', 'third'],
  ['mdy', 'Mar 5 49', 'March fifth, twenty forty nine'],
  ['mdy', 'Mar 5 50', 'March fifth, nineteen fifty'],
  ['mdy', '13/5/2024', undefined],
  ['mdy', '5/32/2024', undefined],
  ['mdy', '5/0/2024', undefined],
  ['mdy', '5/3/MMXX', undefined],
  ['mdy', 'Ma 5 2024', undefined],
  ['m', 'Maybe', undefined],
  ['mdy', '5/3', undefined],
  ['mmy', '5/3/2024', undefined],
])('a date as %s: %s', (format, text, said) => {
  expect(sayAs({ as: 'date', format }, text, { languageCode: 'en-US', readsNumbers: false })).toBe(said);
});

test.each([
  ['de-DE', 'cardinal', '1234', 'eintausendzweihundertvierunddreißig'],
  ['de-DE', 'cardinal', '1.234,5', 'eintausendzweihundertvierunddreißig Komma fünf'],
  ['de', 'ordinal', '3.', 'dritte'],
  ['de', 'telephone', '030 123456', 'null drei null, eins zwei drei, vier fünf sechs'],
  ['fr', 'fraction', '3/4', 'trois quarts'],
  ['es', 'date', '3/5/2024', 'tres de mayo de dos mil veinticuatro'],
  ['it', 'time', '14:30', 'quattordici e trenta'],
  ['pl', 'currency', '12,50 zł', 'dwanaście złotych pięćdziesiąt groszy'],
  ['nl', 'unit', '5 kg', 'vijf kilogram'],
  ['sv', 'digits', '123', '1 2 3'],
  ['pt-BR', 'ordinal', 'abc', undefined],
  ['en-US', 'cardinal', 'XIV', 'fourteen'],
  ['en-US', 'fraction', '2 3/4', 'two and three quarters'],
  ['en-US', 'characters', 'a-1', 'A dash one'],
  ['en-GB', 'telephone', '+44 20', 'plus four four, two zero'],
  ['fi', 'cardinal', '5', undefined],
])('%s: %s of %s', (languageCode, as, text, said) => {
  expect(sayAs({ as, format: '' }, text, { languageCode, readsNumbers: false })).toBe(said);
});

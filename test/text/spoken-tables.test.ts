// Tests the spoken form in each language that has a table: cases checked by hand, readable for a speaker of the
// language, in spoken/<language>.txt.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { segmentText } from '../../src/text/segment.ts';
import { spoken, toRows } from './spoken.ts';

const codes: Readonly<Record<string, string>> = {
  english: 'en-US',
  german: 'de-DE',
  french: 'fr-FR',
  spanish: 'es-ES',
  italian: 'it-IT',
  portuguese: 'pt-BR',
  dutch: 'nl-NL',
  swedish: 'sv-SE',
  polish: 'pl-PL',
};

test.each(Object.entries(codes))('%s is said as its table tells', (language, languageCode) => {
  const rows = toRows(readFileSync(join(import.meta.dirname, 'spoken', `${language}.txt`), 'utf8'));
  expect(rows.length).toBeGreaterThanOrEqual(200);
  const said = rows.map(({ written }) => `${written} => ${spoken(written, languageCode)}`);
  expect(said).toEqual(rows.map(({ written, saidNow }) => `${written} => ${saidNow}`));
});

/** The classes of Google's text normalization challenge, and addresses. */
const classes =
  'PLAIN PUNCT DATE LETTERS CARDINAL VERBATIM DECIMAL MEASURE MONEY ORDINAL TIME ELECTRONIC DIGIT FRACTION TELEPHONE ADDRESS';

test('of at least 1000 English cases 96 % are said right, and 88 % of every class', () => {
  const rows = toRows(readFileSync(join(import.meta.dirname, 'spoken/english.txt'), 'utf8'));
  expect(rows.length).toBeGreaterThanOrEqual(1000);
  const shareOf = (some: typeof rows) => some.filter(({ said, saidNow }) => said === saidNow).length / some.length;
  expect(shareOf(rows)).toBeGreaterThanOrEqual(0.96);
  const shares = Object.entries(Object.groupBy(rows, ({ subject }) => subject)).map(([subject, some]) => ({
    subject,
    share: shareOf(some!),
  }));
  expect(shares.map(({ subject }) => subject)).toEqual(classes.split(' '));
  expect(shares.filter(({ share }) => share < 0.88)).toEqual([]);
});

test('each word that is said keeps the place of what is written', () => {
  const text = 'Es kostet am 3. Mai 12,50 €, z. B. für 2 Std.';
  const cuts = [...segmentText(text, { languageCode: 'de', spellOut: true, segmentCharsMax: 240 })];
  const pairs = cuts.flatMap(({ text: said, spans }) =>
    spans.map(({ from, to, offset, length }) => [text.slice(offset, offset + length), said.slice(from, to)]),
  );
  expect(pairs).toEqual([
    ['Es', 'Es'],
    ['kostet', 'kostet'],
    ['am', 'am'],
    ['3.', 'dritten'],
    ['Mai', 'Mai'],
    ['12,50 €', 'zwölf Euro fünfzig,'],
    ['z. B.', 'zum Beispiel'],
    ['für', 'für'],
    ['2 Std.', 'zwei Stunden.'],
  ]);
});

test.each([
  ['fr-CH', '71 et 99', 'septante-et-un et nonante-neuf'],
  ['fr-BE', '80', 'quatre-vingts'],
  ['pt-PT', '16 e 5 km', 'dezasseis e cinco quilómetros'],
  ['de-AT', '5 €', 'fünf Euro'],
])('%s: %s is %s', (languageCode, written, said) => {
  expect(spoken(written, languageCode)).toBe(said);
});

test('an ordinal number does not end a sentence, for any engine', () => {
  const options = { languageCode: 'de', spellOut: false, segmentCharsMax: 60, firstCharsMax: 30 };
  const cuts = [...segmentText('Er kommt am 3. Mai. Dann geht er am 14. Juni nach Hause zurück.', options)];
  expect(cuts.map((cut) => cut.text)[0]).toBe('Er kommt am 3. Mai.');
});

// What is said in each language that has a table: cases checked by hand, which a speaker of the language can read, in
// spoken/<language>.txt.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { segmentText } from '../../src/text/segment.ts';
import { spoken, toRows } from './spoken.ts';

const codes: Readonly<Record<string, string>> = {
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
  expect(said).toEqual(rows.map(({ written, said }) => `${written} => ${said}`));
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

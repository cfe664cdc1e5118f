// What is said in each language that has a table: cases checked by hand, which a speaker of the language can read, in
// spoken/<language>.txt.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
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

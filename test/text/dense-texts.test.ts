// Tests the spoken form of dense sentences. The table of a language, <language>.tsv, is its specification: the class of
// a text; the text, with "‖" at an end of a sentence inside it; and what a careful reader says: parts joined by "+", with
// "|" and braces for alternatives. Case, punctuation and white space do not count. The rows that are not right yet are in
// dense-texts.open.txt; "vitest -u" writes it. The test fails if a right row becomes wrong, or a row of the list right.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folders } from '../../src/text/language-table.ts';
import { segmentText } from '../../src/text/segment.ts';

const codes = ['en-US', 'de-DE', 'fr-FR', 'es-ES', 'it-IT', 'pt-BR', 'nl-NL', 'pl-PL', 'sv-SE', 'da-DK'];

const fold = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[^\p{L}\p{M}\p{N}'+{|}]+|'(?![\p{L}])/gu, ' ')
    .trim()} `;

/** All forms that a part with alternatives in braces allows. */
function* formsOf(part: string): Generator<string> {
  const braces = /\{([^{}]*)\}/.exec(part);
  if (!braces) yield fold(part);
  else for (const form of braces[1]!.split('|')) yield* formsOf(part.replace(braces[0], () => form));
}

/** Splits at a sign that is not within braces; braces may be nested twice. */
const splitAt = (text: string, sign: '+' | '|'): string[] =>
  text
    .replace(/\{(?:[^{}]|\{[^{}]*\})*\}/g, (braces) => braces.replaceAll('|', '\0'))
    .split(sign)
    .map((part) => part.replaceAll('\0', '|'));

const hasParts = (said: string, parts: readonly string[]): boolean => {
  let at = 0;
  return parts.every((part) => {
    const found = [...formsOf(part)].map((form) => ({ form, from: said.indexOf(form, at) }));
    const first = found.filter(({ from }) => from >= 0).sort((a, b) => a.from - b.from)[0];
    if (first) at = first.from + first.form.length - 1;
    return first !== undefined;
  });
};

interface Row {
  kind: string;
  written: string;
  expected: string;
}

/** What is said for a row if it is wrong, with "‖" at the sentence ends; undefined if it is right. */
function wrongReading({ written, expected }: Row, languageCode: string): string | undefined {
  const marked = written.replaceAll('\\n', '\n');
  const text = marked.replaceAll('‖', '');
  const cuts = [...segmentText(text, { languageCode, spellOut: true, segmentCharsMax: 100_000 })];
  const chars = [...text];
  const ends = [...marked.matchAll(/‖/g)].map(({ index }, i) => [...marked.slice(0, index)].length - i);
  const starts = cuts.flatMap(({ spans }, i) =>
    ['sentence', 'paragraph'].includes(cuts[i - 1]?.breakAfter ?? '') ? [spans[0]!.offset] : [],
  );
  const endsRight =
    starts.length === ends.length &&
    ends.every((end, i) => {
      const [from, to] = [Math.min(end, starts[i]!), Math.max(end, starts[i]!)];
      return !/[\p{L}\p{N}]/u.test(chars.slice(from, to).join(''));
    });
  const said = fold(cuts.map((cut) => cut.text).join(' '));
  const saidRight = splitAt(expected, '|').some((way) => hasParts(said, splitAt(way, '+')));
  if (endsRight && saidRight) return undefined;
  return cuts
    .map(({ text, breakAfter }) => text + (['sentence', 'paragraph'].includes(breakAfter) ? ' ‖' : ''))
    .join(' ')
    .replace(/ ‖$/, '');
}

const tables = codes.map((languageCode) => {
  const [, ...lines] = readFileSync(join(import.meta.dirname, `${languageCode.slice(0, 2)}.tsv`), 'utf8')
    .trimEnd()
    .split('\n');
  const rows = lines.map((line) => {
    const [kind = '', written = '', expected = ''] = line.split('\t');
    return { kind, written, expected };
  });
  return { languageCode, rows };
});

test('each class of a language has at least 8 rows', () => {
  expect(codes.map((code) => code.slice(0, 2)).sort()).toEqual(Object.keys(folders).sort());
  for (const { languageCode, rows } of tables) {
    expect(new Set(rows.map(({ written }) => written)).size).toBe(rows.length);
    for (const [kind, some] of Object.entries(Object.groupBy(rows, ({ kind }) => kind)))
      if (kind !== 'script') expect(some!.length, `${languageCode} ${kind}`).toBeGreaterThanOrEqual(8);
  }
});

test('the dense sentences are said as the tables tell, except those of the list', async () => {
  const results = tables.flatMap(({ languageCode, rows }) =>
    rows.map((row) => ({ ...row, language: languageCode.slice(0, 2), said: wrongReading(row, languageCode) })),
  );
  const share = (some: typeof results) => some.filter(({ said }) => said === undefined).length / some.length;
  const percent = (some: typeof results) => `${(100 * share(some)).toFixed(0)} %`;
  const byLanguage = (some: typeof results) =>
    Object.fromEntries(
      Object.entries(Object.groupBy(some, ({ language }) => language)).map(([name, of]) => [name, percent(of!)]),
    );
  const kinds = Object.entries(Object.groupBy(results, ({ kind }) => kind));
  console.table({
    ...Object.fromEntries(kinds.map(([kind, some]) => [kind, byLanguage(some!)])),
    all: byLanguage(results),
  });
  console.info(`${(100 * share(results)).toFixed(1)} % of ${results.length} rows are right`);
  const open = results.filter(({ said }) => said !== undefined);
  // With SAID=1, the test prints what is said instead.
  if (process.env.SAID) console.info(open.map((row) => Object.values(row).join('\t')).join('\n'));
  const list = open.map(({ language, kind, written }) => `${language}\t${kind}\t${written}\n`);
  await expect(list.join('')).toMatchFileSnapshot('dense-texts.open.txt');
});

// Compares the cases of test/text/spoken with espeak-ng, which reads numbers itself: its phonemes for the written text
// are compared with its phonemes for the correct words. They may differ although both readings are right.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { editDistance } from '../test/recognizer.ts';
import { spoken, toRows } from '../test/text/spoken.ts';
import type { Bench } from './measuring/bench.ts';

const folder = join(import.meta.dirname, '../test/text/spoken');
const languages = {
  english: 'en-us',
  german: 'de',
  french: 'fr',
  spanish: 'es',
  italian: 'it',
  portuguese: 'pt-br',
  dutch: 'nl',
  swedish: 'sv',
  polish: 'pl',
} as const;

interface Count {
  rows: number;
  right: number;
  agree: number;
  alike: number;
}

/** Phonemes only: stress, length, pauses and word gaps are removed, because they depend on the spelling. */
const phonemesOf = (text: string, code: string): string =>
  execFileSync('espeak-ng', ['-v', code, '-q', '-x', '--', text], { encoding: 'utf8' }).replace(/[',_|%=?;:!\s-]/g, '');

const likenessOf = (a: string, b: string): number => 1 - editDistance([...a], [...b]) / Math.max(a.length, b.length, 1);

export const bench: Bench = {
  about: 'numbers and abbreviations as Sonant and espeak-ng pronounce them',
  async run() {
    const subjects: (readonly [string, string, number, number, number, number])[] = [];
    const differences: (readonly [string, string, string])[] = [];
    let rightCount = 0;
    let rowCount = 0;
    for (const [language, code] of Object.entries(languages)) {
      const counts = new Map<string, Count>();
      for (const { subject, written, said } of toRows(readFileSync(join(folder, `${language}.txt`), 'utf8'))) {
        const count = counts.get(subject) ?? { rows: 0, right: 0, agree: 0, alike: 0 };
        counts.set(subject, count);
        const ours = spoken(written, code);
        rowCount++;
        if (ours === said) {
          rightCount++;
          count.right++;
        }
        count.rows++;
        const [theirs, own] = [phonemesOf(written, code), phonemesOf(said, code)];
        count.alike += likenessOf(theirs, own);
        if (theirs === own) count.agree++;
        else differences.push([language, written, ours]);
      }
      const all = { rows: 0, right: 0, agree: 0, alike: 0 };
      for (const count of counts.values()) {
        for (const key of ['rows', 'right', 'agree', 'alike'] as const) all[key] += count[key];
      }
      for (const [subject, { rows, right, agree, alike }] of [...counts, ['all', all] as const]) {
        subjects.push([language, subject, rows, (100 * right) / rows, (100 * agree) / rows, (100 * alike) / rows]);
      }
    }
    const agreement = {
      title: 'Cases that are said right, by Sonant and by espeak-ng by itself, in %',
      columns: [
        { name: 'language' },
        { name: 'subject' },
        { name: 'cases' },
        { name: 'Sonant', digits: 1 },
        { name: 'espeak-ng', digits: 1 },
        { name: 'phonemes in common', digits: 0 },
      ],
      rows: subjects,
    };
    const differing = {
      title: 'Cases where it does not',
      columns: [{ name: 'language' }, { name: 'written' }, { name: 'said by Sonant' }],
      rows: differences,
    };
    const goals = [{ name: 'cases said as the tables tell', figure: rightCount / rowCount, digits: 3, min: 0.97 }];
    return { tables: [agreement, differing], goals };
  },
};

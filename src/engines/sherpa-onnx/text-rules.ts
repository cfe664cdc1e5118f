// The rules by which the library spells out numbers, dates and telephone numbers, beside a model:
//     phone.fst date.fst number.fst new_heteronym.fst      of Chinese models
//     phone-zh.fst date-zh.fst number-zh.fst               of models that speak more than Chinese
//     rule.far                                             an archive of such rules
// The library applies them to every text of a process, whatever its language.
import { join } from 'node:path';
import type { TextRules } from './model.ts';

/** In the order in which they are applied: a telephone number is not a date, nor a date a number. */
const order = ['phone', 'date', 'number', 'new_heteronym'];

const ruleFile = /^([a-z_]+?)(?:-zh)?\.fst$/;

export function findTextRules(folder: string, names: Iterable<string>): TextRules {
  const all = [...names].sort();
  const rankOf = (name: string) => order.indexOf(ruleFile.exec(name)?.[1] ?? '');
  const fsts = all.filter((name) => rankOf(name) >= 0).sort((one, other) => rankOf(one) - rankOf(other));
  const archives = all.filter((name) => name.endsWith('.far'));
  const toPaths = (files: readonly string[]) => files.map((name) => join(folder, name)).join(',');
  return { fsts: toPaths(fsts), archives: toPaths(archives) };
}

// Forms convert text that a rule has matched to spoken text. A table defines forms by CLDR rules, patterns or maps.
// Every language also has common forms, such as "digits", "month" or "roman".

import { toRowsByKey } from '../platform/keyed-rows.ts';
import type { FormCase } from './language-table.ts';
import { parseRoman } from './number-words.ts';
import type { Verbalizer } from './verbalizer.ts';
import { type Form, toTemplate } from './written-rules.ts';

const normal: Readonly<Record<string, Form>> = {
  upper: (written) => written.toUpperCase(),
  lower: (written) => written.toLowerCase(),
  letters: (written) => [...written].join(' '),
  compose: (written) => written.normalize('NFKC'),
  decompose: (written) => written.normalize('NFKD'),
  ungrouped: (written) => written.replace(/[., ']/g, ''),
  roman: (written) => parseRoman(written)?.toString(),
  silent: () => '',
};

/** Returns a function that finds forms by name and creates each form on first use. `added` has further forms. */
export function formsOf(v: Verbalizer, added: Readonly<Record<string, Form>> = {}): (name: string) => Form {
  const own: Readonly<Record<string, Form>> = {
    digits: (written) => v.digits(written),
    number: (written) => v.numeral(written),
    month: (written) => v.monthName(Number(written)),
    ...normal,
    ...added,
  };
  const made = new Map<string, Form>();
  const formOf = (name: string): Form => {
    let form = made.get(name);
    if (!form) {
      form = toForm(v, name, formOf) ?? own[name];
      if (!form) throw new Error(`a rule names the form "${name}", which is not defined`);
      made.set(name, form);
    }
    return form;
  };
  return formOf;
}

function toForm(v: Verbalizer, name: string, formOf: (name: string) => Form): Form | undefined {
  const stated = v.table.forms[name];
  if (Array.isArray(stated)) return toCases(stated as readonly FormCase[], formOf);
  if (stated !== undefined) return (written) => (/^\d+$/.test(written) ? v.number(written, name) : undefined);
  const rows = v.table.maps?.[name];
  if (rows === undefined) return undefined;
  const map = new Map(toRowsByKey(rows));
  return (written) => map.get(written);
}

function toCases(cases: readonly FormCase[], formOf: (name: string) => Form): Form {
  const rows = cases.map(({ written = '.*', say }) => ({
    pattern: new RegExp(`^(?:${written})$`, 'su'),
    say: toTemplate(say, formOf),
  }));
  return (written) => {
    for (const { pattern, say } of rows) {
      const match = pattern.exec(written);
      if (match) return say(match);
    }
    return undefined;
  };
}

// Numbers as words, by the rule-based number formats of the Unicode CLDR (package cldr-rbnf,
// https://unicode.org/reports/tr35/tr35-numbers.html, section 8). A language's rules are read on first use. Soft
// hyphens in the data are removed.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Numbers with up to this many digits have a name in every language. */
export const namedDigitsMax = 15;

type Written = readonly (readonly [base: string, body: string])[];

interface Rule {
  base: bigint;
  divisor: bigint;
  parts: readonly Part[];
  /** Whether the rule speaks both the quotient and the remainder. */
  hasBoth: boolean;
}

type Part =
  | { kind: 'text' | 'open' | 'else' | 'close'; text: string }
  | { kind: 'quotient' | 'remainder' | 'same' | 'remainderBefore'; set: string }
  | { kind: 'plural'; words: ReadonlyMap<string, string> };

const partPattern =
  /→→→|([→←=])(%[^→←=]*)?\1|(\[)|(\|)|(\])|\$\(cardinal,((?:\w+\{[^}]*\}){1,6})\)\$|[^→←=[\]|$]+|[→←=$][^→←=[\]|$]*/gu;
const kinds = { '→': 'remainder', '←': 'quotient', '=': 'same' } as const;

/** The number rules of one language. */
export class NumberFormat {
  readonly #written: Readonly<Record<string, Written>>;
  readonly #plurals: Intl.PluralRules;
  readonly #sets = new Map<string, readonly Rule[]>();

  constructor(languageCode: string) {
    const { resolve } = createRequire(import.meta.url);
    const data = JSON.parse(readFileSync(resolve(`cldr-rbnf/rbnf/${languageCode}.json`), 'utf8'));
    this.#written = data.rbnf.rbnf.SpelloutRules;
    this.#plurals = new Intl.PluralRules(languageCode);
  }

  /** Formats a number of at most `namedDigitsMax` digits by a rule set such as "%spellout-cardinal". */
  format(number: bigint, set: string): string {
    return this.#say(number, set).replaceAll('\u00ad', '').trim();
  }

  #say(number: bigint, set: string): string {
    const rules = this.#rulesOf(set);
    let i = rules.findLastIndex(({ base }) => base <= number);
    const { base, divisor, hasBoth } = rules[i]!;
    // If no remainder is left to speak, the previous rule speaks the number.
    if (hasBoth && number % divisor === 0n && base % divisor !== 0n) i--;
    return this.#apply(rules, i, number, set);
  }

  #apply(rules: readonly Rule[], i: number, number: bigint, set: string): string {
    const { divisor, parts } = rules[i]!;
    const quotient = number / divisor;
    const remainder = number % divisor;
    let said = '';
    let isOmitted = false;
    for (const part of parts) {
      if (part.kind === 'open') isOmitted = remainder === 0n;
      else if (part.kind === 'else') isOmitted = remainder !== 0n;
      else if (part.kind === 'close') isOmitted = false;
      else if (isOmitted) continue;
      else if (part.kind === 'text') said += part.text;
      else if (part.kind === 'plural') {
        said += part.words.get(this.#plurals.select(Number(quotient))) ?? part.words.get('other') ?? '';
      } else if (part.kind === 'same') said += this.#say(number, part.set);
      else if (part.kind === 'quotient') said += this.#say(quotient, part.set || set);
      else if (part.kind === 'remainder') said += this.#say(remainder, part.set || set);
      else said += this.#apply(rules, i - 1, remainder, set);
    }
    return said;
  }

  #rulesOf(set: string): readonly Rule[] {
    let rules = this.#sets.get(set);
    if (!rules) {
      rules = this.#written[set]!.filter(([base]) => /^\d/.test(base)).map(toRule);
      this.#sets.set(set, rules);
    }
    return rules;
  }
}

/** Parses a rule from its head, such as "1100/100" (base and radix), and its body, such as "←←hundert[→→];". */
function toRule([head, body]: Written[number]): Rule {
  const [written = '0', radix = '10'] = head.split('/');
  const base = BigInt(written.replace(/>+$/, ''));
  let divisor = 1n;
  while (divisor * BigInt(radix) <= base) divisor *= BigInt(radix);
  // Each ">" divides the divisor by the radix.
  for (const _ of written.match(/>/g) ?? []) divisor /= BigInt(radix);
  // A leading apostrophe protects the space after it.
  const parts = [...body.replace(/;$/, '').replace(/^'/, '').matchAll(partPattern)].map(toPart);
  const has = (kind: Part['kind']) => parts.some((part) => part.kind === kind);
  return { base, divisor, parts, hasBoth: has('quotient') && (has('remainder') || has('remainderBefore')) };
}

function toPart([text, sign, set = '', open, otherwise, close, plurals]: RegExpExecArray): Part {
  if (open) return { kind: 'open', text };
  if (otherwise) return { kind: 'else', text };
  if (close) return { kind: 'close', text };
  if (text === '→→→') return { kind: 'remainderBefore', set: '' };
  if (sign) return { kind: kinds[sign as keyof typeof kinds], set };
  if (!plurals) return { kind: 'text', text };
  const words = plurals.matchAll(/(\w+)\{([^}]*)\}/g);
  return { kind: 'plural', words: new Map(words.map(([, category, word]) => [category!, word!])) };
}

const pattern = /^(M{0,3})(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})$/;
const values: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };

/** Value of a Roman numeral; undefined if the text is not a Roman numeral. */
export function parseRoman(numeral: string): number | undefined {
  if (numeral === '' || !pattern.test(numeral)) return undefined;
  let sum = 0;
  for (let i = 0; i < numeral.length; i++) {
    const value = values[numeral[i]!]!;
    sum += value < (values[numeral[i + 1] ?? ''] ?? 0) ? -value : value;
  }
  return sum;
}

// Formulas in LaTeX, as language models write them. A formula becomes signs and single letters, which every language can
// read: \frac{a}{b} becomes "a ⁄ b", and mc^2 becomes "m c²".
import { toRows } from '../platform/keyed-rows.ts';
import { symbols } from './language-table.ts';
import { matchAt } from './rule.ts';

const formulaPattern =
  /\$\$?(?![\s\d$]{0,40}\$)(?!\s)([^$\n]{1,300})(?<!\s)\$\$?(?!\d)|\\\(((?:[^\n\\]|\\[^\n\\()[\]]){1,300})\\\)|\\\[((?:[^\n\\]|\\[^\n\\()[\]]){1,300})\\\]/y;
/** What distinguishes a formula from a text between two prices. */
const mathPattern = /[\\^_=<>]|^\s*\p{L}\s*$|^\d{0,3}[a-z]{1,3}(?: ?[-+] ?\d{0,3}[a-z]{0,3}){0,6}$/u;

const commands = new Map(toRows(symbols.latex));

/** The end of the formula at `at`; undefined if no formula begins there. */
export function formulaEnd(text: string, at: number): number | undefined {
  const match = matchAt(formulaPattern, text, at);
  if (!match || (match[1] !== undefined && !mathPattern.test(match[1]))) return undefined;
  return at + match[0].length;
}

/** The signs of a formula with its delimiters. */
export function readFormula(written: string): string {
  const words: string[] = [];
  const keep = (word: string): string => `\0${words.push(word) - 1}\0`;
  let formula = written
    .replace(/^(?:\$\$?|\\[([])|(?:\$\$?|\\[)\]])$/g, '')
    .replace(/\\(?:text|mathrm|mathbf|mathit|operatorname|textbf)\{([^{}]{0,200})\}/g, (_, word: string) => keep(word));
  for (let depth = 0; depth < 4; depth++)
    formula = formula
      .replace(/\\sqrt\{([^{}]{0,200})\}/g, ' \\sqrt $1 ')
      .replace(/\^\{(\d)\}/g, '^$1')
      .replace(/\\[dt]?frac\{([^{}]{0,200})\}\{([^{}]{0,200})\}/g, ' $1 ⁄ $2 ');
  return formula
    .replace(/\\([A-Za-z]+)/g, (_, name: string) => ` ${commands.get(name) ?? keep(name)} `)
    .replace(/\\([%&])|\\./g, ' $1')
    .replace(/(?<=[∫∑∏] )_(?:\{([^{}]{0,60})\}|(.)) ?\^(?:\{([^{}]{0,60})\}| ?(.))/gu, ' ↧ $1$2 ↥ $3$4 ↤ ')
    .replace(/ ?\^(?:\{(-?\d{1,4})\}|(\d))/g, (_, many = '', one = '') =>
      [...(many + one)].map((sign) => '⁰¹²³⁴⁵⁶⁷⁸⁹⁻'['0123456789-'.indexOf(sign)]).join(''),
    )
    .replace(/\^\{([^{}]{1,60})\}/g, ' ^ $1 ')
    .replace(/_(?:\{([^{}]{0,60})\}|(\S))/g, ' $1$2')
    .replace(/[{}]/g, '')
    .replace(/(?<=\p{L})(?=[\p{L}\d])/gu, ' ')
    .replace(/(?<=\d|⁄ \d{1,3} {1,2})(?=\p{L})/gu, ' ⟜ ')
    .replace(/(?<!\^) ?[-−] ?(?=\S)/g, ' − ')
    .replace(/ ?([=+×÷±≤≥≠≈→<>]) ?/g, ' $1 ')
    .replace(/\0(\d+)\0/g, (_, index: string) => words[Number(index)]!)
    .replace(/ +/g, ' ')
    .trim();
}

// Symbols that are read as words, and where: "2*3" but *note*, "a < b" but <name>, C# but # alone. A symbol that is not
// listed here is silent, and so is decoration: three or more of one symbol, or two that are not an operator.
import { textAfter, textBefore } from '../rule.ts';
import { isLetterOrDigit, marked, type Sign, type SignReading, said, silent } from '../signs.ts';
import { wordTable } from '../word-table.ts';
import { currencyName } from './money.ts';

/** Read everywhere. */
const names = wordTable(`
  & and; % percent; @ at; + plus; = equals; ± plus or minus; ∓ minus or plus; × times; ÷ divided by; ° degrees
  − minus; → to; ⇒ implies; ← from; ↔ to and from; ⇔ if and only if; ↑ up; ↓ down; ≤ less than or equal to
  ≥ greater than or equal to; ≠ not equal to; ≈ approximately; ≡ is identical to; ∞ infinity; √ the square root of
  ∑ the sum of; ∏ the product of; ∫ the integral of; ∂ partial; ∇ nabla; ∈ in; ∉ not in; ⊂ subset of; ∪ union
  ∩ intersection; ∅ the empty set; ∀ for all; ∃ there exists; ∧ and; ∨ or; ¬ not; ∝ proportional to; ∴ therefore
  © copyright; ® registered; ™ trademark; ℠ service mark; § section; ¶ paragraph; ♯ sharp; ♭ flat; ‰ per thousand
  ¢ cents
`);

/** Read between two operands. */
const operators = wordTable(`
  && and; || or; == equals; != not equal to; <= less than or equal to; >= greater than or equal to; -> to; => to
  <- from; ++ plus plus; ** to the power of; +- plus or minus; +/- plus or minus; <3 heart
`);

/** Reads a symbol that is not punctuation. */
export function readSymbol(sign: Sign): SignReading {
  const { text, at, char, repeats } = sign;
  if (repeats > 2) return silent(sign);
  for (const length of [3, 2]) {
    const operator = text.slice(at, at + length);
    const after = text[at + operator.length] ?? ' ';
    const say = operators.get(operator);
    if (say !== undefined && isOperator(operator, sign.before, after)) return said(sign, say, operator.length);
  }
  if (repeats > 1) return silent(sign);
  const say = names.get(char) ?? currencyName(char) ?? sayInContext(sign);
  if (say === undefined) return silent(sign);
  return say === ',' ? marked(sign, say) : said(sign, say);
}

/** Whether a run of signs is an operator here, not decoration. */
function isOperator(operator: string, before: string, after: string): boolean {
  if (operator === '++') return /\p{L}/u.test(before);
  if (operator === '**') return isLetterOrDigit(before) && isLetterOrDigit(after);
  if (operator === '<3') return before === ' ' && /[ ,!]/.test(after);
  return (before === ' ') === (after === ' ') || isLetterOrDigit(before) || isLetterOrDigit(after);
}

/** Symbols that are read in some contexts only; a comma is a pause. */
function sayInContext(sign: Sign): string | undefined {
  const { char, before, after } = sign;
  const inside = before !== ' ' && after !== ' ';
  const alone = before === ' ' && after === ' ';
  const afterTerm = (inside || alone) && /[\p{L}\p{N})] ?$/u.test(textBefore(sign, 2));
  switch (char) {
    case '<':
      return alone || /[\d.\-=$]/.test(after) || (isLetterOrDigit(before) && inside) ? 'less than' : undefined;
    case '>': {
      const closes = /<[^ ]{0,40}$/.test(textBefore(sign, 40));
      return alone || /[\d.$]/.test(after) || (isLetterOrDigit(after) && !closes) ? 'greater than' : undefined;
    }
    case '*':
    case '⋅':
    case '·':
      return afterTerm && /^ ?[\p{L}\p{N}(]/u.test(textAfter(sign, 1, 2)) ? 'times' : undefined;
    case '^':
      return afterTerm ? 'to the power of' : alone ? 'caret' : undefined;
    case '#':
      if (/[A-Z]/.test(before) && !isLetterOrDigit(after)) return 'sharp';
      return /\d/.test(after) ? 'number' : alone ? 'hash' : undefined;
    case '|':
      return alone ? ',' : inside ? 'bar' : undefined;
    case '\\':
      return inside || isLetterOrDigit(after) ? 'backslash' : undefined;
    case '•':
      return alone ? ',' : undefined;
    default:
      return undefined;
  }
}

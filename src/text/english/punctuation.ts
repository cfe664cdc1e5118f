// Punctuation in English: stops, brackets and quotes; and the dash and the slash, which are also "to", "minus" and "slash".
// Punctuation that shapes intonation is kept, in its plainest form; other symbols are those of symbols.ts.

import { isAlgebra, type Place, resultSource, textAfter, textBefore, wordAfter, wordBefore } from '../rule.ts';
import { isLetterOrDigit, joins, marked, opens, type Sign, type SignReading, said, signAt, silent } from '../signs.ts';
import { isCalendarName } from './dates.ts';
import { readSymbol } from './symbols.ts';

const emoticonPattern = /^[:;=][-']?[)(/\\|*\]]{1,3}(?=$|[ \n.,!?])/;

/** Reads the sign at the place, which is neither a letter nor a digit. */
export function readSign(place: Place): SignReading {
  const sign = signAt(place);
  const { text, at, char, repeats, before } = sign;
  switch (char) {
    case '.':
      if (repeats > 1) return marked(sign, repeats > 2 ? '...' : '.');
      return isDot(sign) ? said(sign, 'dot') : marked(sign, '.');
    case ':':
    case ';':
    case '=': {
      const emoticon = before === ' ' ? emoticonPattern.exec(text.slice(at, at + 7)) : null;
      if (emoticon) return silent(sign, emoticon[0].length);
      if (char === '=') return readSymbol(sign);
      return text.startsWith(':\\', at) ? said(sign, 'colon') : marked(sign, char);
    }
    case '!':
      return text.startsWith('!=', at) ? readSymbol(sign) : marked(sign, char);
    case ',':
    case '?':
      return marked(sign, char);
    case '—':
      return marked(sign, ',');
    case '(':
      return text.startsWith('()', at) ? silent(sign, 2) : opens(sign, char);
    case ')':
      return marked(sign, isItemNumber(sign) ? ',' : char);
    case '"':
      return before === ' ' || before === '(' ? opens(sign, char) : marked(sign, char);
    case "'":
      return isElision(sign) ? opens(sign, char) : silent(sign);
    case '~':
      return readTilde(sign);
    case '–':
    case '-':
      return readDash(sign);
    case '/':
      return readSlash(sign);
    default:
      return readSymbol(sign);
  }
}

/** Whether a full stop is read as "dot": inside a name, but not between a small letter and a capital (a missing space). */
function isDot({ before, after }: Sign): boolean {
  if (!isLetterOrDigit(after)) return false;
  if (!isLetterOrDigit(before)) return /[ /("]/.test(before);
  return !(/\p{Ll}/u.test(before) && /\p{Lu}/u.test(after));
}

/** The bracket of "1) eggs, 2) milk". */
const isItemNumber = (sign: Sign): boolean =>
  /(?:^|\s)(?:\d{1,3}|[A-Za-z])$/.test(textBefore(sign, 4)) && !/\([^)]*$/.test(textBefore(sign, 60));

/** An apostrophe that stands for a letter is part of its word: 'tis, rock 'n' roll. */
const isElision = (sign: Sign): boolean =>
  !isLetterOrDigit(sign.before) && /^'(?:tis|twas|twere|em|til|cause|bout|n)\b/i.test(textAfter(sign, 0, 8));

function readTilde(sign: Sign): SignReading {
  if (/[\d$€£.]/.test(sign.after) && !isLetterOrDigit(sign.before)) return said(sign, 'about');
  return sign.after === '/' ? said(sign, 'tilde') : silent(sign);
}

function readDash(sign: Sign): SignReading {
  const { text, at, char, repeats, before, after } = sign;
  if (text.startsWith('->', at)) return readSymbol(sign);
  const between = isLetterOrDigit(before) && isLetterOrDigit(after);
  const alone = before === ' ' && after === ' ';
  if (repeats > 1) return repeats > 2 || between || alone ? marked(sign, ',') : silent(sign);
  if (isMinus(sign)) return said(sign, 'minus');
  if (isTo(sign)) return said(sign, 'to');
  if (alone) return marked(sign, ',');
  // A hyphen between a number and a word is dropped: ten year-old, Covid nineteen.
  return between && !/\d/.test(before + after) ? joins(sign, char === '–' ? ' ' : '-') : silent(sign);
}

/** The first quantity of a range, perhaps with a currency sign or a unit. */
const quantityPattern = /(?:^|[\s($£€¥~<>])[$£€¥]?[\d.,:]+(?:%|°[CF]?|\p{L}{1,3}|[ap]\.m\.)? ?$/u;
const quantityCharsMax = 20;

function isTo(sign: Sign): boolean {
  const { text, end, before, after } = sign;
  if ((before === ' ') !== (after === ' ')) return false;
  const head = textBefore(sign, quantityCharsMax);
  if (/^ ?[\d$£€.]/.test(text.slice(end, end + 2)) && quantityPattern.test(head)) return true;
  const fromDate = /\d ?$/.test(head) || isCalendarName(wordBefore(sign));
  return fromDate && isCalendarName(wordAfter(text, end));
}

/** A number or a letter before the minus of an equation, and the rest of the equation after it. */
const minuendPattern = /(?:^|[\s(+*×÷/=-])(?:\d[\d.,]*\p{L}?|\p{L})\)?$/u;
const sumRestPattern = new RegExp(String.raw`^(?:\d|\p{L}(?!\p{L}))[\d.,+*×÷/()\p{L}-]{0,20}${resultSource}`, 'u');

function isMinus(sign: Sign): boolean {
  const { text, at, end, char, before, after } = sign;
  const isSum =
    sumRestPattern.test(text.slice(end, end + 28)) && minuendPattern.test(textBefore(sign, quantityCharsMax));
  if (char === '-' && isSum) return true;
  if ((before === ' ' && /[\d.$£€(]/.test(after)) || (before === '(' && /[\d.$]/.test(after))) return true;
  // A school grade: B-.
  if (/(?:^|\s)[A-F]$/.test(textBefore(sign, 2)) && /[\s.,;!?)]/.test(after)) return true;
  if (char !== '-' || before !== ' ' || after !== ' ') return false;
  return isAlgebra(sign, end - at) || /^ [\d.,]{1,20} ?=/.test(text.slice(end, end + 24));
}

function readSlash(sign: Sign): SignReading {
  const { repeats, before, after } = sign;
  if (repeats > 1) return silent(sign);
  if (before === ' ' && after === ' ') return marked(sign, ',');
  return after === ' ' && !isLetterOrDigit(before) ? silent(sign) : said(sign, 'slash');
}

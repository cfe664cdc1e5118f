// Prepares text for flite, which traps on long runs of punctuation, makes half an hour of sound out of a line of dollar
// signs, and breaks a word at every letter that is not ASCII. The result is printable ASCII in tokens of bounded length,
// each with its range in the original text. Numbers and dates are spelled out before, outside the engine.
import anyAscii from 'any-ascii';
import type { Segment } from '../engine.ts';

/** What is spoken for a stretch of the original text without white space: always a letter or a digit in it. */
export interface SpokenToken {
  from: number;
  to: number;
  spoken: string;
  /** In flite's phones, where it is not to be pronounced by its letters. */
  phones?: string;
}

/** Longer stretches are cut, so that no endless number or word reaches flite. */
const tokenCharsMax = 40;
const punctuationRunMax = 3;
/** Signs read out in one token; the rest of them are silent. */
const signsPerTokenMax = 3;
/** The longest text of one run of flite. */
const partCharsMax = 240;

const signs = new Map([
  ['&', 'and'],
  ['@', 'at'],
  ['%', 'percent'],
  ['+', 'plus'],
  ['=', 'equals'],
  ['$', 'dollars'],
  ['€', 'euros'],
  ['£', 'pounds'],
  ['¥', 'yen'],
  ['°', 'degrees'],
  ['×', 'times'],
  ['÷', 'divided by'],
]);
const anySign = new RegExp(`(?!\\$\\d)[${[...signs.keys()].join('')}]`, 'gu');
const pictures = /\p{Extended_Pictographic}|\p{Regional_Indicator}|\p{Emoji_Modifier}|\ufffd/gu;
/** Marks without a sound or a width of their own, between or upon others. */
const joiners = /\u200b|\u200c|\u200d|\u20e3|\ufe0e|\ufe0f/g;
const sumOfMoney = /([€£¥])(\d+(?:[.,]\d+)*)/g;
const fraction = /(?<=\d)(?=[¼-¾⅐-⅞])/g;
const pause = /[.,;:!?]/;

/** The tokens of `text` in which there is something to say. */
export function toSpokenTokens(text: string): SpokenToken[] {
  const tokens: SpokenToken[] = [];
  for (const { 0: token, index } of text.matchAll(new RegExp(`\\S{1,${tokenCharsMax}}`, 'gu'))) {
    const spoken = toAscii(token);
    const before = tokens.at(-1);
    if (/[a-z0-9]/i.test(spoken)) tokens.push({ from: index, to: index + token.length, spoken });
    // flite hears a pause only where the mark stands on a word.
    else if (before && !pause.test(before.spoken.at(-1)!)) before.spoken += pause.exec(spoken)?.[0] ?? '';
  }
  return tokens;
}

/** The tokens with the stated pronunciations: the tokens of a range become one. */
export function withPhones(tokens: readonly SpokenToken[], ranges: Segment['phonemes'] = []): SpokenToken[] {
  const stated: SpokenToken[] = [];
  for (const token of tokens) {
    const range = ranges.find(({ from, to }) => token.from < to && token.to > from);
    const before = stated.at(-1);
    if (!range) stated.push(token);
    else if (before?.phones !== undefined && before.to > range.from) {
      const mark = /[.,;:!?]*$/.exec(token.spoken)![0];
      stated[stated.length - 1] = { ...before, to: token.to, spoken: before.spoken + mark };
    } else stated.push({ ...token, phones: range.phonemes });
  }
  return stated;
}

/** What flite reads: plain text, or the little of SSML that it knows. */
export const toFliteText = (tokens: readonly SpokenToken[]): string =>
  tokens.map(({ spoken, phones }) => (phones ? `<phoneme ph="${phones}">${spoken}</phoneme>` : spoken)).join(' ');

/** The tokens in groups, one for each run of flite. */
export function toParts(tokens: readonly SpokenToken[]): SpokenToken[][] {
  const parts: SpokenToken[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const token of tokens) {
    length += token.spoken.length + 1;
    if (length > partCharsMax) {
      parts.push([]);
      length = token.spoken.length;
    }
    parts.at(-1)!.push(token);
  }
  return parts;
}

function toAscii(token: string): string {
  let signsLeft = signsPerTokenMax;
  const worded = token
    .toWellFormed()
    .replace(joiners, '')
    .replace(pictures, ' ')
    .replace(fraction, ' ')
    .replace(sumOfMoney, '$2$1')
    .replace(/[—–―…]/g, (mark) => (mark === '…' ? '... ' : ', '))
    .replace(/(.)\1{2,}/gu, (run, mark) => (signs.has(mark) ? mark : run))
    .replace(anySign, (sign) => (signsLeft-- > 0 ? ` ${signs.get(sign)} ` : ' '));
  return anyAscii(worded.normalize('NFKC'))
    .replace(/(?:(?!\$\d)[^a-z0-9.,;:!?'"()/-])+/gi, ' ')
    .replace(/(?<!\d)\/|\/(?!\d)/g, ' ')
    .replace(/[a-z0-9]{40}/gi, '$& ')
    .replace(/[^a-z0-9]{4,}/gi, (run) => run.slice(0, punctuationRunMax))
    .replace(/ +(?=[ .,;:!?])/g, '')
    .trim();
}

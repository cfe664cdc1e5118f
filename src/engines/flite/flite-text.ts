// Prepares text for flite, which traps on long runs of punctuation, generates half an hour of audio from a line of
// dollar signs, and breaks words at non-ASCII letters. The result is printable ASCII in tokens of bounded length, each
// with its range in the original text. Numbers and dates have already been spelled out, outside the engine.
import anyAscii from 'any-ascii';
import type { Segment } from '../engine.ts';

/** The spoken form of a range of text without white space. It always contains a letter or a digit. */
export interface SpokenToken {
  from: number;
  to: number;
  spoken: string;
  /** Pronunciation in flite's phones, if it differs from the spelling. */
  phones?: string;
}

/** Tokens are cut to this length, so that no endless number or word reaches flite. */
const tokenCharsMax = 40;
const punctuationRunMax = 3;
/** Number of signs that are read out in one token; further signs are silent. */
const signsPerTokenMax = 3;
/** Longest text of one run of flite. */
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
/** Characters without sound or width that join or modify other characters. */
const joiners = /\u200b|\u200c|\u200d|\u20e3|\ufe0e|\ufe0f/g;
const sumOfMoney = /([€£¥])(\d+(?:[.,]\d+)*)/g;
const fraction = /(?<=\d)(?=[¼-¾⅐-⅞])/g;
const pause = /[.,;:!?]/;

/** The tokens of `text` that can be spoken. */
export function toSpokenTokens(text: string): SpokenToken[] {
  const tokens: SpokenToken[] = [];
  for (const { 0: token, index } of text.matchAll(new RegExp(`\\S{1,${tokenCharsMax}}`, 'gu'))) {
    const spoken = toAscii(token);
    const before = tokens.at(-1);
    if (/[a-z0-9]/i.test(spoken)) tokens.push({ from: index, to: index + token.length, spoken });
    // flite pauses only if the punctuation mark is attached to a word.
    else if (before && !pause.test(before.spoken.at(-1)!)) before.spoken += pause.exec(spoken)?.[0] ?? '';
  }
  return tokens;
}

/** Applies the stated pronunciations; the tokens of each range become one token. */
export function withPhones(tokens: readonly SpokenToken[], ranges: Segment['phonemes'] = []): SpokenToken[] {
  const stated: SpokenToken[] = [];
  for (const token of tokens) {
    const range = ranges.find(({ from, to }) => token.from < to && token.to > from);
    const before = stated.at(-1);
    if (!range) stated.push(token);
    else if (before?.phones !== undefined && before.to > range.from) {
      const mark = /(?<![.,;:!?])[.,;:!?]*$/.exec(token.spoken)![0];
      stated[stated.length - 1] = { ...before, to: token.to, spoken: before.spoken + mark };
    } else stated.push({ ...token, phones: range.phonemes });
  }
  return stated;
}

/**
 * Input for flite: plain text, or flite's small subset of SSML. flite ignores an element that follows another one
 * directly. A comma between two elements is not heard.
 */
export const toFliteText = (tokens: readonly SpokenToken[]): string =>
  tokens
    .map(({ spoken, phones }, i) => {
      if (!phones) return spoken;
      return `<phoneme ph="${phones}">${spoken}</phoneme>${tokens[i + 1]?.phones ? ',' : ''}`;
    })
    .join(' ');

/** Groups tokens, one group for each run of flite. */
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

// Text normalization: converts a chunk of text to spoken tokens, one paragraph at a time. Removes markup and noise. For
// engines that need it, numbers, symbols and abbreviations become words (verbalize-by-table.ts). Every letter and digit
// outside markup is in a token. To add a language, add a table (language-table.ts).

import { languageOf } from '../platform/language-code.ts';
import { cleanText } from './clean-text.ts';
import { type Replacement, replaceIn } from './flat-text.ts';
import { hasTable } from './language-table.ts';
import { mark, markMarkup } from './markdown.ts';
import { type Paragraph, type ReadingState, readLiteral, readParagraph } from './paragraphs.ts';
import { markBreaks } from './sentence-ends.ts';
import { breakStrength, type SpokenToken, type Token, tokenize } from './tokenize.ts';
import { readByTable } from './verbalize-by-table.ts';

/** Verbalizes clean text of one language. */
type Reader = (text: string, tokens: readonly Token[], languageCode: string) => SpokenToken[];

/** The reader of a language; undefined if the language has no table. */
const readerOf = (languageCode: string): Reader | undefined =>
  hasTable(languageOf(languageCode)) ? readByTable : undefined;

/** Number of words at the end of a text that are read with its last word. */
const readTokensMax = 6;

/**
 * The tokens of clean text near its end, for which the strength of their breaks counts. If `isJoined` is true, text that
 * is read as a unit is one token. If the language has a table, the text must be folded.
 */
export function readEnd(text: string, languageCode: string, isJoined: boolean): readonly Token[] {
  const tokens = tokenize(text, languageCode).slice(-readTokensMax);
  markBreaks(text, tokens, languageCode);
  return isJoined ? (readerOf(languageCode) ?? readPlain)(text, tokens, languageCode) : tokens;
}

export interface NormalizeOptions {
  languageCode: string;
  /** Whether numbers, symbols and abbreviations become words. */
  spellOut: boolean;
  /** Position of the chunk in the complete text, to which ranges refer. Default: 0. */
  from?: number | undefined;
  /** State at the end of the previous text, if this text continues it. Updated to the end of this text. */
  state?: ReadingState | undefined;
  /** Whether Markdown, HTML and line ends are plain text here. */
  isLiteral?: boolean | undefined;
  /** Replacements of the placeholders in the chunk. */
  replacements?: readonly Replacement[] | undefined;
}

/** The spoken form of a text, as one string. */
export const sayText = (text: string, options: NormalizeOptions): string =>
  [...normalizeText(text, options)]
    .map(({ say, glued }) => (glued ? say : ` ${say}`))
    .join('')
    .trim();

const edgePattern = /^[\p{P}\p{Z}]+|[\p{P}\p{Z}]+$/gu;

/** Reads every token as written, for engines that normalize text themselves. */
const readPlain: Reader = (text, tokens) =>
  tokens.map(({ from, to, glued, breakAfter }) => {
    const say = text.slice(from, to);
    const core = say.replace(edgePattern, '');
    const start = core === '' ? from : from + say.indexOf(core);
    return { say, from: start, to: core === '' ? to : start + core.length, glued, breakAfter };
  });

/** Yields the spoken tokens of `chunk` in order. Reads at most one window ahead. */
export function* normalizeText(chunk: string, options: NormalizeOptions): Generator<SpokenToken> {
  const { languageCode, spellOut, state = { fence: '', within: false }, isLiteral, replacements = [] } = options;
  const { from: begin = 0 } = options;
  const reader = spellOut ? readerOf(languageCode) : undefined;
  for (let at = 0; ; ) {
    const paragraph = isLiteral ? readLiteral(chunk, at, state) : readParagraph(chunk, at, state);
    if (!paragraph) return;
    const clean = cleanText(chunk, paragraph.from, paragraph.to, markParagraph(chunk, paragraph), reader !== undefined);
    const tokens = tokenize(clean.text, languageCode);
    markBreaks(
      clean.text,
      tokens,
      languageCode,
      paragraph.markers.some(([a, b]) => /[—–]/.test(chunk.slice(a, b))),
    );
    let spoken = (reader ?? readPlain)(clean.text, tokens, languageCode);
    if (state.within && spoken[0] && splitsWord(chunk, at)) spoken[0].glued = true;
    at = paragraph.next;
    if (!paragraph.whole && tokens.length > 0) {
      tokens.at(-1)!.breakAfter = spoken.at(-1)!.breakAfter = breakStrength.word;
      const edge = tokens[certainTokens(tokens)]?.from ?? clean.text.length;
      spoken = spoken.filter(({ from }) => from < edge);
      // Tokens that are read together may extend beyond the edge.
      const again = tokens.find(({ from }) => from >= Math.max(edge, spoken.at(-1)!.to));
      if (again) at = clean.from[again.from]!;
    }
    state.within = !paragraph.whole;
    for (const token of mergePunctuation(spoken)) {
      const range = { from: begin + clean.from[token.from]!, to: begin + clean.to[token.to - 1]! };
      const said = replaceIn(token.say.normalize('NFC'), range, replacements);
      if (/[\p{L}\p{N}]/u.test(said.say)) yield { ...token, ...range, ...said };
    }
  }
}

/** Whether the last window ended inside a word that continues at `at`. */
const splitsWord = (chunk: string, at: number): boolean => /^[\p{L}\p{M}\p{N}]{2}/u.test(chunk.slice(at - 1, at + 1));

function markParagraph(chunk: string, { from, to, markers, literal, table }: Paragraph): Uint8Array | undefined {
  const marks = literal
    ? new Uint8Array(to - from).fill(mark.literal)
    : (markMarkup(chunk.slice(from, to), table) ?? (markers.length > 0 ? new Uint8Array(to - from) : undefined));
  for (const marker of markers) marks!.fill(mark.silent, marker[0] - from, marker[1] - from);
  return marks;
}

/**
 * Number of tokens that later text cannot change: the tokens up to the strongest break in the second half of the
 * window. The remaining tokens are read again with the next window, so that the edge of a window has no effect.
 */
function certainTokens(tokens: readonly Token[]): number {
  const half = (tokens.at(-1)?.to ?? 0) / 2;
  let best = tokens.length > 1 ? tokens.length - 1 : 1;
  let bestBreak = -1;
  for (let i = tokens.length - 2; i >= 0 && tokens[i]!.to > half; i--) {
    const after = tokens[i]!.breakAfter;
    if (after > bestBreak && (after >= breakStrength.clause || bestBreak < 0)) {
      best = i + 1;
      bestBreak = after;
    }
  }
  return best;
}

/**
 * Merges a token without a word (a lone dash, a closing quote) into the previous token. At the start, merges it into
 * the next token.
 */
function* mergePunctuation(spoken: readonly SpokenToken[]): Generator<SpokenToken> {
  let held: SpokenToken | undefined;
  let lead = '';
  for (const token of spoken) {
    if (!/[\p{L}\p{N}]/u.test(token.say)) {
      if (held)
        held = { ...held, say: attach(held.say, token), breakAfter: Math.max(held.breakAfter, token.breakAfter) };
      else lead = attach(lead, token);
      continue;
    }
    if (held) yield held;
    held =
      lead === ''
        ? token
        : { ...token, say: `${lead}${token.glued || lead === '"' || lead === '(' ? '' : ' '}${token.say}` };
    lead = '';
  }
  if (held) yield held;
}

function attach(before: string, { say, glued }: SpokenToken): string {
  if (say === '' || (/[,;:.!?]$/.test(before) && /^[,;:.]/.test(say))) return before;
  return `${before}${glued || before === '' || /^[,;:.!?)"'…]/.test(say) ? '' : ' '}${say}`;
}

// From a caller's chunk to pieces of speech: paragraph by paragraph, as far as asked, markup and noise taken off, and
// where the engine wants it, spelled out in words. Every letter and digit that is not markup is in some piece.
// Another language is a file like english.ts and a line in `readers`.
import { markBreaths } from './breaths.ts';
import { cleanText } from './clean-text.ts';
import { readEnglish } from './english/english.ts';
import { mark, markMarkup } from './markup.ts';
import { type Paragraph, readParagraph } from './paragraphs.ts';
import { breath, type Piece } from './piece.ts';
import { readPlain } from './plain.ts';
import { type Token, toTokens } from './tokens.ts';

/** Who spells a language out: clean text and its tokens to pieces. */
type Reader = (text: string, tokens: readonly Token[], languageCode: string) => Piece[];

const readers: Readonly<Record<string, Reader>> = {
  en: readEnglish,
};

export interface SpeakableOptions {
  languageCode: string;
  /** Whether numbers, signs and abbreviations are to become words. */
  spellOut: boolean;
}

/** The pieces of `chunk` in order; `from` and `to` are indices into it. Lazy: looks one window ahead. */
export function* speakablePieces(chunk: string, { languageCode, spellOut }: SpeakableOptions): Generator<Piece> {
  const reader = spellOut ? readers[languageCode.toLowerCase().split('-', 1)[0]!] : undefined;
  const state = { fence: '', within: false };
  for (let at = 0; ; ) {
    const paragraph = readParagraph(chunk, at, state);
    if (!paragraph) return;
    const clean = cleanText(chunk, paragraph.from, paragraph.to, markParagraph(chunk, paragraph), reader !== undefined);
    const tokens = toTokens(clean.text, languageCode);
    markBreaths(clean.text, tokens, languageCode);
    let pieces = reader ? reader(clean.text, tokens, languageCode) : readPlain(clean.text, tokens);
    if (state.within && pieces[0] && splitsWord(chunk, at)) pieces[0].glued = true;
    at = paragraph.next;
    if (!paragraph.whole && tokens.length > 0) {
      tokens.at(-1)!.breath = pieces.at(-1)!.breath = breath.word;
      const edge = tokens[certainTokens(tokens)]?.from ?? clean.text.length;
      pieces = pieces.filter(({ from }) => from < edge);
      // Tokens that are said as one may reach over the edge.
      const again = tokens.find(({ from }) => from >= Math.max(edge, pieces.at(-1)!.to));
      if (again) at = clean.from[again.from]!;
    }
    state.within = !paragraph.whole;
    for (const piece of withLooseEnds(pieces)) {
      const say = piece.say.normalize('NFC');
      yield { ...piece, say, from: clean.from[piece.from]!, to: clean.to[piece.to - 1]! };
    }
  }
}

/** Whether a window ended within a word, which goes on at `at`. */
const splitsWord = (chunk: string, at: number): boolean => /^[\p{L}\p{M}\p{N}]{2}/u.test(chunk.slice(at - 1, at + 1));

function markParagraph(chunk: string, { from, to, markers, literal, table }: Paragraph): Uint8Array | undefined {
  const marks = literal
    ? new Uint8Array(to - from).fill(mark.literal)
    : (markMarkup(chunk.slice(from, to), table) ?? (markers.length > 0 ? new Uint8Array(to - from) : undefined));
  for (const marker of markers) marks!.fill(mark.silent, marker[0] - from, marker[1] - from);
  return marks;
}

/**
 * How many tokens of a part of a paragraph are certain: those before the last good breath in its second half. The rest
 * is read again with what follows, so that nothing is judged by the edge of a window.
 */
function certainTokens(tokens: readonly Token[]): number {
  const half = (tokens.at(-1)?.to ?? 0) / 2;
  let best = tokens.length > 1 ? tokens.length - 1 : 1;
  let bestBreath = -1;
  for (let i = tokens.length - 2; i >= 0 && tokens[i]!.to > half; i--) {
    const after = tokens[i]!.breath;
    if (after > bestBreath && (after >= breath.clause || bestBreath < 0)) {
      best = i + 1;
      bestBreath = after;
    }
  }
  return best;
}

/** A piece with nothing to say in it (a lone dash, a closing quote) colours the one before; at the start, the one after. */
function* withLooseEnds(pieces: readonly Piece[]): Generator<Piece> {
  let held: Piece | undefined;
  let lead = '';
  for (const piece of pieces) {
    if (!/[\p{L}\p{N}]/u.test(piece.say)) {
      if (held) held = { ...held, say: attach(held.say, piece), breath: Math.max(held.breath, piece.breath) };
      else lead = attach(lead, piece);
      continue;
    }
    if (held) yield held;
    held =
      lead === ''
        ? piece
        : { ...piece, say: `${lead}${piece.glued || lead === '"' || lead === '(' ? '' : ' '}${piece.say}` };
    lead = '';
  }
  if (held) yield held;
}

function attach(before: string, { say, glued }: Piece): string {
  if (say === '' || (/[,;:.!?]$/.test(before) && /^[,;:.]/.test(say))) return before;
  return `${before}${glued || before === '' || /^[,;:.!?)"'…]/.test(say) ? '' : ' '}${say}`;
}

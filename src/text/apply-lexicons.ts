// Applies lexicons to a marked text: a matched word becomes a piece with its pronunciation, as if the caller had
// written `sub` or `phoneme`. Addresses, text inside such markup, and Markdown and HTML syntax are not matched.
import type { Steps } from '../platform/runtime/steps.ts';
import { type Lexicon, matchLexicons } from './lexicon.ts';
import { addressPattern, mark, markMarkup } from './markdown.ts';
import { countSaid, type MarkedItem, type MarkedRun, type MarkedText, type Piece, piecesIn } from './marked-text.ts';
import { readParagraph } from './paragraphs.ts';

/** The lexicons of a run in order of precedence, and the language of the run. */
interface RunLexicons {
  lexicons: readonly Lexicon[];
  languageCode: string;
}

/** Returns the text with the lexicons applied, or the same object if no lexicon matches. */
export function* applyLexicons(text: MarkedText, lexiconsOf: (run: MarkedRun) => RunLexicons): Steps<MarkedText> {
  let changed = 0;
  const items: MarkedItem[] = [];
  for (const item of text.items) {
    const pieces = item.kind === 'pause' ? undefined : yield* applyTo(item, lexiconsOf(item));
    if (item.kind === 'pause' || !pieces) {
      items.push(item);
      continue;
    }
    const chars = countSaid(pieces, item.isLiteral);
    changed += chars - item.chars;
    items.push({ ...item, pieces, chars });
  }
  const isSame = items.every((item, i) => item === text.items[i]);
  return isSame ? text : { ...text, items, chars: text.chars + changed };
}

/** Returns the pieces of a run with the lexicons applied; undefined if no lexicon matches. */
function* applyTo(
  { pieces, isLiteral }: MarkedRun,
  { lexicons, languageCode }: RunLexicons,
): Steps<Piece[] | undefined> {
  if (lexicons.length === 0) return undefined;
  const applied: Piece[] = [];
  let found = 0;
  for (const group of groupsOf(pieces)) {
    const written = group.map(({ text }) => text).join('');
    const { compared, at } = toCompared(written, isLiteral);
    let end = 0;
    const matches = group[0]!.said || compared.trim() === '' ? [] : matchLexicons(lexicons, compared, languageCode);
    for (const match of matches) {
      yield;
      if (!match) continue;
      const { from, to, said } = match;
      const [start, stop] = [at(from), at(to - 1) + 1];
      applied.push(...piecesIn(group, end, start));
      const within = piecesIn(group, start, stop);
      const [first, last] = [within[0]!, within.at(-1)!];
      applied.push({ ...first, text: written.slice(start, stop), from: first.from, to: last.to, said });
      end = stop;
      found++;
    }
    applied.push(...(end === 0 ? group : piecesIn(group, end, written.length)));
  }
  return found > 0 ? applied : undefined;
}

/** Groups consecutive pieces that a single word may span. */
function groupsOf(pieces: readonly Piece[]): Piece[][] {
  const groups: Piece[][] = [];
  for (const piece of pieces) {
    const last = groups.at(-1)?.at(-1);
    const goesOn = last && isPlain(last) && isPlain(piece) && last.emphasis === piece.emphasis;
    if (goesOn) groups.at(-1)!.push(piece);
    else groups.push([piece]);
  }
  return groups;
}

const isPlain = ({ said, mark: name }: Piece): boolean => said === undefined && name === undefined;

/** A character that is not part of any word. */
const nothing = '\0';

interface Compared {
  compared: string;
  /**
   * Converts an index in the compared text to an index in the written text. Indices must not decrease between calls.
   */
  at(index: number): number;
}

/** Prepares a text for comparison with lexicons: collapses white space and masks unspoken text. */
function toCompared(written: string, isLiteral: boolean): Compared {
  const spoken = isLiteral ? written : withoutSilent(written);
  const text = spoken.replace(addressPattern, (address) => nothing.repeat(address.length));
  /** Positions in the compared text where white space was collapsed, and the number of units removed so far. */
  const gaps: { after: number; units: number }[] = [];
  let units = 0;
  const compared = text.replace(/\s{2,}/g, (space, index: number) => {
    const after = index - units;
    units += space.length - 1;
    gaps.push({ after, units });
    return ' ';
  });
  let passed = 0;
  return {
    compared,
    at(index) {
      while (passed < gaps.length && gaps[passed]!.after < index) passed++;
      return index + (passed > 0 ? gaps[passed - 1]!.units : 0);
    },
  };
}

/** Masks Markdown and HTML syntax without changing indices. */
function withoutSilent(text: string): string {
  if (!/[\\`<[\]*_~|]/.test(text)) return text;
  const state = { fence: '', within: false };
  let spoken = '';
  for (let at = 0; ; ) {
    const paragraph = readParagraph(text, at, state);
    if (!paragraph) return spoken + nothing.repeat(text.length - spoken.length);
    const { from, to, literal, table } = paragraph;
    const raw = text.slice(from, to);
    const marks = literal ? undefined : markMarkup(raw, table);
    spoken += nothing.repeat(from - spoken.length);
    spoken += marks ? raw.replace(/./gs, (unit, i: number) => (isKept(marks[i]!) ? unit : nothing)) : raw;
    state.within = !paragraph.whole;
    at = paragraph.next;
  }
}

const isKept = (kind: number): boolean => kind === mark.keep || kind === mark.literal;

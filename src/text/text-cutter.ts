// Lays out marked texts, and cuts them for their engines, lazily and in order. Neighbouring runs that are spoken in the
// same way are joined, and each joined run is cut separately. A pause belongs to the cut that follows it, or to an empty
// cut at the end of the text. The last cut of a text may have no words. The steps of the work yield `undefined` wherever
// other work may run.
import { countChars, createOffsets, type OffsetOf } from '../platform/count-chars.ts';
import { type FlatText, flatten, type Resolve } from './flat-text.ts';
import type { Emphasis, MarkedItem, MarkedRun, MarkedText, RunStyle, Said } from './marked-text.ts';
import { sayText } from './normalize-text.ts';
import type { ReadingState } from './paragraphs.ts';
import { sayAs } from './say-as.ts';
import { type Break, type Cut, type SegmentOptions, segmentSteps } from './segment.ts';

/** How a run is spoken, as far as its text depends on it. */
export interface Diction {
  languageCode: string;
  /** Whether numbers, signs and abbreviations are spelled out for the engine. */
  spellOut: boolean;
  capabilities: {
    segmentCharsMax: number;
    firstSegmentCharsMax?: number | undefined;
    readsNumbers: boolean;
    timings: boolean;
  };
  /** Converts IPA to phonemes of the engine; undefined if the engine cannot speak them. */
  toPhonemes(ipa: string): string | undefined;
}

/** A run that is ready to be cut. */
interface LaidRun<M extends Diction> {
  run: MarkedRun;
  rendering: M;
  /** Flattened text; undefined if the run is a complete text that is spoken as written. */
  flat: FlatText | undefined;
}

type LaidItem<M extends Diction> = LaidRun<M> | { pauseMs: number };

/** Longest text that is spoken from phonemes. A longer text is spoken plainly, because it may have to be divided. */
const phonemeTextCharsMax = 30;

/**
 * Returns a function that lays out the items of a text. `renderingOf` returns the same object for styles that are spoken
 * in the same way. `ignore` is called with the name of markup that has no effect.
 */
function createLayout<M extends Diction>(renderingOf: (style: RunStyle) => M, ignore: (what: string) => void) {
  const aliases = new Map<Diction, Map<Said, Replaced>>();
  /** Caches the replacements for aliases, because a lexicon may apply an alias many times. */
  const replacementOf = (said: Said, written: string, diction: Diction): Replaced => {
    if (said.kind !== 'alias') return toReplacement(said, written, diction, ignore);
    const known = aliases.get(diction) ?? new Map<Said, Replaced>();
    aliases.set(diction, known);
    if (!known.has(said)) known.set(said, toReplacement(said, written, diction, ignore));
    return known.get(said);
  };
  return (text: MarkedText): LaidItem<M>[] => {
    for (const what of text.ignored) ignore(what);
    let offsets: OffsetOf | undefined;
    return joinRuns(text.items, renderingOf).map((item): LaidItem<M> => {
      if (item.kind === 'pause') return { pauseMs: item.ms };
      const rendering = renderingOf(item.style);
      if (isWhole(item, text.source)) return { run: item, rendering, flat: undefined };
      offsets ??= createOffsets(text.source);
      const flat = flatten(item, offsets, (said, written) => replacementOf(said, written, rendering));
      if (flat.emphasized.length > 0 && !rendering.capabilities.timings) ignore('emphasis');
      return { run: item, rendering, flat };
    });
  };
}

/**
 * Joins neighbouring runs that are spoken in the same way, unless a sentence ends between them, so that markup without
 * effect does not divide sentences.
 */
function joinRuns(items: readonly MarkedItem[], renderingOf: (style: RunStyle) => Diction): MarkedItem[] {
  const groups: [MarkedItem, ...MarkedRun[]][] = [];
  for (const item of items) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    const mayGoOn = last?.kind === 'run' && item.kind === 'run' && last.breakAfter === undefined;
    if (mayGoOn && renderingOf(last.style) === renderingOf(item.style)) group!.push(item);
    else groups.push([item]);
  }
  return groups.map(([first, ...others]) => {
    if (first.kind === 'pause' || others.length === 0) return first;
    const runs = [first, ...others];
    const pieces = runs.flatMap((run) => run.pieces);
    const chars = runs.reduce((sum, run) => sum + run.chars, 0);
    return { ...first, pieces, chars, breakAfter: others.at(-1)!.breakAfter };
  });
}

/** Whether the run is a complete text that is spoken as written. */
function isWhole({ pieces: [first, ...others], isLiteral }: MarkedRun, source: string): boolean {
  return !isLiteral && !first!.said && others.length === 0 && first!.from === 0 && first!.to === source.length;
}

type Replaced = ReturnType<Resolve>;

function toReplacement(said: Said, written: string, diction: Diction, ignore: (what: string) => void): Replaced {
  const { languageCode, capabilities, spellOut, toPhonemes } = diction;
  const options = { languageCode, spellOut };
  if (said.kind === 'alias') return { say: sayText(said.text, options) };
  if (said.kind === 'say-as') {
    const say = sayAs(said, written, { languageCode, readsNumbers: capabilities.readsNumbers });
    if (say === undefined) ignore('say-as');
    return say === undefined ? undefined : { say };
  }
  const say = sayText(written, options)
    .replace(/[\s,]+/g, ' ')
    .trim();
  const isShort = say !== '' && say.length <= phonemeTextCharsMax;
  const phonemes = isShort ? toPhonemes(said.ipa) : undefined;
  if (phonemes === undefined) ignore('phoneme');
  return phonemes === undefined ? undefined : { say, phonemes };
}

/** A cut with its rendering and its position. */
export interface TextCut<M extends Diction> {
  chunkIndex: number;
  /** The chunk as it was sent. */
  chunk: string;
  /** The cut; undefined if nothing is spoken. */
  cut: Cut | undefined;
  rendering: M | undefined;
  breakBefore: Break | undefined;
  /** Length of the silence that the markup requests before and after the cut; 0 if none. */
  pauseBeforeMs: number;
  pauseAfterMs: number;
  marks: readonly CutMark[];
  emphasized: readonly EmphasizedText[];
  /** Number of code points of the chunk, including markup, up to the end of this cut. */
  chunkCharsBegun: number;
  /** Number of spoken code points of the chunk: up to the end of this cut, and in total. */
  charsBegun: number;
  chunkChars: number;
  endsChunk: boolean;
  endsRequest: boolean;
}

interface CutMark {
  name: string;
  /** Index of the span that follows the mark; undefined for the end of the cut. */
  before: number | undefined;
}

interface TextCutterOptions {
  /** The reading state, if each text continues the previous text. */
  state?: ReadingState;
  /** Whether the texts are already divided, as in live speech. */
  isDivided?: boolean;
}

/** Maximum length of the first segment, which is short so that audio begins soon. */
const firstCharsMax = 60;

/**
 * Opens the cutter of consecutive texts. Texts with the same voices share a function that lays out a text at once, and
 * returns its cuts. `renderingOf` and `ignore` are those of `createLayout`.
 */
export function openTextCutter({ state, isDivided: isPart }: TextCutterOptions = {}) {
  let chunkIndex = -1;
  let cutsBefore = 0;
  let breakBefore: Break | undefined;
  function* cutItems<M extends Diction>(
    text: MarkedText,
    items: Iterable<LaidItem<M>>,
    endsRequest: boolean,
  ): Generator<TextCut<M> | undefined, undefined> {
    chunkIndex++;
    const at = { chunkIndex, chunk: text.source, chunkChars: text.chars, endsChunk: false, endsRequest: false };
    const whole = countChars(text.source);
    const nothing = {
      cut: undefined,
      rendering: undefined,
      marks: [],
      emphasized: [],
      charsBegun: text.chars,
      chunkCharsBegun: whole,
    };
    let held: TextCut<M> | undefined;
    let pauseMs = 0;
    let charsBefore = 0;
    const next = (cut: Omit<TextCut<M>, keyof typeof at | 'breakBefore' | 'pauseBeforeMs' | 'pauseAfterMs'>) => {
      const before = held;
      breakBefore = before?.cut?.breakAfter ?? breakBefore;
      held = { ...at, ...cut, breakBefore, pauseBeforeMs: pauseMs, pauseAfterMs: 0 };
      pauseMs = 0;
      return before;
    };
    for (const item of items) {
      if ('pauseMs' in item) {
        pauseMs += item.pauseMs;
        if (held) held.pauseAfterMs = pauseMs;
        continue;
      }
      for (const cut of cutRun(item, { cutsBefore, state, isPart })) {
        if (!cut) {
          yield undefined;
          continue;
        }
        if (cut.cut) cutsBefore++;
        const chars = { charsBegun: charsBefore + cut.charsBegun, chunkCharsBegun: cut.chunkCharsBegun };
        const before = next({ ...cut, ...chars, rendering: item.rendering });
        if (before) yield before;
      }
      charsBefore += item.run.chars;
    }
    if (!held || pauseMs > 0) {
      const before = next(nothing);
      if (before) yield before;
    }
    const last = { ...held!, charsBegun: text.chars, chunkCharsBegun: whole, endsChunk: true, endsRequest };
    yield last;
    breakBefore = last.cut?.breakAfter ?? breakBefore;
  }
  return <M extends Diction>(renderingOf: (style: RunStyle) => M, ignore: (what: string) => void) => {
    const layOut = createLayout(renderingOf, ignore);
    return (text: MarkedText, endsRequest: boolean) => cutItems(text, layOut(text), endsRequest);
  };
}

interface RunCut {
  cut: Cut | undefined;
  marks: readonly CutMark[];
  emphasized: readonly EmphasizedText[];
  charsBegun: number;
  chunkCharsBegun: number;
}

type RunPlace = Required<Pick<SegmentOptions, 'cutsBefore' | 'isPart' | 'state'>>;

/** The cuts of a run; one cut without words if the run has only marks. */
function* cutRun(item: LaidRun<Diction>, so: RunPlace): Generator<RunCut | undefined> {
  const { run, flat } = item;
  const text = flat?.text ?? run.pieces[0]!.text;
  const marks = [...(flat?.marks ?? [])];
  let held: Cut | undefined;
  for (const cut of segmentSteps(text, segmentOptions(item, so))) {
    if (!cut) {
      yield undefined;
      continue;
    }
    if (held) yield toRunCut(held, takeMarks(marks, held), item);
    held = cut;
  }
  const last = held && { ...held, breakAfter: run.breakAfter ?? held.breakAfter };
  if (last || marks.length > 0) {
    const own = last ? takeMarks(marks, last) : [];
    const atEnd = marks.map(({ name }) => ({ name, before: undefined }));
    yield { ...toRunCut(last, [...own, ...atEnd], item), charsBegun: run.chars };
  }
}

function segmentOptions(
  { run, flat, rendering }: LaidRun<Diction>,
  { cutsBefore, state, isPart }: RunPlace,
): SegmentOptions {
  const { segmentCharsMax, firstSegmentCharsMax = firstCharsMax } = rendering.capabilities;
  const { isLiteral } = run;
  return {
    languageCode: rendering.languageCode,
    spellOut: rendering.spellOut,
    segmentCharsMax,
    firstCharsMax: firstSegmentCharsMax,
    cutsBefore,
    isLiteral,
    isPart,
    state: isLiteral ? undefined : state,
    source: flat?.source,
    replacements: flat?.replacements,
  };
}

/** Removes and returns the marks that precede a word of the cut. */
function takeMarks(marks: { name: string; offset: number }[], { spans }: Cut): CutMark[] {
  const taken: CutMark[] = [];
  while (marks.length > 0) {
    const { name, offset } = marks[0]!;
    const before = spans.findIndex((span) => span.offset >= offset);
    if (before < 0) break;
    taken.push({ name, before });
    marks.shift();
  }
  return taken;
}

function toRunCut(cut: Cut | undefined, marks: readonly CutMark[], { run, flat }: LaidRun<Diction>): RunCut {
  const last = cut?.spans.at(-1);
  const chunkCharsBegun = last ? last.offset + last.length : 0;
  // The share of the source up to this cut gives an estimate of the spoken characters if the run has markup.
  const [from, to] = [run.pieces[0]!.from, run.pieces.at(-1)!.to];
  const share = flat && to > from ? Math.min(Math.max((chunkCharsBegun - from) / (to - from), 0), 1) : 1;
  const emphasized = cut && flat ? emphasizedIn(cut, flat) : [];
  return {
    cut,
    marks,
    emphasized,
    chunkCharsBegun,
    charsBegun: flat ? Math.round(share * run.chars) : chunkCharsBegun,
  };
}

const emphasizedIn = ({ spans }: Cut, { emphasized }: FlatText): EmphasizedText[] =>
  spans.flatMap(({ from, to, offset, length }) => {
    const found = emphasized.find((each) => offset < each.to && offset + length > each.from);
    return found ? [{ level: found.level, from, to }] : [];
  });

/** A range of a segment's text, in UTF-16 indices. */
interface EmphasizedText {
  level: Emphasis;
  from: number;
  to: number;
}

// Cuts the texts of a request for their engines, lazily and in order. Each run is cut separately. A pause belongs to
// the cut that follows it, or to an empty cut at the end of the text. The last cut of a text may have no words. The
// steps of the work yield `undefined` wherever other work may run.

import { fromDb } from '../audio.ts';
import type { WordTime } from '../engines.ts';
import { countChars } from '../platform/count-chars.ts';
import { ownTurn } from '../platform/runtime/steps.ts';
import {
  type Break,
  type Cut,
  type Emphasis,
  type FlatText,
  type MarkedText,
  type ReadingState,
  type SegmentOptions,
  segmentSteps,
} from '../text.ts';
import type { CutSource } from './prefetch.ts';
import type { RenderedItem, RenderedRun, Rendering } from './rendering.ts';

/** A cut with its rendering and its position. */
export interface PlannedCut {
  chunkIndex: number;
  /** The chunk as it was sent. */
  chunk: string;
  /** The cut; undefined if nothing is spoken. */
  cut: Cut | undefined;
  rendering: Rendering | undefined;
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

export function createTextCutter({ state, isDivided: isPart }: TextCutterOptions = {}) {
  let chunkIndex = -1;
  let cutsBefore = 0;
  let breakBefore: Break | undefined;
  return function* cutText(text: MarkedText, items: Iterable<RenderedItem>, endsRequest: boolean): CutSteps {
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
    let held: PlannedCut | undefined;
    let pauseMs = 0;
    let charsBefore = 0;
    const next = (cut: Omit<PlannedCut, keyof typeof at | 'breakBefore' | 'pauseBeforeMs' | 'pauseAfterMs'>) => {
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
  };
}

/** A cut that takes longer is read in steps. Usual cuts take less than a millisecond. */
const cutMsMax = 10;

export type CutSteps = Generator<PlannedCut | undefined, undefined>;

/**
 * Returns the cuts, and whether any cut has words. Usually only the first cut is read ahead. A cut that takes long is
 * read in steps.
 */
export async function peekSpoken(steps: CutSteps): Promise<{ cuts: CutSource<PlannedCut>; isSpoken: boolean }> {
  const seen: PlannedCut[] = [];
  const read = (): ReturnType<CutSource<PlannedCut>['next']> => {
    const sinceMs = performance.now();
    do {
      const { done, value } = steps.next();
      if (done) return { done, value };
      if (value) return { value };
    } while (performance.now() - sinceMs < cutMsMax);
    return ownTurn().then(read);
  };
  for (let next = await read(); !next.done; next = await read()) {
    seen.push(next.value);
    if (next.value.cut) break;
    await ownTurn();
  }
  const isSpoken = seen.at(-1)?.cut !== undefined;
  const next = () => (seen.length > 0 ? { value: seen.shift()! } : read());
  return { cuts: { next, return: () => steps.return(undefined) }, isSpoken };
}

/** Yields all cuts of a source. */
export async function* cutsOf(cuts: CutSource<PlannedCut>): AsyncGenerator<PlannedCut, undefined> {
  for (let next = await cuts.next(); !next.done; next = await cuts.next()) yield next.value;
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
function* cutRun(item: RenderedRun, so: RunPlace): Generator<RunCut | undefined> {
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
  { run, flat, rendering }: RenderedRun,
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

function toRunCut(cut: Cut | undefined, marks: readonly CutMark[], { run, flat }: RenderedRun): RunCut {
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

const gainsDb: Readonly<Record<Emphasis, number>> = { strong: 5, moderate: 3, reduced: -4 };
/** Duration of a change of level. An abrupt change would be audible as a click. */
const rampSeconds = 0.015;

/** A range of samples with a gain. */
interface Window {
  from: number;
  to: number;
  factor: number;
}

export class EmphasisEnvelope {
  readonly #stretches: readonly EmphasizedText[];
  readonly #rateHz: number;
  readonly #windows: Window[] = [];

  constructor(stretches: readonly EmphasizedText[], sampleRateHz: number) {
    this.#stretches = stretches;
    this.#rateHz = sampleRateHz;
  }

  /** Adds the times of the next words, in order. */
  note(words: readonly WordTime[]): void {
    for (const { from, to, startSeconds, endSeconds } of words) {
      const stretch = this.#stretches.find((each) => from < each.to && to > each.from);
      if (!stretch) continue;
      const factor = fromDb(gainsDb[stretch.level]);
      const window = { from: startSeconds * this.#rateHz, to: endSeconds * this.#rateHz, factor };
      const last = this.#windows.at(-1);
      // The level stays constant between two words of one range.
      if (last && last.factor === factor && window.from - last.to < this.#rateHz * 0.1) last.to = window.to;
      else this.#windows.push(window);
    }
  }

  /** Returns the gain of each of `length` samples from sample `at` on; undefined if all gains are 1. */
  factorsFor(at: number, length: number): Float32Array | undefined {
    const ramp = rampSeconds * this.#rateHz;
    const heard = this.#windows.filter(({ from, to }) => from - ramp < at + length && to + ramp > at);
    if (heard.length === 0) return undefined;
    const factors = new Float32Array(length).fill(1);
    for (const { from, to, factor } of heard) {
      for (let i = Math.max(0, Math.floor(from - ramp - at)); i < Math.min(length, to + ramp - at); i++) {
        const depth = Math.min(1, (at + i - from + ramp) / ramp, (to + ramp - at - i) / ramp);
        if (depth > 0) factors[i] = 1 + (factor - 1) * depth;
      }
    }
    return factors;
  }
}

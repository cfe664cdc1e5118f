// Generates texts on which a regular expression may backtrack most: the characters and literals of each of its
// repetitions, repeated, after a start that leads to the repetition, and before an end that does not match.
import { type Node, parseExpression } from './syntax.ts';

/** Characters that represent a class: some of each kind, because neighbouring classes often overlap in one kind. */
const kinds = [
  'aeshwxyz',
  'AITDXZ',
  '10579',
  ' ',
  '\n\t',
  '.,:;!?',
  '-_/\\\'"`',
  '()[]{}<>=&#@*+~|^$%§€²½',
  'éäßꜣ',
  '漢かカก。、：',
  '\u0301\u200d\ufe0f',
  '😀\ud800',
  '\u0001\u00a0',
].map((chars) => [...chars]);

const memberOf = new WeakMap<Node, readonly string[]>();

/** One character of each kind that the class has. */
function membersOf(node: Node & { kind: 'set' }): readonly string[] {
  let members = memberOf.get(node);
  if (!members) {
    members = kinds.flatMap((chars) => chars.find((char) => node.isChar(char)) ?? []);
    if (members.length === 0) {
      const code = Array.from({ length: 0x3000 }, (_, i) => String.fromCodePoint(i)).find((char) => node.isChar(char));
      members = code === undefined ? [] : [code];
    }
    memberOf.set(node, members);
  }
  return members;
}

/** A short text that the node matches, without regard to look-arounds. `pick` selects among alternatives. */
function sampleOf(node: Node, pick: number, isFull = false): string {
  switch (node.kind) {
    case 'set': {
      const members = membersOf(node);
      return members[pick % members.length] ?? '';
    }
    case 'sequence':
      return node.items.map((item) => sampleOf(item, pick, isFull)).join('');
    case 'choice':
      return sampleOf(node.items[pick % node.items.length]!, pick, isFull);
    case 'group':
      return sampleOf(node.item, pick, isFull);
    case 'repeat':
      return sampleOf(node.item, pick, isFull).repeat(Math.min(Math.max(node.min, isFull ? 1 : 0), 40));
    default:
      return '';
  }
}

interface Place {
  repeat: Node & { kind: 'repeat' };
  /** What leads to the repetition. */
  before: readonly Node[];
}

function* placesIn(node: Node, before: readonly Node[] = []): Generator<Place> {
  if (node.kind === 'repeat') yield { repeat: node, before };
  if (node.kind === 'sequence') {
    for (const [i, item] of node.items.entries()) yield* placesIn(item, [...before, ...node.items.slice(0, i)]);
  } else if (node.kind === 'choice') for (const item of node.items) yield* placesIn(item, before);
  else if ('item' in node) yield* placesIn(node.item, before);
}

function* setsIn(node: Node): Generator<Node & { kind: 'set' }> {
  if (node.kind === 'set') yield node;
  else if ('items' in node) for (const item of node.items) yield* setsIn(item);
  else if ('item' in node) yield* setsIn(node.item);
}

const picks = [0, 1, 2];
const unitsMax = 30;

/** A text of any length. */
export interface WorstText {
  start: string;
  unit: string;
  end: string;
}

export const write = ({ start, unit, end }: WorstText, length: number): string =>
  start + unit.repeat(Math.ceil(length / unit.length)) + end;

export function worstTextsFor(expression: Pick<RegExp, 'source' | 'flags'>): WorstText[] {
  const tree = parseExpression(expression);
  const texts = new Map<string, WorstText>();
  const add = (start: string, unit: string) => {
    if (unit === '') return;
    for (const end of ['', '\u0001']) texts.set(JSON.stringify([start, unit, end]), { start, unit, end });
  };
  const members = new Set([...setsIn(tree)].flatMap(membersOf));
  for (const member of [...members].slice(0, unitsMax)) add('', member);
  for (const pick of picks) for (const isFull of [false, true]) add('', sampleOf(tree, pick, isFull));
  const places = [...placesIn(tree)].filter(({ repeat }) => repeat.max > 3);
  for (const { repeat, before } of places) {
    const units = new Set(picks.flatMap((pick) => [sampleOf(repeat.item, pick), sampleOf(repeat.item, pick, true)]));
    for (const set of [...setsIn(repeat)].slice(0, 8)) for (const member of membersOf(set)) units.add(member);
    for (const isFull of [false, true]) {
      const start = before.map((item) => sampleOf(item, 0, isFull)).join('');
      for (const unit of units) {
        add(start, unit);
        if (start !== '') add('', start + unit);
      }
      if (start !== '') add('', start);
    }
  }
  return [...texts.values()];
}

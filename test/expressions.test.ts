// Tests that no regular expression of the service takes more than linear work on any text. The work is counted in steps
// of a backtracking matcher (step-counter.ts), so that the result does not depend on the machine.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'vite';
import { expect, test } from 'vitest';
import { folders } from '../src/text/language-table.ts';
import { windowCharsMax } from '../src/text/paragraphs.ts';
import { StepCounter } from './expressions/step-counter.ts';
import { type Node, parseExpression } from './expressions/syntax.ts';

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
interface WorstText {
  start: string;
  unit: string;
  end: string;
}

const write = ({ start, unit, end }: WorstText, length: number): string =>
  start + unit.repeat(Math.ceil(length / unit.length)) + end;

function worstTextsFor(expression: Pick<RegExp, 'source' | 'flags'>): WorstText[] {
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

const root = join(import.meta.dirname, '..');

interface Expression {
  source: string;
  flags: string;
  /** The file that has the literal or makes the expression. */
  file: string;
}

interface Expressions {
  expressions: Expression[];
  /** Files that make expressions at run time, but made none here. */
  silent: string[];
}

async function collectExpressions(): Promise<Expressions> {
  const found = new Map<string, Expression>();
  const add = (expression: Expression) => {
    const key = `/${expression.source}/${expression.flags}`;
    if (!found.has(key)) found.set(key, expression);
  };
  const makers = new Set<string>();
  for (const file of globSync('src/**/*.{ts,js}', { cwd: root, exclude: ['**/*.d.ts'] })) {
    const { program } = parseSync(file, readFileSync(join(root, file), 'utf8'));
    new Visitor({
      Literal(node) {
        if ('regex' in node && node.regex) add({ source: node.regex.pattern, flags: node.regex.flags, file });
      },
      NewExpression({ callee }) {
        if (callee.type === 'Identifier' && callee.name === 'RegExp') makers.add(file);
      },
    }).visit(program);
  }
  for (const file of globSync('proto/**/*.proto', { cwd: root })) {
    for (const [, , source] of readFileSync(join(root, file), 'utf8').matchAll(/pattern(?::| =)\s*(['"])(.*?)\1/g))
      add({ source: source!.replaceAll('\\\\', '\\'), flags: 'u', file: 'src/contract/rules.ts' });
  }
  const active = new Set<string>();
  const made = await recordExpressions(async () => {
    for (const file of makers) if (file.endsWith('.ts')) await import(join(root, file));
    const { segmentText } = await import('../src/text/segment.ts');
    for (const languageCode of Object.keys(folders)) {
      const table = readFileSync(join(root, `test/text/${languageCode}.tsv`), 'utf8').replace(/^\w+\t|\t.*/gm, '');
      for (const _ of segmentText(table, { languageCode, spellOut: true, segmentCharsMax: 1000 }));
    }
  });
  for (const expression of made) {
    add(expression);
    for (const file of makers) if (expression.file.includes(file)) active.add(file);
  }
  return { expressions: [...found.values()], silent: [...makers].filter((file) => !active.has(file)) };
}

async function recordExpressions(run: () => Promise<void>): Promise<Expression[]> {
  const made: Expression[] = [];
  const Original = RegExp;
  globalThis.RegExp = new Proxy(Original, {
    construct(target, given, newTarget) {
      const expression = Reflect.construct(target, given, newTarget) as RegExp;
      // The first frame is this function, and the second one makes the expression, unless it is of a package.
      const frames = (new Error().stack ?? '').split('\n    at ').slice(2);
      const makers = frames.flatMap((frame) => /\/(src\/[\w/.-]+\.ts):/.exec(frame)?.[1] ?? []);
      if (makers.length > 0 && !frames[0]!.includes('node_modules'))
        made.push({ source: expression.source, flags: expression.flags, file: makers.join(' ') });
      return expression;
    },
  });
  try {
    await run();
  } finally {
    globalThis.RegExp = Original;
  }
  return made;
}

/** Largest factor by which the work may grow if the text doubles. */
const growthMax = 3;
/** Largest number of steps per character. A rule for all units of a language, for example, takes hundreds. */
const stepsPerCharMax = 4_000;
/** A text that takes fewer steps per character is not a worst case, whatever its growth. */
const stepsPerCharMin = 40;
const charsMax = 100_000;
const firstChars = 100;

/**
 * Expressions that take more work on long texts, but whose callers limit the text, with the limit in characters. Each
 * is named by a part of its source.
 */
const bounded: Readonly<Record<string, number>> = {
  // The end of clean text, the words beside a place, and names in requests.
  [String.raw`[\p{P}\n]\s*$`]: 2,
  [String.raw`[\p{L}\p{M}\d.']*[\p{L}\p{M}\d](?=`]: 40,
  [String.raw`^(?:(?:\p{L}*\p{Ll}\p{Lu}\p{L}*|`]: 40,
  [String.raw`^\P{Cc}*[^\p{Z}\p{Cc}]\P{Cc}*$`]: 200,
  // Feet and inches look back for an opening quote, at most to the start of the window of a paragraph.
  [String.raw`(?:′|'(?<!'[^]*'))`]: windowCharsMax,
};

/** Sticky expressions that are tried from the start of a text to the first place where they do not match. */
const tried: Readonly<Record<string, true>> = {
  [String.raw`\s+|\ufeff|<\?.*?\?>`]: true,
  [String.raw`(?:<![^>]*>\s*)*<(\w+:)?speak`]: true,
};

/** Expressions that only meet text of the operator, of the user's own page, or of the service itself. */
const trusted: Readonly<Record<string, string>> = {
  [String.raw`\[([^\]]*)\]|\{(\w+)`]: 'the table of a language',
  [String.raw`→→→|`]: 'the number rules of ICU',
  '-----BEGIN CERTIFICATE-----': 'a file of the operator',
  [String.raw`^\s*([^\s=]+)\s*=\s*([\x20-\x7e]*?)\s*$`]: 'a setting',
  [String.raw`^\s*AddModule`]: 'a file of the user',
  [String.raw`^\s*(\d{1,5})?\s*(-)?`]: 'the command line',
  [String.raw`<speak(?:"[^"]*"|'[^']*'|[^>"'])*>`]: 'the text that the user writes in the page',
  [String.raw`<break\b[^>]*`]: 'the text that the user writes in the page',
  [String.raw`<!--[\s\S]*?-->|<(\/?)([\w:-]+)`]: 'the text that the user writes in the page',
};

/** The same, for expressions whose source is a part of others. */
const trustedWhole: Readonly<Record<string, string>> = {
  [String.raw`^\d*\.?\d+$`]: 'the command line',
  [String.raw`(\w+)\{([^}]*)\}`]: 'the number rules of ICU',
  '<[^>]*>': 'the text that the user writes in the page',
  '>+$': 'the number rules of ICU',
  [String.raw`\w+$`]: 'the name of a file in the page',
  [String.raw`\d+$`]: 'the address in a setting',
};

/** Files whose expressions are made of ids and names in the code, or of patterns in the protos, which are tested. */
const named = ['src/transports/http/http-app.ts', 'src/library/books/plain-book.ts', 'src/contract/rules.ts'];

const { expressions, silent } = await collectExpressions();

interface Fault {
  expression: string;
  text: string;
  chars: number;
  steps: number;
  growth: number;
}

/** The first text on which the expression takes too much work; undefined if there is none. */
function findFault(expression: Expression, limit = Infinity): Fault | undefined {
  const counter = new StepCounter(expression);
  const isOnce = entryOf(tried, expression) ?? false;
  const count = (text: WorstText, chars: number) =>
    counter.count(write(text, chars), stepsPerCharMax * chars + 10_000, isOnce);
  const faultAt = (text: WorstText, chars: number, before: number): Fault | number => {
    const steps = count(text, chars);
    const growth = steps / before;
    const isFast = growth > growthMax && steps > stepsPerCharMin * chars && limit === Infinity;
    if (!isFast && steps <= stepsPerCharMax * chars) return steps;
    return {
      expression: `${expression.file} /${expression.source}/${expression.flags}`,
      text: write(text, 20),
      chars,
      steps,
      growth,
    };
  };
  const scored: { text: WorstText; steps: number; growth: number }[] = [];
  for (const text of worstTextsFor(expression)) {
    const first = count(text, firstChars);
    const steps = faultAt(text, 2 * firstChars, Math.max(first, 1) * 2);
    if (typeof steps !== 'number') return steps;
    scored.push({ text, steps, growth: steps / first });
  }
  const worst = [
    ...scored.toSorted((a, b) => b.growth - a.growth).slice(0, 3),
    ...scored.toSorted((a, b) => b.steps - a.steps).slice(0, 2),
  ];
  for (const [i, { text, steps }] of worst.entries()) {
    let before = steps;
    for (let chars = 4 * firstChars; chars <= Math.min(limit, i === 0 ? charsMax : 16 * firstChars); chars *= 2) {
      const next = faultAt(text, chars, before);
      if (typeof next !== 'number') return next;
      before = next;
    }
  }
  return undefined;
}

const entryOf = <T>(table: Readonly<Record<string, T>>, { source }: Expression): T | undefined =>
  Object.entries(table).find(([part]) => source.includes(part))?.[1];

test('all expressions are found: literals, and those that the tables of all languages make', () => {
  expect(expressions.length).toBeGreaterThan(1_000);
  expect(silent.filter((file) => !named.includes(file))).toEqual([]);
});

test('the step counter finds planted expressions that take exponential or quadratic work', () => {
  const planted = [
    /(a+)+$/,
    /^(?:a|a)*$/,
    /\s+$/,
    /(\d+)-(\d+)x/,
    /a+b/,
    /<!--[\s\S]*?-->/g,
    /^(?:x|\s*\n\s*)+$/,
    /^(?:\+\d{1,4}(?:[ -]?\d{1,12}){1,6})(?!\d)/,
  ];
  const missed = planted.filter((pattern) => !findFault({ source: pattern.source, flags: pattern.flags, file: '' }));
  expect(missed).toEqual([]);
  const linear = [/^\s+/, /(?<!\s)\s+$/, /^[\w.]+@[\w.]+$/, /\d{1,20}(?:\.\d{1,20})?/];
  expect(linear.filter((pattern) => findFault({ source: pattern.source, flags: pattern.flags, file: '' }))).toEqual([]);
});

test('no expression takes more than linear work, or else its text is short', { timeout: 900_000 }, () => {
  const faults = expressions
    .filter((expression) => entryOf(trusted, expression) === undefined && !(expression.source in trustedWhole))
    .flatMap((expression) => findFault(expression, entryOf(bounded, expression)) ?? []);
  expect(faults).toEqual([]);
});

test('each exception names an expression', () => {
  const parts = [bounded, tried, trusted, trustedWhole].flatMap(Object.keys);
  expect(parts.filter((part) => !expressions.some(({ source }) => source.includes(part)))).toEqual([]);
});

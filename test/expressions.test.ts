// Tests that no regular expression of the service takes more than linear work on any text. The work is counted in steps
// of a backtracking matcher (step-counter.ts), so that the result does not depend on the machine.
import { expect, test } from 'vitest';
import { windowCharsMax } from '../src/text/paragraphs.ts';
import { collectExpressions, type Expression } from './expressions/collect-expressions.ts';
import { StepCounter } from './expressions/step-counter.ts';
import { type WorstText, worstTextsFor, write } from './expressions/worst-texts.ts';

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

test('all expressions are found: literals, and those that the tables of nine languages make', () => {
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

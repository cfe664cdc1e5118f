// Tests strict JSON: like JSON.parse, but input that two parsers may understand differently is refused.
import { expect, test } from 'vitest';
import { Failure } from '../../../src/platform/errors.ts';
import { parseStrictJson } from '../../../src/transports/net/strict-json.ts';

const parse = (text: string) => parseStrictJson(Buffer.from(text));
const refusalOf = (body: string | Uint8Array) => {
  try {
    parseStrictJson(Buffer.from(body as string));
  } catch (error) {
    return error as Failure;
  }
  throw new Error(`was taken: ${body}`);
};
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test.each([
  '{}',
  '[]',
  'null',
  '"a"',
  '-1.5e3',
  ' {"a":1,\t"b":[true,false,null,{"a":2}],\n"c":{"a":{"a":3}}} ',
  '{"":1,"__proto__":2,"constructor":3}',
  '{"a":":,{}[]\\"","b\\":":"\\\\","c":"\\\\\\""}',
  '{"a\\u0062":1,"b":2}',
  '{"text":"caf\u00e9 \\ud83d\\ude00 😀"}',
  nested(32),
])('%s is taken as it is', (text) => {
  expect(parse(text)).toEqual(JSON.parse(text));
});

test('a byte order mark is overlooked', () => {
  expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 });
});

test.each([
  ['', 'JSON'],
  ['{', 'JSON'],
  ['{"a":1,}', 'JSON'],
  ["{'a':1}", 'JSON'],
  ['{"a":NaN}', 'JSON'],
  ['{"a":1}{', 'JSON'],
  ['"a', 'JSON'],
  ['"a\\', 'JSON'],
  ['{"a":"\n"}', 'JSON'],
  ['{"a":1,"a":1}', 'duplicate key'],
  ['{"a":1,"\\u0061":2}', 'duplicate key'],
  ['[{"b":{"a":1,"c":2,"a":3}}]', 'duplicate key'],
  ['{"__proto__":1,"__proto__":2}', 'duplicate key'],
  [nested(33), 'levels deep'],
  ['{"a":'.repeat(40), 'levels deep'],
  [`[${'1,'.repeat(50_000)}1]`, 'too many'],
  [`{${Array.from({ length: 30_000 }, (_, i) => `"${i}":1`).join()}}`, 'too many'],
])('%# is refused', (text, why) => {
  const failure = refusalOf(text);
  expect(failure).toBeInstanceOf(Failure);
  expect(failure.reason).toBe('invalid_request');
  expect(failure.message).toContain(why);
});

test('bytes that are not UTF-8 are refused', () => {
  expect(refusalOf(Buffer.from([0x22, 0xff, 0x22])).message).toContain('UTF-8');
});

test('each lone surrogate is reported with its position', () => {
  const failure = refusalOf('{"text":"\\ud83d","text_chunks":["a","\\udc00b"],"c":{"\\ud800":1}}');
  expect(failure.facts.details?.map(({ field, reason }) => [field, reason])).toEqual([
    ['text', 'encoding'],
    ['text_chunks[1]', 'encoding'],
    ['c.\ufffd', 'encoding'],
  ]);
});

test('random values are taken as they are, and whatever one more or less character makes of them, as JSON.parse has it', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const signs = ['"', '\\', '{', '}', '[', ']', ':', ',', 'é', '😀', '\n', 'a'];
  const word = () => Array.from({ length: random(4) }, () => signs[random(signs.length)]).join('');
  const value = (depth: number): unknown => {
    const kind = random(depth > 3 ? 3 : 5);
    if (kind === 3) return Array.from({ length: random(3) }, () => value(depth + 1));
    if (kind === 4) return Object.fromEntries(Array.from({ length: random(3) }, () => [word(), value(depth + 1)]));
    return [word(), random(100), null][kind];
  };
  let mutantsTaken = 0;
  for (let round = 0; round < 3000; round++) {
    const text = JSON.stringify(value(0), undefined, random(2));
    expect(parse(text)).toEqual(JSON.parse(text));
    const at = random(text.length);
    const mutant = (text.slice(0, at) + signs[random(signs.length)] + text.slice(at + random(2))).toWellFormed();
    try {
      expect(parse(mutant), mutant).toEqual(JSON.parse(mutant));
      mutantsTaken++;
    } catch (error) {
      expect(error, mutant).toBeInstanceOf(Failure);
      const { message } = error as Failure;
      if (!message.includes('duplicate key')) expect(() => JSON.parse(mutant), mutant).toThrow();
    }
  }
  expect(mutantsTaken).toBeGreaterThan(300);
});

test('many faults in a body give a short message', () => {
  const members = Array.from({ length: 500 }, (_, i) => `"${i}":"\\ud800"`).join();
  const { details = [] } = refusalOf(`{"${'n'.repeat(50_000)}":{${members}}}`).facts;
  expect(details).toHaveLength(100);
  expect(details.every(({ field }) => field.length <= 100)).toBe(true);
});

// Tests strict JSON: like JSON.parse, but input that two parsers may understand differently is refused.
import { expect, test } from 'vitest';
import { Failure } from '../../../src/platform/errors.ts';
import { atOnce, inSteps } from '../../../src/platform/runtime/steps.ts';
import { parseStrictJson, readJson } from '../../../src/transports/net/strict-json.ts';
import { countTurns } from '../../count-turns.ts';

const parse = (text: string) => parseStrictJson(Buffer.from(text));
const read = (text: string) => atOnce(readJson(Buffer.from(text)));
const refusalOf = (body: string | Uint8Array, parsing: (bytes: Buffer) => unknown = parseStrictJson) => {
  try {
    parsing(Buffer.from(body as string));
  } catch (error) {
    expect(error).toBeInstanceOf(Failure);
    return error as Failure;
  }
  throw new Error(`was taken: ${body}`);
};
const messageOf = (body: string | Uint8Array) => refusalOf(body, (bytes) => atOnce(readJson(bytes))).message;
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
  `[${'[],{},'.repeat(50)}${nested(31)}]`,
  `{"a:":{"b":":"},"c":["${'\\"'.repeat(20_000)}"]}`,
])('%# is taken as it is', (text) => {
  expect(parse(text)).toEqual(JSON.parse(text));
});

test('a byte order mark is overlooked', () => {
  expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 });
});

test.each([
  ['', 'JSON'],
  ['{', 'JSON'],
  ['{\n"a":1,}', 'JSON at line 2, column 7'],
  ['\ufeff{\r\n"a":"ä",}', 'JSON at line 2, column 9'],
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
  expect(refusalOf(text)).toMatchObject({ reason: 'invalid_request', message: expect.stringContaining(why) });
});

test('each lone surrogate is reported with its position', () => {
  const failure = refusalOf('{"text":"\\ud83d","text_chunks":["a","\\udc00b"],"c":{"\\ud800":1}}');
  expect(failure.facts.details?.map(({ field, reason }) => [field, reason])).toEqual([
    ['text', 'encoding'],
    ['text_chunks[1]', 'encoding'],
    ['c.\ufffd', 'encoding'],
  ]);
});

test.each(['short', 'long'])(
  'random values with %s texts are taken as they are, and whatever one more or less character makes of them, as JSON.parse has it',
  (kind) => {
    let seed = 7;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    const signs = ['"', '\\', '{', '}', '[', ']', ':', ',', 'é', '😀', '\n', 'a', ' '];
    const word = () => Array.from({ length: random(4) }, () => signs[random(signs.length)]).join('');
    const textOf = kind === 'short' ? word : () => long.slice(0, random(20_000));
    const value = (depth: number): unknown => {
      const kind = random(depth > 3 ? 3 : 5);
      if (kind === 3) return Array.from({ length: random(4) }, () => value(depth + 1));
      if (kind === 4) return Object.fromEntries(Array.from({ length: random(4) }, () => [word(), value(depth + 1)]));
      return [textOf(), random(100), null][kind];
    };
    let mutantsTaken = 0;
    for (let round = 0; round < (kind === 'short' ? 3000 : 300); round++) {
      const values = kind === 'short' ? value(0) : Array.from({ length: 3 }, () => value(0));
      const text = JSON.stringify(values, undefined, random(2));
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
    expect(mutantsTaken).toBeGreaterThan(kind === 'short' ? 300 : 100);
  },
);

test('many faults in a body give a short message', () => {
  const members = Array.from({ length: 500 }, (_, i) => `"${i}":"\\ud800"`).join();
  const { details = [] } = refusalOf(`{"${'n'.repeat(50_000)}":{${members}}}`).facts;
  expect(details).toHaveLength(100);
  expect(details.every(({ field }) => field.length <= 100)).toBe(true);
});

const long = 'a,]}"é\\'.repeat(5000);
const [text, number] = [JSON.stringify(long), '1'.repeat(40_000)];

test.each([
  ['a long text', text],
  ['a long text among short ones', `["a" , ${text},"b" ,1]`],
  ['a long member among short ones', `{"a":1, "b\\"," : ${text} ,"c":{"d":2}}`],
  ['members and items that are long themselves', `{"a":[${text},[${text},{"b":${text}}]],"c":${number}}`],
  ['ten thousand items', `[${Array.from({ length: 10_000 }, (_, n) => `{"n":${n},"t":"${n}"}`).join(' ,\n')}]`],
  ['nine hundred members', `{${Array.from({ length: 900 }, (_, n) => `"m${n}":["${'x'.repeat(n)}",null]`).join()}}`],
  ['names that are numbers', `{${Array.from({ length: 900 }, (_, n) => `"${9000 - n}":"${'x'.repeat(n)}"`).join()}}`],
  ['a member named __proto__', `{"a":1,"__proto__":{"b":${text}},"c":2}`],
  ['much white space', `${' '.repeat(40_000)}[${'\n'.repeat(40_000)}1${'\t'.repeat(40_000)},2]${' '.repeat(40_000)}`],
  ['nothing but white space in a list', `[${' '.repeat(40_000)}]`],
])('%s', (_, json) => {
  expect(read(json)).toEqual(JSON.parse(json));
});

test.each([
  ['a comma at the end of a list', `[${text},]`],
  ['a comma at its beginning', `[,${text}]`],
  ['two commas', `[${text},,${text}]`],
  ['a comma at the end of an object', `{"a":${text},}`],
  ['a member without a name', `{${text}}`],
  ['a member without a colon', `{"a" ${text}}`],
  ['a name that is none', `{a:${text}}`],
  ['two names', `{"a""b":${text}}`],
  ['a sign beside a name', `{x "a":${text}}`],
  ['brackets of another kind', `[${text}}`],
  ['brackets that cross', `[${text},[{]},1]`],
  ['a bracket too many', `[${text}]]`],
  ['a text without its end', `[${text.slice(0, -1)}]`],
  ['no comma', `[${text} ${text}]`],
])('%s is no JSON', (_, json) => {
  expect(() => JSON.parse(json)).toThrow(SyntaxError);
  expect(messageOf(json)).toContain('not valid JSON');
});

test('bytes that are not UTF-8 are refused in each piece', () => {
  const bytes = Buffer.from(`[${text},"é",${text}]`);
  bytes[bytes.indexOf(',"é"') + 3] = 0x20;
  expect(messageOf(bytes)).toContain('UTF-8');
  expect(messageOf(`[${text},\ufeff1]`)).toContain('JSON');
});

test('an object of ten thousand members is refused', () => {
  expect(messageOf(`{${Array.from({ length: 10_000 }, (_, n) => `"m${n}":[${n},null]`).join()}}`)).toContain(
    '1000 members',
  );
});

test('other tasks run between the steps of a long task', async () => {
  const slow = function* () {
    for (let n = 0; n < 20; n++) {
      const sinceMs = performance.now();
      while (performance.now() - sinceMs < 2);
      yield;
    }
    return 'done';
  };
  const both = () => Promise.all([inSteps(slow()), inSteps(slow())]);
  // Only one step of the two runs per turn.
  expect(await countTurns(async () => expect(await both()).toEqual(['done', 'done']))).toBeGreaterThanOrEqual(40);
});

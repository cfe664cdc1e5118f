// Values that callers may send in place of the expected one, and the places of a JSON document where to put them. The
// names of Object.prototype and objects that cannot be converted to text break code that looks up names or prints input.
import { isLongRun } from '../long/run-length.ts';

const long = 'x'.repeat(30_000);

/** Values in JSON text that are sent in every field. */
const everywhere: readonly string[] = [
  ...['null', '{}', '-1', '1e400', '""', '"\\u0000"', '"\\ud800"', '"__proto__"', '"constructor"'],
  ...['{"toString":1}', '[{"toString":1}]', '{"__proto__":{"a":1}}', `"${long}"`, `{"${long}":1}`],
];

/** Values that are sent in some of the fields, in turn. */
const inTurn: readonly string[] = [
  ...['true', '[]', '[[]]', '[null]', '[{}]', '0', '-0', '0.5', '-1e999', '1e-400', 'NaN', 'Infinity'],
  ...['9007199254740993', '99999999999999999999999999', '2147483648', '" "', '"NaN"', '"Infinity"', '"-1"', '"1e999"'],
  ...[
    '"\\udc00x"',
    '"\\ufffe\\u202e"',
    '["\\ud800"]',
    '"toString"',
    '"hasOwnProperty"',
    '"../../etc/passwd"',
    '"%00%ff"',
  ],
  ...['"2026-13-45T99:99:99Z"', '{"valueOf":1,"toString":1}', '{"constructor":{"prototype":{}}}', '{"length":1e9}'],
  ...['{"then":1}', '{"toJSON":1}', '[["a"],{"toString":null}]', `[${Array(300).fill('"a"').join()}]`],
  `${'['.repeat(100)}${']'.repeat(100)}`,
];

/** The values for the n-th field: a quarter of those that are sent in turn, or all of them. */
export const hostileJson = (n: number): readonly string[] => [
  ...everywhere,
  ...inTurn.filter((_, i) => isLongRun || (i + n) % 4 === 0),
];

/** Values for paths, queries, forms and headers, percent-encoded. */
export const hostileTexts: readonly string[] = [
  ...['', '%20', '.', '..', '%2e%2e%2f', '%2F', '%00', '%ff', '%ed%a0%80', '%', '%c3%a9', '%f0%9f%8e%99'],
  ...['NaN', 'Infinity', '-1', '0', '1e999', '99999999999999999999', '0x10', '2026-13-45T99:99:99Z'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', '%7B%22toString%22:1%7D', '[]', '*', 'null', 'a,b,,c'],
  'x'.repeat(8_000),
];

/** Values for headers. HTTP/1.1 sends them as Latin-1. */
export const hostileHeaders: readonly string[] = [
  ...[
    '',
    ' ',
    ',',
    ';',
    '*',
    '"',
    '=',
    '\xff\xfe',
    '%ff',
    'NaN',
    'Infinity',
    '-1',
    '0',
    '1e999',
    '99999999999999999999',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'bytes=-1',
    'bytes=9999999999999999999-',
    'a:b:c:1',
    'a;q=NaN',
    'Bearer',
    'Basic %%%',
  ],
  'x'.repeat(8_000),
];

const mark = '\ue000';

/** Puts the text of a value in place of the member at `path`. An empty path replaces the whole document. */
export function putJson(document: unknown, path: readonly (string | number)[], value: string): string {
  if (path.length === 0) return value;
  const copy = structuredClone(document) as Record<string, unknown>;
  let at = copy;
  for (const [i, key] of path.entries()) {
    const next = path[i + 1];
    if (next === undefined) Object.defineProperty(at, key, { value: mark, enumerable: true });
    else {
      if (typeof at[key] !== 'object' || at[key] === null) at[key] = typeof next === 'number' ? [] : {};
      at = at[key] as Record<string, unknown>;
    }
  }
  return JSON.stringify(copy).replace(`"${mark}"`, () => value);
}

interface Schema {
  $ref?: string;
  properties?: Readonly<Record<string, Schema>>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  oneOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  allOf?: readonly Schema[];
}

/** Paths to all members of a JSON Schema, and to names that no schema has. */
export function pathsOf(schema: Schema, resolve: (ref: string) => Schema, depth = 0): (string | number)[][] {
  if (schema.$ref) return pathsOf(resolve(schema.$ref), resolve, depth);
  const inner = (name: string | number, each: Schema) =>
    (depth > 4 ? [[]] : pathsOf(each, resolve, depth + 1)).map((path) => [name, ...path]);
  const { properties, items, additionalProperties: more } = schema;
  const choices = [...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])];
  return [
    [],
    ...Object.entries(properties ?? {}).flatMap(([name, each]) => inner(name, each)),
    ...(items ? inner(0, items) : []),
    ...(typeof more === 'object' ? inner('title', more) : []),
    ...choices.flatMap((each) => pathsOf(each, resolve, depth + 1).filter(({ length }) => length > 0)),
    ...(properties || more ? [['__proto__'], ['constructor'], ['toString']] : []),
  ];
}

/** Paths to all members of an example. */
export function pathsIn(example: unknown): (string | number)[][] {
  if (typeof example !== 'object' || example === null) return [[]];
  const entries: [string | number, unknown][] = Array.isArray(example)
    ? example.map((each, i) => [i, each])
    : Object.entries(example);
  return [
    [],
    ...entries.flatMap(([name, each]) => pathsIn(each).map((path) => [name, ...path])),
    ...(Array.isArray(example) ? [] : [['__proto__'], ['constructor'], ['toString']]),
  ];
}

// Parses the source of a regular expression into a tree, for the step counter and the generator of worst texts.

export type Node =
  | { kind: 'set'; isChar(char: string): boolean }
  | { kind: 'sequence'; items: readonly Node[] }
  | { kind: 'choice'; items: readonly Node[] }
  | { kind: 'repeat'; item: Node; min: number; max: number; isLazy: boolean }
  | { kind: 'group'; item: Node; capture: number }
  | { kind: 'look'; item: Node; isBehind: boolean; isNegative: boolean }
  | { kind: 'edge'; isAt(before: string, after: string): boolean }
  | { kind: 'back'; captures: readonly number[]; ignoresCase: boolean };

const setPattern =
  /\\(?:p\{[^}]*\}|P\{[^}]*\}|u\{[^}]*\}|u[\dA-Fa-f]{4}(?:\\u[Dd][C-Fc-f][\dA-Fa-f]{2})?|x[\dA-Fa-f]{2}|c[A-Za-z]|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S]/uy;
const repeatPattern = /(?:([*+?])|\{(\d+)(,(\d*))?\})(\??)/y;
const groupPattern = /\((?:\?(?:(<?[=!])|<(\w+)>|([ims]*)(?:-([ims]+))?:))?/y;

export function parseExpression({ source, flags }: Pick<RegExp, 'source' | 'flags'>): Node {
  let at = 0;
  let captures = 0;
  const named = namedCaptures(source);
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found) at += found[0].length;
    return found;
  };
  const parseChoice = (on: string): Node => {
    const items = [parseSequence(on)];
    while (source[at] === '|') {
      at++;
      items.push(parseSequence(on));
    }
    return items.length === 1 ? items[0]! : { kind: 'choice', items };
  };
  const parseSequence = (on: string): Node => {
    const items: Node[] = [];
    while (at < source.length && source[at] !== '|' && source[at] !== ')') {
      const item = parseItem(on);
      const repeat = match(repeatPattern);
      if (!repeat) items.push(item);
      else {
        const [, sign, least = '', comma, most = '', lazy] = repeat;
        const min = sign ? (sign === '+' ? 1 : 0) : Number(least);
        const max = sign ? (sign === '?' ? 1 : Infinity) : comma ? (most === '' ? Infinity : Number(most)) : min;
        items.push({ kind: 'repeat', item, min, max, isLazy: lazy === '?' });
      }
    }
    return { kind: 'sequence', items };
  };
  const parseItem = (on: string): Node => {
    const group = match(groupPattern);
    if (group) {
      const [all, look, , added = '', removed = ''] = group;
      const capture = look || all.endsWith(':') ? 0 : ++captures;
      const inner = [...new Set(on + added)].filter((flag) => !removed.includes(flag)).join('');
      const item = parseChoice(inner);
      at++;
      if (look) return { kind: 'look', item, isBehind: look.startsWith('<'), isNegative: look.endsWith('!') };
      return { kind: 'group', item, capture };
    }
    const back = match(/\\(?:k<(\w+)>|([1-9]\d?))/y);
    if (back) {
      const [, name, number] = back;
      const of = name === undefined ? [Number(number)] : named.get(name)!;
      return { kind: 'back', captures: of, ignoresCase: on.includes('i') };
    }
    const [written] = match(setPattern)!;
    const isMultiline = on.includes('m');
    const isLineEnd = (char: string) => isMultiline && /[\n\r\u2028\u2029]/.test(char);
    if (written === '^') return { kind: 'edge', isAt: (before) => before === '' || isLineEnd(before) };
    if (written === '$') return { kind: 'edge', isAt: (_, after) => after === '' || isLineEnd(after) };
    if (written === '\\b' || written === '\\B') {
      const isWord = (char: string) => char !== '' && /\w/.test(char);
      const isEdge = written === '\\b';
      return { kind: 'edge', isAt: (before, after) => (isWord(before) !== isWord(after)) === isEdge };
    }
    return { kind: 'set', isChar: toTest(written, on) };
  };
  const root = parseChoice(flags.replace(/[dgy]/g, ''));
  if (at < source.length) throw new Error(`cannot parse ${source} at ${at}`);
  return root;
}

function namedCaptures(source: string): ReadonlyMap<string, number[]> {
  const named = new Map<string, number[]>();
  let captures = 0;
  for (const [, name] of source
    .replace(/\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]/g, '')
    .matchAll(/\((?:\?<(\w+)>|(?!\?))/g)) {
    captures++;
    if (name !== undefined) named.set(name, [...(named.get(name) ?? []), captures]);
  }
  return named;
}

const tests = new Map<string, (char: string) => boolean>();

/** Tests one character with the engine's own reading of a class. */
function toTest(written: string, flags: string): (char: string) => boolean {
  const key = `${flags}/${written}`;
  let isChar = tests.get(key);
  if (!isChar) {
    const pattern = new RegExp(`^${written}$`, flags);
    const known = new Map<string, boolean>();
    isChar = (char) => {
      let is = known.get(char);
      if (is === undefined) {
        is = pattern.test(char);
        known.set(char, is);
      }
      return is;
    };
    tests.set(key, isChar);
  }
  return isChar;
}

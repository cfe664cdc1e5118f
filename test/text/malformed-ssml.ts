// Provides malformed SSML documents, the same in every run: valid documents with one defect each, and its position.
import { createRandom } from './random-text.ts';

export interface MalformedDocument {
  kind: string;
  document: string;
  /** Acceptable positions of the fault. */
  at: readonly number[];
}

const words = 'one two three läuft 漢字 😀 &amp; &#65; Mr. 5 kilometers'.split(' ');
const tags = ['p', 's', 'emphasis', 'prosody rate="fast"', "lang xml:lang='de'", 'foo', 'voice name="x"'];

export function writeDocument(random: () => number, elements: number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const body = (left: number): string => {
    if (left <= 0) return ` ${pick(words)} `;
    const tag = pick(tags);
    const part = Math.floor(random() * left);
    const inner = `<${tag}>${body(part)}</${tag.split(' ')[0]}>`;
    const space = pick([' ', '\n', '\r\n', '\n  ']);
    return `${pick(words)}${space}${inner}<break time="10ms"/>${body(left - part - 1)}`;
  };
  return `<?xml version="1.0"?>\n<speak version="1.1" xml:lang="en">\n${body(elements)}</speak>`;
}

type Spoil = (document: string, random: () => number) => Omit<MalformedDocument, 'kind'> | undefined;

/** Positions of text between two tags. */
const textPlaces = (document: string): number[] =>
  [...document.matchAll(/>[^<>&]*(?=<)/g)]
    .map(({ index }) => index + 1)
    .filter((at) => at > document.indexOf('<speak') + 6 && at < document.length);

const insert = (document: string, at: number, text: string) => document.slice(0, at) + text + document.slice(at);

const insertText =
  (text: string, offsets: readonly number[]): Spoil =>
  (document, random) => {
    const places = textPlaces(document);
    const at = places[Math.floor(random() * places.length)]!;
    return { document: insert(document, at, text), at: offsets.map((offset) => at + offset) };
  };

const spoilMatch =
  (pattern: RegExp, replace: (found: RegExpMatchArray) => { text: string; offsets: readonly number[] }): Spoil =>
  (document, random) => {
    const found = [...document.matchAll(pattern)];
    const one = found[Math.floor(random() * found.length)];
    if (!one) return undefined;
    const { text, offsets } = replace(one);
    const spoiled = document.slice(0, one.index) + text + document.slice(one.index + one[0].length);
    return { document: spoiled, at: offsets.map((offset) => one.index + offset) };
  };

const spoils: Readonly<Record<string, Spoil>> = {
  'a bare ampersand': insertText('a & b', [2]),
  'an unknown entity': insertText('&nbsp;', [0]),
  'an endless reference': insertText('&amp b', [0]),
  'a tag without a name': insertText('< b', [0, 1]),
  'the end of a section that did not begin': insertText('a]]>', [1, 2, 3]),
  'a control character': insertText('a\u0001', [1]),
  'two dashes in a comment': insertText('<!-- a -- b -->', [7, 8, 9]),
  'an unquoted value': spoilMatch(/<break time="10ms"\/>/g, () => ({ text: '<break time=10ms/>', offsets: [12] })),
  'a value without an end': spoilMatch(/time="10ms"\/>/g, () => ({ text: 'time="10ms/>', offsets: [] })),
  'an attribute twice': spoilMatch(/<break time="10ms"\/>/g, () => ({
    text: '<break time="1s" time="1s"/>',
    offsets: [0],
  })),
  'a tag in a value': spoilMatch(/time="10ms"/g, () => ({ text: 'time="<b>"', offsets: [6] })),
  'an end tag of another element': spoilMatch(/<\/(?!speak)\w+>/g, () => ({ text: '</other>', offsets: [0] })),
  'a second element': (document) => ({
    document: `${document}<speak/>`,
    at: [document.length, document.length + 6, document.length + 7, document.length + 8],
  }),
  'text after the end': (document) => ({ document: `${document} x`, at: [document.length + 1, document.length + 2] }),
  'a declaration of a document type': (document) => {
    const at = document.indexOf('<speak');
    return { document: insert(document, at, '<!DOCTYPE speak [<!ENTITY a "b">]>'), at: [at] };
  },
};

/** Creates `count` documents, of all kinds in turn. */
export function malformedDocuments(count: number): MalformedDocument[] {
  const random = createRandom(7);
  const kinds = Object.entries(spoils);
  const made: MalformedDocument[] = [];
  for (let i = 0; made.length < count; i++) {
    const [kind, spoil] = kinds[i % kinds.length]!;
    const spoiled = spoil(writeDocument(random, 3 + Math.floor(random() * 60)), random);
    if (spoiled) made.push({ kind, ...spoiled });
  }
  return made;
}

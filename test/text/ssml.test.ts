// Tests SSML as text: the spoken text, refusals with their position, and the effect of each element.
import { expect, test } from 'vitest';
import { positionIn } from '../../src/platform/count-chars.ts';
import { type MarkedText, MarkupFault } from '../../src/text/marked-text.ts';
import { isSsml, readSsml } from '../../src/text/ssml.ts';
import { malformedDocuments, writeDocument } from './malformed-ssml.ts';
import { createRandom } from './random-text.ts';

const speak = (body: string) => `<speak>${body}</speak>`;
const read = (body: string) => readSsml(speak(body));
const runsOf = ({ items }: MarkedText) => items.filter((item) => item.kind === 'run');
const faultOf = (document: string): string => {
  try {
    readSsml(document);
  } catch (error) {
    if (error instanceof MarkupFault) return error.message;
    throw error;
  }
  return 'none';
};

test('every piece of text is what stands at its place in the document', () => {
  const random = createRandom(3);
  for (let i = 0; i < 200; i++) {
    const document = writeDocument(random, 20);
    for (const { pieces } of runsOf(readSsml(document))) {
      for (const { text, from, to } of pieces) {
        const there = document.slice(from, to);
        expect(there.replace('&amp;', '&').replace('&#65;', 'A')).toBe(text);
      }
    }
  }
});

test('of 300 documents that are not well-formed each is refused, at its line and column', () => {
  for (const { kind, document, at } of malformedDocuments(300)) {
    const fault = faultOf(document);
    expect(fault, kind).toMatch(/^line \d+, column \d+: ./);
    const places = at
      .map((index) => positionIn(document, index))
      .map(({ line, column }) => `line ${line}, column ${column}`);
    if (places.length > 0) expect(places, `${kind}: ${fault}`).toContain(fault.split(':')[0]);
  }
});

test('a document that is cut anywhere is refused', () => {
  const document = writeDocument(createRandom(9), 12);
  for (let end = document.indexOf('<speak') + 1; end < document.length; end++)
    expect(faultOf(document.slice(0, end)), document.slice(0, end)).toMatch(/^line \d+, column \d+: ./);
});

test('no entity is expanded except the five that XML defines', () => {
  const bomb = `<!DOCTYPE speak [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><speak>&b;</speak>`;
  expect(faultOf(bomb)).toBe('line 1, column 1: a document type declaration is not allowed');
  expect(faultOf('<!DOCTYPE speak SYSTEM "file:///etc/passwd"><speak>&x;</speak>')).toMatch(
    /declaration is not allowed/,
  );
  expect(faultOf(speak('&a;'))).toBe('line 1, column 8: &a; is not a reference; write &amp;');
  const [run] = runsOf(read('&lt;b&gt; &quot;&apos;&amp; &#x41;&#66; <![CDATA[<i> &amp;]]>'));
  expect(run!.pieces.map(({ text }) => text).join('')).toBe('<b> "\'& AB <i> &amp;');
});

test('depth, elements and pauses have limits', () => {
  const nested = (depth: number) => '<s>'.repeat(depth) + '</s>'.repeat(depth);
  expect(faultOf(speak(nested(31)))).toBe('none');
  expect(faultOf(speak(nested(32)))).toMatch(/^line 1, column 101: elements are nested deeper than 32/);
  expect(faultOf(speak('<w/>'.repeat(5000)))).toMatch(/more than 5000 elements/);
  expect(faultOf(speak('a\n<break time="21s"/>'))).toBe('line 2, column 1: a pause can last at most 20 s');
  expect(faultOf(speak('<break time="20s"/>'.repeat(31)))).toMatch(/last at most 600 s in total/);
});

test('a document begins with its element, after what may stand before that', () => {
  for (const text of ['<speak>', ' \n<speak/>', '<?xml version="1.0"?><!-- a --><speak xmlns="x">', '<!DOCTYPE speak>'])
    expect(isSsml(text), text).toBe(true);
  for (const text of ['speak', '<speaker>', 'a <speak>', '<p><speak>', '<!-- <speak>'])
    expect(isSsml(text), text).toBe(false);
  expect(faultOf('<speech/>')).toBe('line 1, column 1: the document must be a speak element, not speech');
});

const synthesis = 'http://www.w3.org/2001/10/synthesis';

test.each([
  [`<ssml:speak xmlns:ssml="${synthesis}" version="1.1"><ssml:p>a</ssml:p><ssml:break time="1s"/></ssml:speak>`, []],
  [`<s:speak xmlns:s="${synthesis}"><s:prosody rate="fast">a</s:prosody><s:break time="1s"/></s:speak>`, []],
  [`<?xml version="1.0"?><x:speak xmlns:x='${synthesis}'>a<x:break time="1s"/><p/></x:speak>`, []],
  [`<speak xmlns="${synthesis}" xmlns:q="${synthesis}">a<q:break time="1s"/></speak>`, []],
  [`<speak>a<w xmlns:q="${synthesis}"><q:break time="1s"/></w><q:break time="9s"/></speak>`, ['q:break']],
  [`<q:speak xmlns:q="${synthesis}">a<q:break time="1s"/><w xmlns:q="urn:x"><q:break/></w></q:speak>`, ['q:break']],
  ['<speak xmlns="http://www.w3.org/1999/xhtml">a<break time="1s"/></speak>', ['speak.xmlns']],
  ['<speak>a<p xmlns="urn:x"><break time="1s"/></p></speak>', ['p.xmlns']],
  ['<s:speak xmlns:s="urn:x">a<s:break time="1s"/></s:speak>', ['speak.xmlns']],
  ['<s:speak>a<s:break time="1s"/></s:speak>', ['speak.xmlns']],
  ['<speak version="1.0">a<break time="1s"/></speak>', []],
  ['<speak version="2.0">a<break time="1s"/></speak>', ['speak.version']],
  ['<speak version="">a<break time="1s"/></speak>', ['speak.version']],
])('%s is spoken, and what is not of SSML is named', (document, ignored) => {
  const marked = readSsml(document);
  expect(isSsml(document)).toBe(true);
  expect(marked.ignored).toEqual(ignored);
  expect(marked.pauseMs).toBe(1000);
  expect(runsOf(marked).flatMap(({ pieces }) => pieces.map(({ text }) => text))).toEqual(['a']);
});

test.each([
  ['<x:speech xmlns:x="urn:x"/>', 'the document must be a speak element, not speech'],
  ['<x:p xmlns:x="http://www.w3.org/2001/10/synthesis"/>', 'the document must be a speak element, not p'],
  ['<a:speak xmlns:a="urn:x"></b:speak>', 'unexpected close tag'],
])('%s is refused', (document, fault) => expect(faultOf(document)).toContain(fault));

test.each([
  ['<break/>', 500],
  ['<break strength="none"/>', 0],
  ['<break strength="x-strong"/>', 1000],
  ['<break time="1.5s" strength="weak"/>', 1500],
  ['<break time="250ms"/><break time="+.25s"/>', 500],
  ['<break time="long"/>', 500],
])('%s is %d ms', (body, ms) => expect(read(`a${body}b`).pauseMs).toBe(ms));

test.each([
  ['rate="x-slow"', { rate: 0.5 }],
  ['rate="150%"', { rate: 1.5 }],
  ['rate="+20%"', { rate: 1.2 }],
  ['rate="-50%"', { rate: 0.5 }],
  ['rate="0.8"', { rate: 0.8 }],
  ['rate="-100%"', { rate: 1 }],
  ['volume="+6dB"', { gainDb: 6 }],
  ['volume="-3.5db"', { gainDb: -3.5 }],
  ['volume="silent"', { gainDb: -Infinity }],
  ['pitch="+10%"', { pitch: 1.1 }],
  ['pitch="-12st"', { pitch: 0.5 }],
  ['pitch="high"', { pitch: 1.15 }],
])('prosody with %s is %o', (attribute, style) => {
  expect(runsOf(read(`<prosody ${attribute}>a</prosody>`))[0]!.style).toMatchObject(style);
});

test('what is not known is said plainly, and named once', () => {
  const marked = read(
    '<x:y>a</x:y> <x:y z="1">b</x:y> <say-as>c</say-as><prosody range="high">d</prosody><metadata>no</metadata>',
  );
  expect(marked.ignored).toEqual(['x:y', 'say-as', 'prosody.range']);
  expect(
    runsOf(marked)
      .flatMap(({ pieces }) => pieces.map(({ text }) => text.trim()))
      .join(''),
  ).toBe('abcd');
});

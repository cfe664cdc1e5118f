// Tests that the text of documents is read without losing a word and in order, however their elements are nested.
import { describe, expect, test } from 'vitest';
import { readDocument } from '../../../src/library/books/document-reader.ts';
import { createRandom } from '../../text/random-text.ts';

const read = (source: string): string[] => readDocument(source, 'chapter').blocks.map(({ text }) => text);

describe('tables', () => {
  test.each<[what: string, source: string, blocks: string[]]>([
    [
      'in a cell',
      '<table><tr><td>ALPHA</td><td><table><tr><td>BETA</td></tr></table>GAMMA</td><td>DELTA</td></tr></table><p>END</p>',
      ['ALPHA', 'BETA', '| GAMMA | DELTA |', 'END'],
    ],
    [
      'without rows in a cell',
      '<table><tr><td>Menu</td><td>Intro<table>box</table>The whole article</td></tr></table>',
      ['Menu', 'Intro', 'box', 'The whole article'],
    ],
    ['without rows', '<table><td>A</td><td>B</td></table>', ['A', 'B']],
    ['with text outside of the cells', '<table>A<tr>B<td>C</td>D</tr>E</table>', ['A', '| B | C | D |', 'E']],
    ['with cells outside of a table', '<p>A</p>B<td>C</td>D', ['A', 'B', 'C', 'D']],
    ['with rows that are not closed', '<table><tr><td>A<td>B<tr><td>C<td>D</table>E', ['| A | B |', '| C | D |', 'E']],
    ['with paragraphs', '<table><tr><td>A<td><p>B</p><p>C</p>D<td>E</table>', ['A', 'B', 'C', '| D | E |']],
    ['with a rule', '<table><tr><td>A<td><hr>B</table>', ['A', '', 'B']],
  ])('%s', (_what, source, blocks) => {
    expect(read(source)).toEqual(blocks);
  });

  test('a note in a row makes no note of the cells before it', () => {
    const source = '<table><tr><td>Told</td><td><p class="footnote">A note</p></td></tr></table>';
    const { blocks } = readDocument(source, 'chapter');
    expect(blocks.map(({ text, isNote }) => [text, isNote])).toEqual([
      ['Told', false],
      ['A note', true],
    ]);
  });
});

describe('formulas', () => {
  const power = '<msup><mi>x</mi><mn>2</mn></msup>';
  const tex = '<annotation encoding="application/x-tex">x^{2}</annotation>';
  test.each<[what: string, formula: string, text: string]>([
    ['that say how they are read', `<math alttext="x squared">${power}</math>`, 'Take x squared twice.'],
    [
      'with the source in an annotation',
      `<math alttext="x squared"><semantics>${power}${tex}</semantics></math>`,
      'Take x squared twice.',
    ],
    ['with a prefix', '<m:math alttext="x squared"><m:mi>x</m:mi></m:math>', 'Take x squared twice.'],
    ['that say nothing', `<math alttext=" ">${power}${tex}</math>`, 'Take twice.'],
    ['that are not seen', `<math hidden alttext="x squared">${power}</math>`, 'Take twice.'],
  ])('%s', (_what, formula, text) => {
    expect(read(`<p>Take ${formula} twice.</p>`)).toEqual([text]);
  });
});

test.each<[what: string, source: string, blocks: string[]]>([
  ['after the list', '<ol><li>One<li><img src="a.png"></ol><h2>Head</h2>', ['1. One', 'Head']],
  ['in the item around it', '<ol><li><ul><li>A</ul>B<li>C</ol>', ['A', 'B', '2. C']],
  ['in the list', '<ol><li><img src="a.png"></li>A<li>B</ol>', ['A', '2. B']],
])('the number of an item without text is not that of what follows %s', (_where, source, blocks) => {
  expect(read(source)).toEqual(blocks);
});

describe('tag soup', () => {
  const structure =
    'table thead tbody tr tr td td th caption ul ol li li dl dt dd p div section h2 blockquote pre'.split(' ');
  const inline = 'b i em span code a sup sub small br hr wbr'.split(' ');
  const attributed = ['ol start=4', 'li value=7', 'td colspan=2', 'a href=#n', 'h3 id=n', 'div role=heading'];
  const names = [...structure, ...structure, ...inline, ...attributed];

  function writeSoup(random: () => number): { source: string; words: string[] } {
    const words: string[] = [];
    const open: string[] = [];
    let source = '';
    const partCount = 5 + Math.floor(random() * 50);
    for (let n = 0; n < partCount; n++) {
      const kind = random();
      const tag = names[Math.floor(random() * names.length)]!;
      const name = tag.split(' ')[0]!;
      if (kind < 0.4) {
        words.push(`word${String(words.length).padStart(3, '0')}`);
        source += random() < 0.7 ? `${words.at(-1)} ` : ` ${words.at(-1)}`;
      } else if (kind < 0.7) {
        source += `<${tag}>`;
        open.push(name);
      } else if (kind < 0.9) source += `</${open.pop() ?? name}>`;
      else source += `</${name}>`;
    }
    return { source, words };
  }

  test('loses no word, and changes no order', () => {
    const random = createRandom(20_260_728);
    for (let n = 0; n < 3_000; n++) {
      const { source, words } = writeSoup(random);
      expect(
        read(source)
          .join('\n')
          .match(/word\d{3}/g) ?? [],
        source,
      ).toEqual(words);
    }
  });
});

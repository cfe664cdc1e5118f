// Colours the markup of a text with the CSS Custom Highlight API: tags and pauses, and the content of elements that
// change how their content is spoken. Browsers without the API show the text uncoloured.
import { markupOf } from './markup-kind.js';

const pausePattern = /\[pause:\d{1,9}(?:\.\d{1,9})?m?s\]/gi;
const tagPattern = /<!--[\s\S]*?-->|<(\/?)([\w:-]+)(?:"[^"]*"|'[^']*'|[^>"'])*?(\/?)>/g;
/** Elements whose content is coloured, by the name of the highlight. */
const contentKinds = /** @type {const} */ ({
  emphasis: 'stress',
  prosody: 'stress',
  'say-as': 'spoken',
  sub: 'spoken',
  phoneme: 'spoken',
  voice: 'speaker',
  lang: 'speaker',
});

/** @typedef {{ kind: string, from: number, to: number }} Stretch */

/**
 * The ranges of a text that are coloured.
 * @param {string} text
 * @returns {Stretch[]}
 */
function findMarks(text) {
  const markup = markupOf(text);
  if (markup === undefined) return [];
  const pattern = markup === 'ssml' ? tagPattern : pausePattern;
  /** @type {Stretch[]} */
  const found = [];
  /** @type {{ name: string, end: number }[]} */
  const open = [];
  for (const { 0: tag, 1: closing, 2: name = '', 3: empty, index } of text.matchAll(pattern)) {
    found.push({ kind: 'tag', from: index, to: index + tag.length });
    if (name === '' || empty) continue;
    if (!closing) open.push({ name, end: index + tag.length });
    else if (open.some((each) => each.name === name)) {
      let last = open.pop();
      while (last && last.name !== name) last = open.pop();
      const kind = contentKinds[/** @type {keyof typeof contentKinds} */ (name)];
      if (last && kind) found.push({ kind, from: last.end, to: index });
    }
  }
  return found;
}

/**
 * Returns a function that colours the text of the node.
 * @param {Text} letters
 */
export function createPainter(letters) {
  const kinds = ['tag', ...new Set(Object.values(contentKinds))];
  /** @param {string} text */
  return (text) => {
    if (!('highlights' in CSS)) return;
    const stretches = findMarks(text);
    for (const [priority, kind] of kinds.toReversed().entries()) {
      const ranges = stretches.flatMap((each) => {
        if (each.kind !== kind || each.to > letters.length) return [];
        const range = new StaticRange({
          startContainer: letters,
          startOffset: each.from,
          endContainer: letters,
          endOffset: each.to,
        });
        return [range];
      });
      const highlight = new Highlight(...ranges);
      highlight.priority = priority;
      CSS.highlights.set(`markup-${kind}`, highlight);
    }
  };
}

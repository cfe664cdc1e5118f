// A toolbar that inserts markup: pause tags in plain text, elements in an SSML document. The selected text becomes the
// content of the element. Then the toolbar selects the attribute value that the user may want to change. Users can undo
// each insertion.
/** @import { Voice } from '../../../../gen/openapi.ts' */
/** @import { HighlightedText } from './highlighted-text.js' */
import { element, fill } from './element.js';
import { markupOf } from './markup-kind.js';
import { createRoving } from './roving.js';

/**
 * @typedef {object} Mark
 * @property {string} label
 * @property {string} title The effect of the markup.
 * @property {string} tag The opening tag. Its last attribute value is selected after the insertion.
 * @property {string} [close] The closing tag; absent if the markup has no content.
 *
 * @typedef {object} ToolbarOptions
 * @property {HighlightedText} textField
 * @property {readonly Voice[]} voices
 */

/** @type {Mark} */
const pauseTag = { label: 'Pause', title: 'A pause, such as 500ms or 1.5s', tag: '[pause:500ms]' };

/**
 * @param {readonly Voice[]} voices
 * @returns {Mark[]}
 */
const toMarks = (voices) => [
  { label: 'Pause', title: 'A pause, such as 500ms or 1.5s', tag: '<break time="500ms"/>' },
  {
    label: 'Emphasis',
    title: 'Emphasis of words: strong, moderate, reduced',
    tag: '<emphasis level="strong">',
    close: '</emphasis>',
  },
  {
    label: 'Say as',
    title: 'Spoken as characters, digits, date, time, telephone, currency, ordinal, cardinal, fraction, unit',
    tag: '<say-as interpret-as="characters">',
    close: '</say-as>',
  },
  { label: 'Substitute', title: 'Other words are spoken instead', tag: '<sub alias="spoken words">', close: '</sub>' },
  {
    label: 'Phonemes',
    title: 'A pronunciation in the International Phonetic Alphabet',
    tag: '<phoneme alphabet="ipa" ph="təˈmɑːtəʊ">',
    close: '</phoneme>',
  },
  {
    label: 'Voice',
    title: 'Another voice, by its id',
    tag: `<voice name="${escapeXml(voices.at(-1)?.voice_id ?? '')}">`,
    close: '</voice>',
  },
  {
    label: 'Language',
    title: 'Another language that the voice speaks, such as de',
    tag: '<lang xml:lang="de">',
    close: '</lang>',
  },
  { label: 'Mark', title: 'Reports its time as an event', tag: '<mark name="here"/>' },
];

/** @param {string} text */
function escapeXml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** @param {ToolbarOptions} options */
export function createMarkupToolbar({ textField, voices }) {
  const { field } = textField;
  const paint = createPainter(textField.letters);
  const marks = toMarks(voices);
  const root = element('div', {
    role: 'toolbar',
    class: 'markup-toolbar',
    'aria-label': 'Marks',
    'aria-controls': 'text',
  });
  const letFirstFocus = createRoving(root, 'button');
  let isDocument = markupOf(field.value) === 'ssml';

  /** @param {Mark} mark */
  const toButton = (mark) =>
    element('button', { type: 'button', title: mark.title, onclick: () => write(field, mark) }, mark.label);
  const show = () => {
    const hadFocus = root.contains(document.activeElement);
    const convert = isDocument
      ? element('button', { type: 'button', title: 'Remove all markup', onclick: () => toPlain(field) }, 'Plain text')
      : element(
          'button',
          { type: 'button', title: 'Convert the text to an SSML document', onclick: () => toDocument(field) },
          'SSML',
        );
    fill(root, (isDocument ? marks : [pauseTag]).map(toButton), convert);
    letFirstFocus();
    if (hadFocus) field.focus();
  };
  const update = () => {
    paint(field.value);
    const wasDocument = isDocument;
    isDocument = markupOf(field.value) === 'ssml';
    if (wasDocument === isDocument) return;
    show();
  };
  field.addEventListener('input', update);
  show();
  update();
  return { root };
}

/**
 * @param {HTMLTextAreaElement} field
 * @param {Mark} mark
 */
function write(field, { tag, close = '' }) {
  const { selectionStart, selectionEnd, value } = field;
  const [from, to] = withinDocument(value, selectionStart, selectionEnd, close !== '' || tag.startsWith('<'));
  const content = value.slice(from, to);
  // An element without content is inserted before the selection.
  replace(field, from, to, close === '' ? tag + content : `${tag}${content}${close}`);
  const quoted = /^.*[":]([^":]*)["\]]/s.exec(tag);
  const start = from + (quoted ? quoted[0].length - 1 - (quoted[1]?.length ?? 0) : tag.length);
  field.setSelectionRange(start, start + (quoted?.[1]?.length ?? 0));
}

/**
 * Elements are inserted inside the document and never inside a tag.
 * @param {string} value
 * @param {number} from
 * @param {number} to
 * @param {boolean} isElement
 * @returns {[from: number, to: number]}
 */
function withinDocument(value, from, to, isElement) {
  if (!isElement) return [from, to];
  const first = /<speak(?:"[^"]*"|'[^']*'|[^>"'])*>/.exec(value);
  const begin = first ? first.index + first[0].length : 0;
  const close = value.lastIndexOf('</speak');
  const end = close < begin ? value.length : close;
  /** @param {number} at */
  const outOfTag = (at) => {
    const tag = [...value.matchAll(/<[^>]*>/g)].find(({ index, 0: found }) => at > index && at < index + found.length);
    return Math.min(Math.max(tag ? tag.index + tag[0].length : at, begin), end);
  };
  return [outOfTag(from), outOfTag(to)];
}

/** @param {HTMLTextAreaElement} field */
function toDocument(field) {
  const text = field.value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const tagged = text.replace(/\[pause:(\d+(?:\.\d+)?(?:ms|s))\]/gi, '<break time="$1"/>');
  replace(field, 0, field.value.length, `<speak>${tagged}</speak>`);
  const at = '<speak>'.length + tagged.length;
  field.setSelectionRange(at, at);
}

/** @param {HTMLTextAreaElement} field */
function toPlain(field) {
  const paused = field.value.replace(/<break\b[^>]*\btime=["']([^"']*)["'][^>]*>/g, '[pause:$1]');
  const text = new DOMParser().parseFromString(paused, 'text/xml');
  const isFaulty = text.querySelector('parsererror') !== null;
  // If a document is malformed, everything that looks like a tag is removed.
  const plain = isFaulty ? paused.replace(/<[^>]*>/g, '') : (text.documentElement.textContent ?? '');
  replace(field, 0, field.value.length, plain.trim());
}

/**
 * @param {HTMLTextAreaElement} field
 * @param {number} from
 * @param {number} to
 * @param {string} text
 */
function replace(field, from, to, text) {
  field.focus();
  field.setSelectionRange(from, to);
  // `execCommand` is the only way to insert text that users can undo. It is deprecated, but has no successor.
  if (document.execCommand('insertText', false, text)) return;
  field.setRangeText(text, from, to, 'end');
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

const pausePattern = /\[pause:\d{1,9}(?:\.\d{1,9})?m?s\]/gi;
const tagPattern = /<!--[\s\S]*?-->|<(\/?)([\w:-]+)(?:"[^"]*"|'[^']*'|[^>"'])*?(\/?)>/g;
/** Maps each element whose content is coloured to the name of its highlight. */
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
 * Finds the ranges of a text to colour.
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
function createPainter(letters) {
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

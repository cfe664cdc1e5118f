// A subpage of the Voices page: lists the lexicons of the key, creates empty lexicons, and imports lexicon files.
/** @import { PageContext } from './page.d.ts' */
/** @import { Lexicon } from '../../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { field, onSubmit } from './field.js';
import { toCount, toTimeAgo } from './formatting.js';
import { showLexicon } from './lexicon-editor.js';
import { toLexiconAddress } from './lexicon-entries.js';
import { loading } from './notices.js';
import { missingScope, pageHead } from './page-elements.js';
import { accessChip } from './voice-elements.js';

/** @param {PageContext} pageContext */
export async function showLexicons(pageContext) {
  const [, lexiconId] = pageContext.pathSegments;
  if (lexiconId) return showLexicon(pageContext, lexiconId);
  const { root, api, signal, hasScope } = pageContext;
  const status = loading('Loading the lexicons …');
  const list = element('ul', { class: 'lexicon-list' });
  const mayWrite = hasScope('voices:write');
  fill(root, head(), mayWrite ? newCard(pageContext) : missingScope('create lexicons', 'voices:write'), status, list);
  /** @type {Lexicon[]} */
  const lexicons = await api.list('/api/lexicons', 'lexicons', { signal });
  fill(list, lexicons.map(toItem));
  status.classList.remove('loading');
  const { length } = lexicons;
  fill(
    status,
    length === 0 ? 'There are no lexicons yet.' : length === 1 ? 'One lexicon.' : `${toCount(length)} lexicons.`,
  );
}

const head = () =>
  pageHead({
    back: ['#/voices', 'Voices'],
    title: 'Lexicons',
    lead: 'Pronunciations of words, such as names, products and abbreviations. A request names a lexicon by its id; a voice can always use one.',
  });

/** @param {Lexicon} lexicon */
const toItem = (lexicon) =>
  element(
    'li',
    {},
    element('a', { href: toLexiconAddress(lexicon.lexicon_id) }, lexicon.name),
    ' ',
    accessChip(lexicon),
    element(
      'p',
      { class: 'hint' },
      `${toCount(lexicon.entry_count)} ${lexicon.entry_count === 1 ? 'entry' : 'entries'}, changed ${toTimeAgo(lexicon.updated_at)}`,
    ),
  );

/** @param {PageContext} pageContext */
function newCard({ api, signal, notify, showError }) {
  const name = element('input', { name: 'name', maxlength: 200, autocomplete: 'off' });
  const file = element('input', { type: 'file', accept: '.pls,.xml,.json' });
  const send = element('button', { type: 'submit', class: 'main' }, 'Create the lexicon');
  const form = element(
    'form',
    { class: 'card narrow', novalidate: true },
    element('h2', {}, 'New lexicon'),
    field({ name: 'name', label: 'Name', control: name }),
    field({
      name: 'body',
      label: 'Import a file',
      control: file,
      hint: 'Optional: a PLS document of the W3C, or the JSON of another lexicon.',
    }),
    send,
  );
  onSubmit(form, showError, async () => {
    const text = await file.files?.[0]?.text();
    const request = toRequest(name.value.trim(), text);
    const made = /** @type {Lexicon} */ (await api.requestJson('/api/lexicons', { ...request, signal }));
    location.hash = toLexiconAddress(made.lexicon_id);
    notify(`${made.name} is created.`);
  });
  return form;
}

/**
 * @param {string} name
 * @param {string | undefined} text Content of the imported file; undefined for an empty lexicon.
 */
function toRequest(name, text) {
  if (text === undefined) return { body: { name, entries: [] } };
  if (/^\s*\ufeff?</.test(text)) {
    const query = name ? { name } : {};
    return { body: text, query, headers: { 'Content-Type': 'application/pls+xml' } };
  }
  const read = JSON.parse(text);
  const { name: title, entries } = Array.isArray(read) ? { name: '', entries: read } : read;
  return { body: { name: name || title, entries } };
}

// The entries of a lexicon as an editable table. Shows only the first entries that match the search.
/** @import { LexiconEntry } from '../../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { toCount } from './formatting.js';
import { icon } from './icon.js';

/** Maximum number of rows, because the layout of thousands of rows is slow. */
const rowsMax = 50;

const kinds = /** @type {const} */ ({ alias: 'Say', ipa: 'IPA' });

/** @param {string} lexiconId */
export const toLexiconAddress = (lexiconId) => `#/voices/+lexicons/${encodeURIComponent(lexiconId)}`;

/**
 * @param {object} options
 * @param {LexiconEntry[]} options.entries Modified in place as the user edits the table.
 * @param {boolean} options.mayWrite
 * @param {(entry: LexiconEntry, button: HTMLButtonElement) => void} options.hear
 */
export function createEntryTable({ entries, mayWrite, hear }) {
  const query = element('input', { type: 'search', 'aria-label': 'Search entries', placeholder: 'Search entries' });
  const body = element('tbody');
  const count = element('p', { class: 'hint', role: 'status' });
  const show = () => {
    const wanted = query.value.trim().toLowerCase();
    const found = entries.filter(({ grapheme }) => grapheme.toLowerCase().includes(wanted));
    fill(body, found.slice(0, rowsMax).map(toRow));
    const all = `${toCount(entries.length)} ${entries.length === 1 ? 'entry' : 'entries'}`;
    count.textContent =
      found.length > rowsMax
        ? `The first ${rowsMax} of ${toCount(found.length)} entries. Search to find others.`
        : `${all}.`;
  };
  /** @param {LexiconEntry} entry */
  const toRow = (entry) => {
    const remove = () => {
      entries.splice(entries.indexOf(entry), 1);
      show();
      query.focus();
    };
    return element(
      'tr',
      {},
      element('td', {}, textInput(entry, 'grapheme', 'Written', mayWrite)),
      element('td', {}, kindSelect(entry, mayWrite)),
      element('td', {}, saidInput(entry, mayWrite)),
      element('td', {}, textInput(entry, 'language_code', 'Language', mayWrite, 'any')),
      element('td', {}, caseBox(entry, mayWrite)),
      element('td', { class: 'entry-buttons' }, hearButton(entry, hear), mayWrite && removeButton(entry, remove)),
    );
  };
  const add = element('button', { type: 'button', hidden: !mayWrite }, 'Add an entry');
  add.addEventListener('click', () => {
    query.value = '';
    entries.unshift({ grapheme: '', alias: '' });
    show();
    body.querySelector('input')?.focus();
  });
  query.addEventListener('input', show);
  show();
  const titles = ['Written', 'How', 'Said', 'Language', 'Any case', 'Try'];
  const root = element(
    'div',
    { class: 'lexicon-entries' },
    element('div', { class: 'row' }, element('div', { class: 'search' }, icon('search'), query), add),
    element(
      'div',
      { class: 'lexicon-table', tabindex: 0, role: 'region', 'aria-label': 'Entries' },
      element(
        'table',
        {},
        element('thead', {}, element('tr', {}, ...titles.map((title) => element('th', { scope: 'col' }, title)))),
        body,
      ),
    ),
    count,
  );
  return { root, show };
}

/**
 * @param {LexiconEntry} entry
 * @param {'grapheme' | 'language_code'} member
 * @param {string} label
 * @param {boolean} mayWrite
 * @param {string} [placeholder]
 */
function textInput(entry, member, label, mayWrite, placeholder) {
  const input = element('input', { 'aria-label': label, value: entry[member] ?? '', placeholder, readonly: !mayWrite });
  input.addEventListener('input', () => {
    const text = input.value.trim();
    if (member === 'grapheme' || text !== '') entry[member] = text;
    else delete entry[member];
  });
  return input;
}

/**
 * @param {LexiconEntry} entry
 * @param {boolean} mayWrite
 */
function saidInput(entry, mayWrite) {
  const value = entry.phoneme ?? entry.alias ?? '';
  const input = element('input', { 'aria-label': 'Said', class: 'said', value, readonly: !mayWrite });
  input.addEventListener('input', () => {
    entry[entry.phoneme === undefined ? 'alias' : 'phoneme'] = input.value.trim();
  });
  return input;
}

/**
 * @param {LexiconEntry} entry
 * @param {boolean} mayWrite
 */
function kindSelect(entry, mayWrite) {
  const options = Object.entries(kinds).map(([value, text]) => element('option', { value }, text));
  const select = element('select', { 'aria-label': 'How', disabled: !mayWrite }, options);
  select.value = entry.phoneme === undefined ? 'alias' : (entry.alphabet ?? 'ipa');
  select.addEventListener('change', () => {
    const said = entry.phoneme ?? entry.alias ?? '';
    delete entry.alias;
    delete entry.phoneme;
    delete entry.alphabet;
    if (select.value === 'alias') entry.alias = said;
    else Object.assign(entry, { phoneme: said, alphabet: select.value });
  });
  return select;
}

/**
 * @param {LexiconEntry} entry
 * @param {boolean} mayWrite
 */
function caseBox(entry, mayWrite) {
  const checked = entry.case === 'insensitive';
  const box = element('input', { type: 'checkbox', 'aria-label': 'Any case', checked, disabled: !mayWrite });
  box.addEventListener('change', () => {
    if (box.checked) entry.case = 'insensitive';
    else delete entry.case;
  });
  return box;
}

/**
 * @param {LexiconEntry} entry
 * @param {(entry: LexiconEntry, button: HTMLButtonElement) => void} hear
 */
function hearButton(entry, hear) {
  const button = element(
    'button',
    { type: 'button', class: 'quiet', 'aria-label': 'Hear it', 'aria-pressed': 'false' },
    icon('play'),
  );
  button.addEventListener('click', () => hear(entry, button));
  return button;
}

/**
 * @param {LexiconEntry} entry
 * @param {() => void} onclick
 */
const removeButton = (entry, onclick) =>
  element(
    'button',
    { type: 'button', class: 'quiet', 'aria-label': `Remove ${entry.grapheme || 'the entry'}`, onclick },
    icon('close'),
  );

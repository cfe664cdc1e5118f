// All voices, as a list to look through and to listen to.
/** @import { Desk } from './page.d.ts' */
/** @import { Voice } from './wire.d.ts' */
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { loading } from './notices.js';
import { findVoices, languagesOf, toLanguageName } from './voice-names.js';
import { createPreview } from './voice-picker.js';
import { previewButton, statusChip, toVoiceAddress } from './voice-words.js';
import { toCount } from './wording.js';

/** So many at once; a browser takes its time to lay out thousands. */
const shownAtOnce = 60;

/** @param {Desk} desk */
export async function showVoiceList({ room, api, may, signal, complain }) {
  const preview = createPreview({ api, signal, complain });
  const list = element('ul', { class: 'voice-list' });
  const told = loading('Loading the voices …');
  const more = element('button', { type: 'button', hidden: true }, 'Show more');
  const filters = element('form', { class: 'filters', role: 'search', 'aria-label': 'Voices' });
  filters.addEventListener('submit', (event) => event.preventDefault());
  fill(room, head(may('voices:write')), filters, told, list, more);

  /** @type {Voice[]} */
  const voices = await api.list('/api/voices', 'voices', { signal });
  told.classList.remove('loading');
  // What was made here before what came with engines.
  voices.sort(
    (one, other) =>
      Number(other.created_at !== null) - Number(one.created_at !== null) || one.name.localeCompare(other.name),
  );
  fill(filters, ...toFilters(voices));

  let shown = shownAtOnce;
  const show = () => {
    // The button that would stop it goes.
    preview.stop();
    const [query = '', language = '', engine, kind] = ['query', 'language', 'engine', 'kind'].map((name) =>
      String(new FormData(filters).get(name) ?? ''),
    );
    const found = findVoices(voices, { query, language }).filter(
      (voice) => (!engine || voice.engine === engine) && (!kind || voice.kind === kind),
    );
    fill(
      list,
      found.slice(0, shown).map((voice) => toItem(voice, previewButton(preview, voice))),
    );
    more.hidden = found.length <= shown;
    const all = voices.length === 1 ? 'One voice' : `${toCount(voices.length)} voices`;
    fill(told, found.length === voices.length ? `${all}.` : `${toCount(found.length)} of ${toCount(voices.length)}.`);
    if (voices.length === 0) fill(told, 'There are no voices that this key may speak with.');
    else if (found.length === 0) fill(told, 'No voice is like that. Take a filter away.');
  };
  filters.addEventListener('input', () => {
    shown = shownAtOnce;
    show();
  });
  more.addEventListener('click', () => {
    const next = shown;
    shown += shownAtOnce;
    show();
    list.children[next]?.querySelector('a')?.focus();
  });
  show();
}

/** @param {boolean} mayMake */
const head = (mayMake) =>
  element(
    'div',
    { class: 'page-head' },
    element(
      'div',
      {},
      element('h1', {}, 'Voices'),
      element('p', { class: 'lead' }, 'Everyone who can speak here. Listen, and choose.'),
    ),
    mayMake &&
      element(
        'div',
        { class: 'row' },
        element('a', { class: 'button', href: '#/voices/+new' }, 'New voice'),
        element('a', { class: 'button main', href: '#/voices/+clone' }, icon('record'), 'Clone a voice'),
      ),
  );

/** @param {readonly Voice[]} voices */
function toFilters(voices) {
  const engines = [...new Set(voices.map(({ engine }) => engine))].sort();
  /** @type {(name: string, label: string, all: string, options: (readonly [string, string])[]) => HTMLElement} */
  const select = (name, label, all, options) =>
    element(
      'label',
      {},
      element('span', { class: 'sr-only' }, label),
      element(
        'select',
        { name },
        ...[['', all], ...options].map(([value, text]) => element('option', { value }, text)),
      ),
    );
  return [
    element(
      'label',
      { class: 'search' },
      element('span', { class: 'sr-only' }, 'Search'),
      icon('search'),
      element('input', { type: 'search', name: 'query', placeholder: 'Name, description or label' }),
    ),
    select(
      'language',
      'Language',
      'All languages',
      languagesOf(voices).map(({ code, name }) => [code, name]),
    ),
    select(
      'engine',
      'Engine',
      'All engines',
      engines.map((engine) => [engine, engine]),
    ),
    select('kind', 'Kind', 'All kinds', [
      ['stock', 'Stock'],
      ['cloned', 'Cloned'],
    ]),
  ];
}

/**
 * @param {Voice} voice
 * @param {HTMLElement} listen
 */
function toItem(voice, listen) {
  const { voice_id, name, description, kind, engine, language_codes } = voice;
  // `en` says nothing more where there is `en-US`.
  const own = language_codes.filter((code) => !language_codes.some((other) => other.startsWith(`${code}-`)));
  const [first = '', ...others] = own;
  const languages = `${toLanguageName(first)}${others.length > 0 ? ` and ${others.length} more` : ''}`;
  return element(
    'li',
    { class: 'card' },
    listen,
    element(
      'div',
      { class: 'about' },
      element('a', { href: toVoiceAddress(voice_id) }, name),
      kind === 'cloned' && element('span', { class: 'chip' }, 'cloned'),
      statusChip(voice),
      element('p', { class: 'hint' }, description),
      element('p', { class: 'facts' }, element('code', {}, voice_id), ` · ${languages} · ${engine}`),
    ),
  );
}

// The list of all voices, with filters and a sample of each voice.
/** @import { PageContext } from './page.d.ts' */
/** @import { Voice } from '../../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { toCount } from './formatting.js';
import { icon } from './icon.js';
import { loading } from './notices.js';
import { pageHead } from './page-elements.js';
import { createRoving } from './roving.js';
import { accessChip, filterSelect, previewButton, statusChip, toVoiceAddress } from './voice-elements.js';
import { createPreview } from './voice-preview.js';
import { findVoices, languagesOf, sortVoices, toVoiceLanguages } from './voice-search.js';

/** Number of voices shown at first and added per click, because the layout of thousands of voices is slow. */
const pageSize = 60;

/** @param {PageContext} pageContext */
export async function showVoiceList({ root, api, hasScope, signal, showError, pathSegments }) {
  const preview = createPreview({ api, signal, showError });
  const list = element('ul', { class: 'voice-list' });
  const status = loading('Loading the voices …');
  const more = element('button', { type: 'button', hidden: true }, 'Show more');
  const filters = element('form', { class: 'filters', role: 'search', 'aria-label': 'Voices' });
  filters.addEventListener('submit', (event) => event.preventDefault());
  fill(root, head(hasScope('voices:write')), filters, status, list, more);

  /** @type {Voice[]} */
  const voices = sortVoices(await api.list('/api/voices', 'voices', { signal }));
  status.classList.remove('loading');
  fill(filters, ...toFilters(voices, pathSegments[1] ?? ''));

  let shown = pageSize;
  const letFirstFocus = createRoving(list, 'li');
  const show = () => {
    // Stops the sample, because its stop button is about to be removed.
    preview.stop();
    const [query = '', language = '', engine, kind] = ['query', 'language', 'engine', 'kind'].map((name) =>
      String(new FormData(filters).get(name) ?? ''),
    );
    const found = findVoices(voices, { query, language }).filter(
      (voice) => (!engine || voice.engine === engine) && (!kind || kindsOf(voice).includes(kind)),
    );
    fill(
      list,
      found.slice(0, shown).map((voice) => toItem(voice, previewButton(preview, voice))),
    );
    letFirstFocus();
    more.hidden = found.length <= shown;
    const all = voices.length === 1 ? 'One voice' : `${toCount(voices.length)} voices`;
    fill(status, found.length === voices.length ? `${all}.` : `${toCount(found.length)} of ${toCount(voices.length)}.`);
    if (voices.length === 0) fill(status, 'No voices are available to this key.');
    else if (found.length === 0) fill(status, 'No voice matches. Remove a filter.');
  };
  filters.addEventListener('input', () => {
    shown = pageSize;
    show();
  });
  more.addEventListener('click', () => {
    const next = shown;
    shown += pageSize;
    show();
    list.children[next]?.querySelector('a')?.focus();
  });
  show();
}

/** @param {boolean} mayCreate */
const head = (mayCreate) =>
  pageHead({
    title: 'Voices',
    lead: 'All voices that this key may use. Play a sample to choose one.',
    actions: [
      element('a', { class: 'button', href: '#/voices/+models' }, 'Models'),
      element('a', { class: 'button', href: '#/voices/+lexicons' }, 'Lexicons'),
      mayCreate && element('a', { class: 'button', href: '#/voices/+new' }, 'New voice'),
      mayCreate && element('a', { class: 'button main', href: '#/voices/+clone' }, icon('record'), 'Clone a voice'),
    ],
  });

/**
 * @param {readonly Voice[]} voices
 * @param {string} words
 */
function toFilters(voices, words) {
  const engines = [...new Set(voices.map(({ engine }) => engine))].sort();
  return [
    element(
      'label',
      { class: 'search' },
      element('span', { class: 'sr-only' }, 'Search'),
      icon('search'),
      element('input', { type: 'search', name: 'query', value: words, placeholder: 'Name, description or label' }),
    ),
    filterSelect('language', 'Language', [
      ['', 'All languages'],
      ...languagesOf(voices).map(({ code, name }) => /** @type {const} */ ([code, name])),
    ]),
    filterSelect('engine', 'Engine', [
      ['', 'All engines'],
      ...engines.map((engine) => /** @type {const} */ ([engine, engine])),
    ]),
    filterSelect('kind', 'Kind', [
      ['', 'All kinds'],
      ['natural', 'Natural'],
      ['synthetic', 'Synthetic'],
      ['cloned', 'Cloned'],
    ]),
  ];
}

/** @param {Voice} voice */
const kindsOf = ({ natural, kind }) => [natural ? 'natural' : 'synthetic', kind];

/**
 * @param {Voice} voice
 * @param {HTMLElement} listen
 */
function toItem(voice, listen) {
  const { voice_id, name, description, kind, engine, natural } = voice;
  const facts = [toVoiceLanguages(voice), engine].filter(Boolean);
  return element(
    'li',
    { class: 'card' },
    listen,
    element(
      'div',
      { class: 'about' },
      element('a', { href: toVoiceAddress(voice_id) }, name),
      natural && element('span', { class: 'chip' }, 'natural'),
      kind === 'cloned' && element('span', { class: 'chip' }, 'cloned'),
      accessChip(voice),
      statusChip(voice),
      element('p', { class: 'hint' }, description),
      element('p', { class: 'facts' }, element('code', {}, voice_id), ...facts.map((fact) => ` · ${fact}`)),
    ),
  );
}

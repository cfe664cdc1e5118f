// A radio group to choose a voice, with a search field, a language filter and a sample of each voice.
/** @import { Preview } from './voice-preview.js' */
/** @import { Voice } from '../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { icon } from './icon.js';
import {
  favourites,
  findVoices,
  languagesOf,
  rankOf,
  sortVoices,
  toggleFavourite,
  toLanguageNames,
} from './voice-search.js';

/** Maximum number of listed voices. A search finds the other voices. */
const shownMax = 150;

/**
 * @param {object} options
 * @param {readonly Voice[]} options.voices
 * @param {string} options.chosenId
 * @param {(voice: Voice) => void} options.onChoose
 * @param {Preview} options.preview
 */
export function createVoicePicker({ voices, chosenId, onChoose, preview }) {
  let chosen = chosenId;
  const languages = languagesOf(voices);
  const query = element('input', { type: 'search', 'aria-label': 'Search voices', placeholder: 'Search voices' });
  const language = element(
    'select',
    { 'aria-label': 'Language of the voices' },
    element('option', { value: '' }, 'All languages'),
    languages.map(({ code, name }) => element('option', { value: code }, name)),
  );
  const list = element('div', { class: 'voices-found', role: 'radiogroup', 'aria-label': 'Voice' });
  const count = element('p', { class: 'hint', role: 'status' });

  const show = () => {
    preview.stop();
    const found = sortVoices(findVoices(voices, { query: query.value, language: language.value }));
    const first = found.slice(0, shownMax);
    const chosenBeyond = found.slice(shownMax).filter(({ voice_id }) => voice_id === chosen);
    fill(list, toGroups([...chosenBeyond, ...first]));
    showFocus();
    const isAll = found.length === voices.length;
    count.textContent =
      found.length > shownMax
        ? `The first ${shownMax} of ${found.length} voices. Search to find others.`
        : isAll
          ? ''
          : `${found.length} of ${voices.length} voices`;
  };
  /** @param {readonly Voice[]} found */
  const toGroups = (found) => {
    const groups = Object.groupBy(found, (voice) => groupOf(rankOf(voice)));
    const named = Object.keys(groups).length > 1;
    return Object.entries(groups).flatMap(([name, members = []]) => [
      named && element('p', { class: 'group' }, name),
      ...members.map(toItem),
    ]);
  };
  /** Tab reaches the chosen voice and its buttons only; arrow keys choose another voice. */
  const showFocus = () => {
    for (const button of list.querySelectorAll('button'))
      button.tabIndex = button.parentElement?.querySelector(':checked') ? 0 : -1;
  };
  /** @param {Voice} voice */
  const toItem = (voice) => {
    const { voice_id, name, kind, language_codes } = voice;
    const radio = element('input', {
      type: 'radio',
      name: 'voice',
      value: voice_id,
      checked: voice_id === chosen,
      onchange: () => {
        chosen = voice_id;
        showFocus();
        onChoose(voice);
      },
    });
    const about = [toLanguageNames(language_codes), kind === 'cloned' && 'cloned'];
    return element(
      'div',
      { class: 'voice' },
      element(
        'label',
        {},
        radio,
        element('span', { class: 'name' }, name),
        element('span', { class: 'about' }, about.filter(Boolean).join(' · ')),
      ),
      favouriteButton(voice),
      preview.button(voice),
    );
  };
  query.addEventListener('input', show);
  language.addEventListener('change', show);
  show();
  const isShort = voices.length < 6;
  const root = element(
    'div',
    { class: 'voice-picker' },
    !isShort && element('div', { class: 'search' }, icon('search'), query),
    !isShort && languages.length > 1 && language,
    list,
    count,
  );
  return {
    root,
    /** @param {string} voiceId */
    choose(voiceId) {
      const voice = voices.find(({ voice_id }) => voice_id === voiceId);
      if (!voice) return;
      chosen = voiceId;
      query.value = language.value = '';
      show();
      onChoose(voice);
    },
  };
}

/** @param {number} rank */
const groupOf = (rank) =>
  rank < 0 ? 'Favourites' : rank === Number.POSITIVE_INFINITY ? 'Other languages' : 'Your languages';

/** @param {Voice} voice */
function favouriteButton({ voice_id, name }) {
  const onclick = () => {
    toggleFavourite(voice_id);
    button.setAttribute('aria-pressed', String(favourites.has(voice_id)));
  };
  const label = { 'aria-label': `Favourite: ${name}`, 'aria-pressed': String(favourites.has(voice_id)) };
  const button = element('button', { type: 'button', class: 'quiet favourite', ...label, onclick }, icon('star'));
  return button;
}

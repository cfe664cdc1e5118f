// A radio group to choose a voice, with a search field, a language filter and a sample of each voice.
/** @import { Preview } from './voice-preview.js' */
/** @import { Voice } from '../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { findVoices, languagesOf, toLanguageNames } from './voice-search.js';

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
    const found = findVoices(voices, { query: query.value, language: language.value });
    const first = found.slice(0, shownMax);
    const chosenBeyond = found.slice(shownMax).filter(({ voice_id }) => voice_id === chosen);
    fill(list, [...chosenBeyond, ...first].map(toItem));
    const isAll = found.length === voices.length;
    count.textContent =
      found.length > shownMax
        ? `The first ${shownMax} of ${found.length} voices. Search to find others.`
        : isAll
          ? ''
          : `${found.length} of ${voices.length} voices`;
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
      preview.button(voice),
    );
  };
  query.addEventListener('input', show);
  language.addEventListener('change', show);
  show();
  const isShort = voices.length < 6;
  return element(
    'div',
    { class: 'voice-picker' },
    !isShort && element('div', { class: 'search' }, icon('search'), query),
    !isShort && languages.length > 1 && language,
    list,
    count,
  );
}

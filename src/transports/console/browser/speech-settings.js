// The settings of the Speak page: voice, language, speed and sample rate. The chosen voice is stored on this device.
/** @import { Voice } from '../../../../gen/openapi.ts' */
/** @import { Preview } from './voice-preview.js' */
import { readItem, storeItem } from './browser-storage.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';
import {
  baseOf,
  distinctCodes,
  favourites,
  findVoices,
  languagesOf,
  rankOf,
  sortVoices,
  toggleFavourite,
  toLanguageName,
  toVoiceLanguages,
} from './voice-search.js';

/** Name of the storage item for the chosen voice. */
export const voiceItem = 'sonant-voice';
/** The speed slider is logarithmic and ranges from 1/4 to 4 times the normal speed. */
const octaves = 2;

/**
 * @param {object} options
 * @param {readonly Voice[]} options.voices Must not be empty.
 * @param {string | undefined} options.voiceId The voice id in the page address.
 * @param {Preview} options.preview
 * @param {() => void} options.onChange
 */
export function createSpeechSettings({ voices, voiceId, preview, onChange }) {
  const initialId = voiceId ?? readItem(voiceItem);
  let voice = voices.find(({ voice_id }) => voice_id === initialId) ?? /** @type {Voice} */ (voices[0]);
  const update = () => {
    const label = speed.show(voice);
    const facts = [...language.label(), label].map((fact) => ` · ${fact}`);
    fill(summary, element('strong', {}, voice.name), ...facts);
    onChange();
  };
  const summary = element('summary', {});
  const language = createLanguageField(update);
  const speed = createSpeedField(update);
  const rates = voice.capabilities.sample_rates;
  const rate = element(
    'select',
    { id: 'sample-rate', onchange: update },
    rates.map((hertz) => element('option', { value: hertz }, `${hertz / 1000} kHz`)),
  );
  const picker = createVoicePicker({
    voices,
    chosenId: voice.voice_id,
    preview,
    onChoose(chosen) {
      voice = chosen;
      language.show(chosen);
      storeItem(voiceItem, chosen.voice_id, 'device');
      update();
    },
  });
  const root = element(
    'details',
    { class: 'card settings' },
    summary,
    element('h2', {}, 'Voice'),
    picker.root,
    language.root,
    speed.root,
    element('div', { class: 'field' }, element('label', { for: 'sample-rate' }, 'Sample rate'), rate),
  );
  language.show(voice);

  return {
    root,
    /** Shows the initial values and scrolls to the chosen voice. Call this after adding the element to the document. */
    start() {
      update();
      const list = picker.root.querySelector('.voices-found');
      const chosen = list?.querySelector('.voice:has(:checked)');
      if (list && chosen) list.scrollTop += chosen.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;
    },
    /** Restores the settings of an earlier speech. @param {import('./speech-stream.js').Speech} speech */
    use({ voiceId, languageCode, sampleRateHz, speakingRate }) {
      picker.choose(voiceId);
      language.choose(languageCode);
      rate.value = String(sampleRateHz);
      speed.choose(speakingRate);
      update();
    },
    get values() {
      return {
        voiceId: voice.voice_id,
        languageCode: language.code(),
        sampleRateHz: Number(rate.value),
        speakingRate: speed.value(voice),
      };
    },
  };
}

/** The language code that lets the service choose the language of each sentence. */
const automatic = 'auto';

/**
 * Creates the language field, which is visible only for voices with several languages.
 * @param {() => void} onchange
 */
function createLanguageField(onchange) {
  const select = element('select', { id: 'language', onchange });
  const root = element('div', { class: 'field' }, element('label', { for: 'language' }, 'Language'), select);
  return {
    root,
    code: () => select.value,
    /** The name of the language, if there is a choice. */
    label: () => (root.hidden ? [] : [select.selectedOptions[0]?.text ?? '']),
    /** @param {string} code */
    choose(code) {
      select.value = code;
    },
    /** @param {Voice} voice */
    show({ language_codes }) {
      const codes = distinctCodes(language_codes);
      fill(
        select,
        codes.map((code) => element('option', { value: code }, toLanguageName(code) || code)),
        new Set(codes.map(baseOf)).size > 1 && element('option', { value: automatic }, 'Each sentence in its own'),
      );
      root.hidden = codes.length < 2;
    },
  };
}

/** @param {() => void} oninput */
function createSpeedField(oninput) {
  const slider = element('input', {
    type: 'range',
    id: 'speed',
    min: -octaves,
    max: octaves,
    step: 0.1,
    value: 0,
    oninput,
  });
  // The aria-valuetext of the slider already announces the value.
  const output = element('output', { for: 'speed', 'aria-live': 'off' });
  /** @param {Voice} voice */
  const value = ({ capabilities: { speaking_rate: range } }) => {
    const rounded = Math.round(2 ** Number(slider.value) * 20) / 20;
    return Math.min(Math.max(rounded, range.min), range.max);
  };
  return {
    root: element('div', { class: 'field speed' }, element('label', { for: 'speed' }, 'Speed'), output, slider),
    value,
    /** @param {number} rate */
    choose(rate) {
      slider.value = String(Math.log2(rate));
    },
    /** Shows the value and returns its label. @param {Voice} voice */
    show(voice) {
      const label = `${value(voice).toFixed(2)}×`;
      output.textContent = label;
      slider.setAttribute('aria-valuetext', `${value(voice)} times`);
      return label;
    },
  };
}

/**
 * @param {HTMLDetailsElement} details
 * @param {AbortSignal} signal
 */
export function expandWhenWide(details, signal) {
  const isWide = matchMedia('(min-width: 60rem)');
  const update = () => {
    details.open = isWide.matches;
  };
  isWide.addEventListener('change', update, { signal });
  update();
}

/** Maximum number of listed voices. A search finds the other voices. */
const shownMax = 150;

/**
 * @param {object} options
 * @param {readonly Voice[]} options.voices
 * @param {string} options.chosenId
 * @param {(voice: Voice) => void} options.onChoose
 * @param {Preview} options.preview
 */
function createVoicePicker({ voices, chosenId, onChoose, preview }) {
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
  /** Tab reaches only the chosen voice and its buttons. Arrow keys choose another voice. */
  const showFocus = () => {
    for (const button of list.querySelectorAll('button'))
      button.tabIndex = button.parentElement?.querySelector(':checked') ? 0 : -1;
  };
  /** @param {Voice} voice */
  const toItem = (voice) => {
    const { voice_id, name, kind } = voice;
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
    const about = [toVoiceLanguages(voice), voice.natural && 'natural', kind === 'cloned' && 'cloned'];
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

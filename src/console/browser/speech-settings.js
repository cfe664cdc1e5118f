// The settings of the Speak page: voice, language, speed and sample rate. The chosen voice is stored on this device.
/** @import { Voice } from '../../../gen/openapi.ts' */
/** @import { Preview } from './voice-preview.js' */
import { readItem, storeItem } from './browser-storage.js';
import { element, fill } from './element.js';
import { createVoicePicker } from './voice-picker.js';
import { toLanguageName } from './voice-search.js';

/** Name of the storage item for the chosen voice. */
export const voiceItem = 'sonant-voice';
/** The speed slider is logarithmic: from 1/4 to 4 times. */
const octaves = 2;

/**
 * @param {object} options
 * @param {readonly Voice[]} options.voices At least one.
 * @param {string | undefined} options.voiceId The voice that the address names.
 * @param {Preview} options.preview
 * @param {() => void} options.onChange
 */
export function createSpeechSettings({ voices, voiceId, preview, onChange }) {
  const initialId = voiceId ?? readItem(voiceItem);
  let voice = voices.find(({ voice_id }) => voice_id === initialId) ?? /** @type {Voice} */ (voices[0]);
  const update = () => {
    const label = speed.show(voice);
    fill(summary, element('strong', {}, voice.name), ` · ${toName(language.code())} · ${label}`);
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
    /** Shows the initial values and scrolls to the chosen voice; call it once the element is in the document. */
    start() {
      update();
      const list = picker.root.querySelector('.voices-found');
      const chosen = list?.querySelector('.voice:has(:checked)');
      if (list && chosen) list.scrollTop += chosen.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;
    },
    /** Sets the values of an earlier speech. @param {import('./speech-stream.js').Speech} speech */
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

/** Lets the service choose the language of each sentence. */
const automatic = 'auto';

/** @param {string} code */
const toName = (code) => (code === automatic ? 'Each sentence in its own' : toLanguageName(code));

/**
 * Visible only for voices with several languages.
 * @param {() => void} onchange
 */
function createLanguageField(onchange) {
  const select = element('select', { id: 'language', onchange });
  const root = element('div', { class: 'field' }, element('label', { for: 'language' }, 'Language'), select);
  return {
    root,
    code: () => select.value,
    /** @param {string} code */
    choose(code) {
      select.value = code;
    },
    /** @param {Voice} voice */
    show({ language_codes: codes }) {
      fill(
        select,
        codes.map((code) => element('option', { value: code }, toLanguageName(code))),
        new Set(codes.map((code) => code.split('-', 1)[0])).size > 1 &&
          element('option', { value: automatic }, toName(automatic)),
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

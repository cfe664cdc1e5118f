// The settings of the Speak page: voice, language, speed and sample rate. The chosen voice is stored on this device.
/** @import { Voice } from './wire.d.ts' */
/** @import { Preview } from './voice-preview.js' */

import { readItem, storeItem } from './browser-storage.js';
import { element, fill } from './element.js';
import { createVoicePicker } from './voice-picker.js';
import { toLanguageName } from './voice-search.js';

const voiceItem = 'sonant-voice';
/** The speed slider is logarithmic: from 1/4 to 4 times. */
const octaves = 2;

/** @typedef {ReturnType<typeof createSpeechSettings>} SpeechSettings */

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

  const summary = element('summary', {});
  const language = element('select', { id: 'language', onchange: update });
  const languageField = element('div', { class: 'field' }, element('label', { for: 'language' }, 'Language'), language);
  const speed = element('input', {
    type: 'range',
    id: 'speed',
    min: -octaves,
    max: octaves,
    step: 0.1,
    value: 0,
    oninput: update,
  });
  // The aria-valuetext of the slider already announces it.
  const speedText = element('output', { for: 'speed', 'aria-live': 'off' });
  const rate = element(
    'select',
    { id: 'sample-rate', onchange: update },
    voice.capabilities.sample_rates.map((hertz) => element('option', { value: hertz }, `${hertz / 1000} kHz`)),
  );

  function update() {
    const speedLabel = `${speakingRate().toFixed(2)}×`;
    speedText.textContent = speedLabel;
    speed.setAttribute('aria-valuetext', `${speakingRate()} times`);
    fill(summary, element('strong', {}, voice.name), ` · ${toLanguageName(language.value)} · ${speedLabel}`);
    onChange();
  }
  function speakingRate() {
    const { min, max } = voice.capabilities.speaking_rate;
    const rounded = Math.round(2 ** Number(speed.value) * 20) / 20;
    return Math.min(Math.max(rounded, min), max);
  }
  /** @param {Voice} chosen */
  const choose = (chosen) => {
    voice = chosen;
    const codes = voice.language_codes;
    fill(
      language,
      codes.map((code) => element('option', { value: code }, toLanguageName(code))),
    );
    languageField.hidden = codes.length < 2;
  };

  const picker = createVoicePicker({
    voices,
    chosenId: voice.voice_id,
    preview,
    onChoose(chosen) {
      choose(chosen);
      storeItem(voiceItem, chosen.voice_id, 'device');
      update();
    },
  });
  const root = element(
    'details',
    { class: 'card settings' },
    summary,
    element('h2', {}, 'Voice'),
    picker,
    languageField,
    element('div', { class: 'field speed' }, element('label', { for: 'speed' }, 'Speed'), speedText, speed),
    element('div', { class: 'field' }, element('label', { for: 'sample-rate' }, 'Sample rate'), rate),
  );
  choose(voice);

  return {
    root,
    /** Shows the initial values and scrolls to the chosen voice; call it once the element is in the document. */
    start() {
      update();
      const list = picker.querySelector('.voices-found');
      const chosen = list?.querySelector('.voice:has(:checked)');
      if (list && chosen) list.scrollTop += chosen.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;
    },
    get values() {
      const languageCode = language.value;
      return { voiceId: voice.voice_id, languageCode, sampleRateHz: Number(rate.value), speakingRate: speakingRate() };
    },
  };
}

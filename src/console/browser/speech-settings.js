// How it is to be spoken: the voice, its language where it has several, the speed and the sample rate. What was chosen
// is remembered on this device.
/** @import { Voice } from './wire.d.ts' */
/** @import { Preview } from './voice-picker.js' */
import { element, fill } from './element.js';
import { keep, recall } from './kept.js';
import { toLanguageName } from './voice-names.js';
import { createVoicePicker } from './voice-picker.js';

const remembered = 'sonant-voice';
/** Speeds go up and down by the same factor. */
const octaves = 2;

/** @typedef {ReturnType<typeof createSpeechSettings>} SpeechSettings */

/**
 * @param {object} options
 * @param {readonly Voice[]} options.voices At least one.
 * @param {string | undefined} options.voiceId Whom the address asks for.
 * @param {Preview} options.preview
 * @param {() => void} options.onChange
 */
export function createSpeechSettings({ voices, voiceId, preview, onChange }) {
  const wanted = voiceId ?? recall(remembered);
  let voice = voices.find(({ voice_id }) => voice_id === wanted) ?? /** @type {Voice} */ (voices[0]);

  const summary = element('summary', {});
  const language = element('select', { id: 'language', onchange: changed });
  const languageField = element('div', { class: 'field' }, element('label', { for: 'language' }, 'Language'), language);
  const speed = element('input', {
    type: 'range',
    id: 'speed',
    min: -octaves,
    max: octaves,
    step: 0.1,
    value: 0,
    oninput: changed,
  });
  // The slider says it itself.
  const speedSaid = element('output', { for: 'speed', 'aria-live': 'off' });
  const rate = element(
    'select',
    { id: 'sample-rate', onchange: changed },
    voice.capabilities.sample_rates.map((hertz) => element('option', { value: hertz }, `${hertz / 1000} kHz`)),
  );

  function changed() {
    const said = `${speakingRate().toFixed(2)}×`;
    speedSaid.textContent = said;
    speed.setAttribute('aria-valuetext', `${speakingRate()} times`);
    fill(summary, element('strong', {}, voice.name), ` · ${toLanguageName(language.value)} · ${said}`);
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
      keep(remembered, chosen.voice_id, 'device');
      changed();
    },
  });
  const root = element(
    'details',
    { class: 'card settings' },
    summary,
    element('h2', {}, 'Voice'),
    picker,
    languageField,
    element('div', { class: 'field speed' }, element('label', { for: 'speed' }, 'Speed'), speedSaid, speed),
    element('div', { class: 'field' }, element('label', { for: 'sample-rate' }, 'Sample rate'), rate),
  );
  choose(voice);

  return {
    root,
    /** Begins to tell of changes, with the chosen voice in sight. */
    begin() {
      changed();
      const list = picker.querySelector('.voices-found');
      const chosen = list?.querySelector('.voice:has(:checked)');
      if (list && chosen) list.scrollTop += chosen.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;
    },
    get voice() {
      return voice;
    },
    get sampleRateHz() {
      return Number(rate.value);
    },
    get asked() {
      const languageCode = language.value;
      return { voiceId: voice.voice_id, languageCode, sampleRateHz: Number(rate.value), speakingRate: speakingRate() };
    },
  };
}

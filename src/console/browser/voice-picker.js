// The voices to choose from: by language, by words, by ear.
/** @import { Api } from './api.js' */
/** @import { Voice } from './wire.d.ts' */
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { findVoices, languagesOf, toSpokenNames } from './voice-names.js';

/** More are found by searching. */
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
    const chosenOne = found.slice(shownMax).filter(({ voice_id }) => voice_id === chosen);
    fill(list, [...chosenOne, ...first].map(toItem));
    const isAll = found.length === voices.length;
    count.textContent =
      found.length > shownMax
        ? `The first ${shownMax} of ${found.length}; search for more.`
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
    const about = [toSpokenNames(language_codes), kind === 'cloned' && 'cloned'];
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

/** @typedef {ReturnType<typeof createPreview>} Preview */

/**
 * Lets voices be heard saying a sentence, one at a time.
 * @param {{ api: Api, signal: AbortSignal, complain(error: unknown): void }} options
 */
export function createPreview({ api, signal, complain }) {
  const audio = new Audio();
  /** @type {HTMLButtonElement | undefined} */
  let playing;
  let asking = new AbortController();
  let address = '';
  const stop = () => {
    asking.abort();
    audio.pause();
    URL.revokeObjectURL(address);
    if (!playing) return;
    fill(playing, icon('play'));
    playing.setAttribute('aria-pressed', 'false');
    playing = undefined;
  };
  audio.addEventListener('ended', stop);
  signal.addEventListener('abort', stop);

  /**
   * @param {Voice} voice
   * @param {HTMLButtonElement} button
   */
  const play = async ({ voice_id }, button) => {
    stop();
    asking = new AbortController();
    const own = asking.signal;
    playing = button;
    fill(button, icon('stop'));
    button.setAttribute('aria-pressed', 'true');
    try {
      const reply = await api.send(`/api/voices/${encodeURIComponent(voice_id)}/preview`, { signal: own });
      const sound = await reply.blob();
      own.throwIfAborted();
      address = URL.createObjectURL(sound);
      audio.src = address;
      await audio.play();
    } catch (error) {
      if (own.aborted) return;
      stop();
      complain(error);
    }
  };

  return {
    stop,
    /** @param {Voice} voice */
    button(voice) {
      const button = element(
        'button',
        { type: 'button', class: 'quiet preview', 'aria-label': `Hear ${voice.name}`, 'aria-pressed': 'false' },
        icon('play'),
      );
      button.addEventListener('click', () => (playing === button ? stop() : play(voice, button)));
      return button;
    },
  };
}

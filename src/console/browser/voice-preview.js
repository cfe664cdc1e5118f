// Plays a sample of a voice when its button is clicked, one sample at a time.
/** @import { Api } from './api.js' */
/** @import { Voice } from './wire.d.ts' */
import { element, fill } from './element.js';
import { icon } from './icon.js';

/** @typedef {ReturnType<typeof createPreview>} Preview */

/** @param {{ api: Api, signal: AbortSignal, showError(error: unknown): void }} options */
export function createPreview({ api, signal, showError }) {
  const audio = new Audio();
  /** The button of the sample that plays. @type {HTMLButtonElement | undefined} */
  let playing;
  let loadAbort = new AbortController();
  let objectUrl = '';
  const stop = () => {
    loadAbort.abort();
    audio.pause();
    URL.revokeObjectURL(objectUrl);
    if (!playing) return;
    fill(playing, icon('play'));
    playing.setAttribute('aria-pressed', 'false');
    playing = undefined;
  };
  audio.addEventListener('ended', stop);
  signal.addEventListener('abort', stop);

  /**
   * @param {Pick<Voice, 'voice_id'>} voice
   * @param {HTMLButtonElement} button
   */
  const play = async ({ voice_id }, button) => {
    stop();
    loadAbort = new AbortController();
    const own = loadAbort.signal;
    playing = button;
    fill(button, icon('stop'));
    button.setAttribute('aria-pressed', 'true');
    try {
      const reply = await api.send(`/api/voices/${encodeURIComponent(voice_id)}/preview`, { signal: own });
      const sample = await reply.blob();
      own.throwIfAborted();
      objectUrl = URL.createObjectURL(sample);
      audio.src = objectUrl;
      await audio.play();
    } catch (error) {
      if (own.aborted) return;
      stop();
      showError(error);
    }
  };

  return {
    stop,
    /** @param {Pick<Voice, 'voice_id' | 'name'>} voice */
    button(voice) {
      const label = `Play a sample of ${voice.name}`;
      const onclick = () => (playing === button ? stop() : play(voice, button));
      /** @type {HTMLButtonElement} */
      const button = element(
        'button',
        { type: 'button', class: 'quiet preview', 'aria-label': label, 'aria-pressed': 'false', onclick },
        icon('play'),
      );
      return button;
    },
  };
}

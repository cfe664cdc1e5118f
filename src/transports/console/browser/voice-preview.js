// Plays a sample of a voice when its button is clicked, one sample at a time.
/** @import { Voice } from '../../../../gen/openapi.ts' */
/** @import { Api } from './api.js' */
import { element, fill } from './element.js';
import { icon } from './icon.js';

/** @typedef {ReturnType<typeof createPreview>} Preview */

/** @param {{ api: Api, signal: AbortSignal, showError(error: unknown): void }} options */
export function createPreview({ api, signal, showError }) {
  const player = createSamplePlayer({ signal, showError });
  return {
    stop: player.stop,
    /** @param {Pick<Voice, 'voice_id' | 'name'>} voice */
    button({ voice_id, name }) {
      const path = `/api/voices/${encodeURIComponent(voice_id)}/preview`;
      const onclick = () => player.toggle(button, (own) => api.send(path, { signal: own }));
      const label = `Play a sample of ${name}`;
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

/** @param {{ signal: AbortSignal, showError(error: unknown): void }} options */
export function createSamplePlayer({ signal, showError }) {
  const audio = new Audio();
  /** The button of the sample that is playing. @type {HTMLButtonElement | undefined} */
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
  return {
    stop,
    /**
     * @param {HTMLButtonElement} button
     * @param {(signal: AbortSignal) => Promise<Response>} load
     */
    async toggle(button, load) {
      const wasPlaying = playing === button;
      stop();
      if (wasPlaying) return;
      loadAbort = new AbortController();
      const own = loadAbort.signal;
      playing = button;
      fill(button, icon('stop'));
      button.setAttribute('aria-pressed', 'true');
      try {
        const sample = await (await load(own)).blob();
        own.throwIfAborted();
        objectUrl = URL.createObjectURL(sample);
        audio.src = objectUrl;
        await audio.play();
      } catch (error) {
        if (own.aborted) return;
        stop();
        showError(error);
      }
    },
  };
}

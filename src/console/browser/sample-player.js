// Plays samples of sound when their buttons are clicked, one at a time; a second click on the button stops its sample.
import { fill } from './element.js';
import { icon } from './icon.js';

/** @param {{ signal: AbortSignal, showError(error: unknown): void }} options */
export function createSamplePlayer({ signal, showError }) {
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

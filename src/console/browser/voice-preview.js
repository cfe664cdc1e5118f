// Plays a sample of a voice when its button is clicked, one sample at a time.
/** @import { Api } from './api.js' */
/** @import { Voice } from '../../../gen/openapi.ts' */
import { element } from './element.js';
import { icon } from './icon.js';
import { createSamplePlayer } from './sample-player.js';

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

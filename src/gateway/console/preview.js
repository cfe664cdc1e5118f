// The buttons that let a voice be heard: one voice at a time.
/** @import { Api } from './api.js' */
/** @import { Voice } from './wire.d.ts' */
import { element, fill } from './element.js';
import { icon } from './icon.js';

/** @typedef {ReturnType<typeof createPreviews>} Previews */

/** @param {{ api: Api, signal: AbortSignal, complain: (error: unknown) => void }} options */
export function createPreviews({ api, signal, complain }) {
  const sound = new Audio();
  /** @type {Map<string, Promise<string>>} */
  const urls = new Map();
  /** @type {(() => void) | undefined} */
  let rest;

  const stop = () => {
    sound.pause();
    rest?.();
    rest = undefined;
  };
  /** @param {string} voiceId */
  const fetchOnce = (voiceId) => {
    const path = `/api/voices/${encodeURIComponent(voiceId)}/preview`;
    const known =
      urls.get(voiceId) ?? api.send(path, { signal }).then(async (reply) => URL.createObjectURL(await reply.blob()));
    urls.set(voiceId, known);
    known.catch(() => urls.delete(voiceId));
    return known;
  };
  sound.addEventListener('ended', stop);
  signal.addEventListener('abort', () => {
    stop();
    for (const url of urls.values()) url.then(URL.revokeObjectURL, () => {});
  });

  return {
    /**
     * @param {Voice} voice
     * @param {string} [text] What stands on it; else only its sign.
     */
    button({ voice_id, name, status }, text) {
      const button = element('button', { type: 'button', class: text ? 'preview' : 'preview round' });
      button.disabled = status !== 'ready';
      /** @param {'still' | 'waiting' | 'playing'} state */
      const show = (state) => {
        button.dataset.state = state;
        if (!text) button.setAttribute('aria-label', state === 'still' ? `Listen to ${name}` : `Stop ${name}`);
        fill(button, icon(state === 'playing' ? 'stop' : 'play'), text && (state === 'still' ? text : 'Stop'));
      };
      show('still');
      button.addEventListener('click', async () => {
        const isOn = button.dataset.state !== 'still';
        stop();
        if (isOn) return;
        const toRest = () => show('still');
        rest = toRest;
        show('waiting');
        try {
          const url = await fetchOnce(voice_id);
          if (rest !== toRest) return;
          sound.src = url;
          await sound.play();
          show('playing');
        } catch (error) {
          // Another voice was wanted before this one began.
          if (rest !== toRest) return;
          stop();
          if (!signal.aborted) complain(error);
        }
      });
      return button;
    },
  };
}

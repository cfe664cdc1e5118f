// The output of the Speak page: the playback of the current text, and the download once all of it has arrived. One text
// plays at a time; starting another text closes the playback of the previous text.
/** @import { HighlightedText } from './highlighted-text.js' */
/** @import { PageContext } from './page.d.ts' */
/** @import { EndState } from './playback.js' */
/** @import { Speech } from './speech-stream.js' */
/** @import { Voice } from '../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { Playback } from './playback.js';
import { createPlaybackContext } from './player.js';
import { createDownload } from './speech-export.js';
import { performanceMarks } from './speech-stream.js';

/**
 * @typedef {object} PlaybackPanelOptions
 * @property {PageContext} context
 * @property {HighlightedText} textField
 * @property {() => Speech} getSpeech The text and settings to speak.
 * @property {readonly Voice[]} voices
 * @property {() => void} onStateChange Called when streaming starts or ends.
 *
 * @typedef {ReturnType<typeof createPlaybackPanel>} PlaybackPanel
 */

/** @param {PlaybackPanelOptions} options */
export function createPlaybackPanel({ context, textField, getSpeech, voices, onStateChange }) {
  const { root, api, signal } = context;
  const slot = element('div', {}, emptyPlayback());
  const download = createDownloadSlot(context);
  const status = element('p', { class: 'sr-only', role: 'status' });
  const audioContexts = createAudioContexts();
  /** @type {Playback | undefined} */
  let playback;
  let startCount = 0;

  /** @param {EndState} state */
  const showEnd = (state) => {
    onStateChange();
    fill(status, { done: 'Finished', stopped: 'Stopped', failed: '' }[state]);
    if (state !== 'done' || !playback) return;
    const { voiceId } = playback.speech;
    const voice = voices.find(({ voice_id }) => voice_id === voiceId);
    download.show(playback, voice?.capabilities.output_formats ?? []);
  };

  // Created at the first user gesture, the audio context does not delay the first sound.
  const prepare = () => audioContexts.get(getSpeech().sampleRateHz);
  root.addEventListener('pointerdown', prepare, { once: true, signal });
  root.addEventListener('keydown', prepare, { once: true, signal });
  addEventListener('resize', () => playback?.redraw(), { signal });
  signal.addEventListener('abort', async () => {
    await playback?.close();
    audioContexts.close();
  });

  return {
    playback: slot,
    download: download.root,
    status,
    get isStreaming() {
      return playback?.state === 'streaming';
    },
    get hasPlayed() {
      return startCount > 0;
    },
    async start() {
      for (const name of Object.values(performanceMarks)) performance.clearMarks(name);
      performance.clearMeasures(performanceMarks.firstSound);
      performance.mark(performanceMarks.click);
      download.clear();
      const ownCount = ++startCount;
      // Both playbacks may share one audio context, so the old one closes first.
      await playback?.close();
      // The user may have clicked again or left the page in the meantime.
      if (ownCount !== startCount || signal.aborted) return;
      const speech = getSpeech();
      playback = new Playback({
        api,
        speech,
        audio: audioContexts.get(speech.sampleRateHz),
        textField,
        onEnd: showEnd,
      });
      fill(slot, playback.root);
      onStateChange();
      fill(status, 'Speaking');
    },
    stop() {
      if (playback?.state === 'streaming') playback.stop();
    },
  };
}

/** @param {PageContext} context */
function createDownloadSlot(context) {
  const root = element('div', { class: 'export', hidden: true });
  /** Aborting it revokes the object URLs of the files. */
  let abort = new AbortController();
  return {
    root,
    /**
     * @param {Playback} playback
     * @param {readonly string[]} formats
     */
    show({ speech, samples }, formats) {
      abort = new AbortController();
      const options = { ...context, signal: AbortSignal.any([context.signal, abort.signal]) };
      fill(root, createDownload({ speech, formats, samples }, options));
      root.hidden = false;
    },
    clear() {
      abort.abort();
      fill(root);
      root.hidden = true;
    },
  };
}

/** One audio context per sample rate, reused until the user leaves the page. */
function createAudioContexts() {
  /** @type {Map<number, ReturnType<typeof createPlaybackContext>>} */
  const byRate = new Map();
  return {
    /** @param {number} sampleRateHz */
    get(sampleRateHz) {
      const audio = byRate.get(sampleRateHz) ?? createPlaybackContext(sampleRateHz);
      byRate.set(sampleRateHz, audio);
      return audio;
    },
    close() {
      for (const { context } of byRate.values()) void context.close();
    },
  };
}

const emptyPlayback = () =>
  element(
    'section',
    { class: 'card sound empty', 'aria-label': 'Audio' },
    element('p', {}, 'The audio appears here while it is streamed.'),
  );

// Plays one speech while it is streamed, with a waveform, highlighted words and figures such as the time to first
// audio. After the end, the audio can be played again. If the stream fails, a notice states when the audio was cut off.
// A playback continues after the user leaves its page.
/** @import { Api } from './api.js' */
/** @import { HighlightedText } from './highlighted-text.js' */
/** @import { Voice } from '../../../../gen/openapi.ts' */
/** @import { Speech, Word } from './speech-stream.js' */
import { ApiError } from './api.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { toErrorElements } from './notices.js';
import { Player } from './player.js';
import { performanceMarks, streamSpeech } from './speech-stream.js';
import { countChars, createIndexOf } from './text-chunks.js';
import { createWaveform } from './waveform.js';

/** Assumed duration of a character in seconds, used until word times arrive. */
const secondsPerChar = 0.065;

/**
 * @typedef {'done' | 'stopped' | 'failed'} EndState
 *
 * @typedef {object} PlaybackOptions
 * @property {Api} api
 * @property {Speech} speech
 * @property {string} text
 * @property {Voice} voice
 * @property {ReturnType<typeof import('./player.js').createPlaybackContext>} audio
 * @property {() => void} onChange Called when the stream ends, and when playback starts, pauses or ends.
 */

export class Playback {
  root;
  speech;
  text;
  voice;
  /** The field that highlights the spoken word, while a page shows the text. @type {HighlightedText | undefined} */
  textField;
  /** @type {'streaming' | EndState} */
  state = 'streaming';
  #onChange;
  #player;
  #waveform;
  #view;
  #abort = new AbortController();
  /** Header of the WAV file, with unknown sizes. @type {Uint8Array<ArrayBuffer>} */
  #wavHead = new Uint8Array();
  /** @type {Word[]} */
  #words = [];
  #wasPlaying = false;
  #animationFrame = 0;
  #startedMs = performance.now();
  /** @type {PerformanceMeasure | undefined} */
  #firstSound;
  #streamedMs = 0;

  /**
   * Starts to stream and play at once.
   * @param {PlaybackOptions} options
   */
  constructor({ api, speech, text, voice, audio, onChange }) {
    const { sampleRateHz } = speech;
    this.speech = speech;
    this.text = text;
    this.voice = voice;
    this.#onChange = onChange;
    this.#waveform = createWaveform({ sampleRateHz, onSeek: (seconds) => this.#seek(seconds) });
    this.#view = createView(this.#waveform.root, () => this.togglePlay());
    this.root = this.#view.root;
    this.#player = new Player(audio, {
      sampleRateHz,
      onFirstSample: () => {
        performance.mark(performanceMarks.firstSample);
        const { click, firstSample, firstSound } = performanceMarks;
        this.#firstSound = performance.measure(firstSound, click, firstSample);
        this.#showStats();
      },
      onEnd: () => this.redraw(),
    });
    this.#showStats();
    this.redraw();
    void this.play();
    void this.#stream(api);
  }

  /** Cancels the stream and pauses. */
  stop() {
    this.#abort.abort(new DOMException('It was stopped.', 'AbortError'));
    void this.pause();
  }

  /** Cancels the stream and releases the audio output; `play` opens it again. */
  async close() {
    this.#abort.abort(new DOMException('It was closed.', 'AbortError'));
    await this.#player.close();
    this.redraw();
  }

  get isPlaying() {
    return this.#player.isPlaying;
  }

  get seconds() {
    return this.#player.pushedSeconds;
  }

  redraw() {
    cancelAnimationFrame(this.#animationFrame);
    const { seconds, pushedSeconds, isPlaying, report } = this.#player;
    const { time, toggle } = this.#view;
    this.#waveform.expect(this.#expectedSeconds());
    const isScaling = this.#waveform.draw(seconds);
    const isUnedited = this.textField?.text === this.text;
    if (isUnedited && seconds > 0 && !report.isOver) this.textField?.highlight(this.#words, seconds);
    else this.textField?.clear();
    time.textContent = `${toClock(seconds)} / ${toClock(pushedSeconds)}`;
    const label = isPlaying ? 'Pause' : 'Play';
    if (toggle.getAttribute('aria-label') !== label) {
      toggle.setAttribute('aria-label', label);
      fill(toggle, icon(isPlaying ? 'pause' : 'play'));
    }
    this.#exposeState();
    if (isPlaying !== this.#wasPlaying) {
      this.#wasPlaying = isPlaying;
      this.#onChange();
    }
    if (isPlaying || isScaling || this.state === 'streaming')
      this.#animationFrame = requestAnimationFrame(() => this.redraw());
  }

  /** Sets data attributes for tests and diagnostics. */
  #exposeState() {
    const { played, checksum, underruns, isOver } = this.#player.report;
    Object.assign(this.root.dataset, {
      state: this.state,
      played: String(played),
      checksum: String(checksum),
      underruns: String(underruns),
      over: String(isOver),
    });
  }

  #expectedSeconds() {
    const { pushedSeconds } = this.#player;
    if (this.state !== 'streaming') return pushedSeconds;
    const { chunks, speakingRate } = this.speech;
    const fraction = (this.#words.at(-1)?.to ?? 0) / this.text.length;
    if (fraction > 0.02) return pushedSeconds / fraction;
    const chars = chunks.reduce((sum, chunk) => sum + countChars(chunk.text), 0);
    return (chars * secondsPerChar) / speakingRate;
  }

  #showStats() {
    const { pushedSeconds, report } = this.#player;
    const hasLength = this.state !== 'streaming' && pushedSeconds > 0;
    const rows = [
      ['First audio', this.#firstSound && `${Math.round(this.#firstSound.duration)} ms`],
      ['Length', hasLength && `${pushedSeconds.toFixed(1)} s`],
      ['Streamed in', this.state === 'done' && `${(this.#streamedMs / 1000).toFixed(2)} s`],
      ['Gaps', report.underruns > 0 && String(report.underruns)],
    ];
    fill(
      this.#view.stats,
      rows
        .filter(([, value]) => value)
        .map(([name, value]) => element('span', {}, `${name} `, element('strong', {}, value))),
    );
  }

  /** @param {number} seconds */
  #seek(seconds) {
    void this.#player.seek(seconds).then(() => this.redraw());
    this.redraw();
  }

  async play() {
    try {
      await this.#player.play();
      this.redraw();
    } catch {
      fill(
        this.#view.errors,
        element('p', { class: 'cut-off' }, 'This browser does not allow the page to play audio.'),
      );
    }
  }

  /**
   * The received audio as a file, if its format needs no encoding.
   * @param {string} format
   */
  file(format) {
    const samples = this.#player.samples();
    if (format === 'pcm') return new Blob([samples], { type: 'audio/pcm' });
    if (format !== 'wav') return undefined;
    const head = this.#wavHead.slice();
    const sizes = new DataView(head.buffer);
    sizes.setUint32(4, head.length - 8 + samples.byteLength, true);
    sizes.setUint32(head.length - 4, samples.byteLength, true);
    return new Blob([head, samples], { type: 'audio/wav' });
  }

  async pause() {
    await this.#player.pause();
    this.redraw();
  }

  togglePlay() {
    return this.#player.isPlaying ? this.pause() : this.play();
  }

  /** @param {Api} api */
  async #stream(api) {
    const { signal } = this.#abort;
    const options = { api, speech: this.speech, player: this.#player, signal, onSamples: this.#waveform.add };
    try {
      this.#wavHead = await streamSpeech(options, this.#words);
      this.#end('done');
    } catch (error) {
      if (signal.aborted) return this.#end('stopped');
      this.#showError(error);
      this.#end('failed');
    }
  }

  /** @param {unknown} error */
  #showError(error) {
    const { pushedSeconds } = this.#player;
    const cutOff = pushedSeconds > 0 && element('strong', {}, `Cut off after ${pushedSeconds.toFixed(1)} seconds.`);
    const message = element('div', {}, cutOff, ...toErrorElements(error));
    this.root.dataset.reason = error instanceof Error && 'reason' in error ? String(error.reason) : '';
    fill(this.#view.errors, element('div', { class: 'cut-off' }, icon('warning'), message));
    const index = error instanceof ApiError ? placeOf(error, this.speech) : undefined;
    if (index !== undefined && this.textField?.text === this.text) this.textField.select(index);
  }

  /** @param {EndState} state */
  #end(state) {
    this.state = state;
    this.#streamedMs = performance.now() - this.#startedMs;
    this.#player.complete();
    this.#showStats();
    this.redraw();
    this.#onChange();
  }
}

/**
 * @param {HTMLElement} waveform
 * @param {() => void} onToggle
 */
function createView(waveform, onToggle) {
  const stats = element('span', { class: 'playback-stats' });
  const errors = element('div', { role: 'alert' });
  const time = element('span', { class: 'time' });
  const toggle = element(
    'button',
    { type: 'button', class: 'main toggle', 'aria-label': 'Pause', onclick: onToggle },
    icon('pause'),
  );
  const root = element(
    'section',
    { class: 'card sound', 'aria-label': 'Audio' },
    element('div', { class: 'track' }, toggle, waveform),
    element('div', { class: 'below' }, stats, time),
    errors,
  );
  return { root, stats, errors, time, toggle };
}

/**
 * Returns the text index of a fault whose message names a line and a column; undefined for other faults.
 * @param {ApiError} error
 * @param {Speech} speech
 */
function placeOf({ details: [fault] }, { chunks }) {
  const [, line, column] = (/^line (\d+), column (\d+):/.exec(fault?.message ?? '') ?? []).map(Number);
  const chunk = chunks[Number(/\[(\d+)\]$/.exec(fault?.field ?? '')?.[1] ?? 0)];
  if (!line || !column || !chunk) return undefined;
  const lines = chunk.text.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  return chunk.from + before + createIndexOf(lines[line - 1] ?? '')(column - 1);
}

/** @param {number} seconds */
const toClock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;

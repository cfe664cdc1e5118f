// A form field for a voice recording from the microphone or a file. Shows level and length with advice, and plays the
// recording before the upload.
import { element, fill } from './element.js';
import { toDuration, toSize } from './formatting.js';
import { icon } from './icon.js';
import { hasMicrophone, openMicrophone } from './microphone.js';
import { createRecordingWaveform, peakOf, peaksOf } from './recording-waveform.js';
import { toWav } from './wav-file.js';

/** A recording is too quiet if all recent peaks are below `quietPeak`, and too loud if any reaches `loudPeak`. */
const quietPeak = 0.03;
const loudPeak = 0.98;
const recentPeaks = 40;

/**
 * @typedef {object} LengthRange
 * @property {number} min Minimum length in seconds.
 * @property {number} max Maximum length in seconds.
 *
 * @typedef {object} RecordingFieldOptions
 * @property {string} name The API field name.
 * @property {string} label
 * @property {AbortSignal} signal Aborted when the user leaves the page.
 */

/** @typedef {ReturnType<typeof createRecordingField>} RecordingField */

/** @param {RecordingFieldOptions} options */
export function createRecordingField({ name, label, signal }) {
  const waveform = createRecordingWaveform(signal);
  // `aria-live` is off because the value changes several times a second.
  const time = element('output', { class: 'time', 'aria-label': 'Length', 'aria-live': 'off' });
  const advice = element('p', { class: 'hint', id: `${name}-advice`, role: 'status' });
  const errorText = element('p', { class: 'field-error', id: `${name}-error`, role: 'alert' });
  /** @type {LengthRange} */
  let range = { min: 1, max: 30 };
  let played = Infinity;

  const show = () => {
    const { file, peaks, seconds, isLive } = recording;
    waveform.show({
      peaks,
      seconds,
      played,
      ...(file ? { secondsMax: seconds || 1 } : { secondsMax: range.max, secondsMin: range.min }),
    });
    time.value = `${seconds.toFixed(1)} s`;
    const text = toAdvice(recording, range);
    // Screen readers announce each assignment, so an unchanged text is not assigned again.
    if (advice.textContent !== text) advice.textContent = text;
    if (root.classList.toggle('live', isLive) && seconds >= range.max) void recording.stop();
    buttons.show();
  };
  const recording = new Recording(show);
  const player = createRecordingPlayer({
    recording,
    onChange: (seconds) => {
      played = seconds;
      show();
    },
  });
  const buttons = createButtons({ recording, player, label, errorText });
  const root = element(
    'div',
    {
      class: 'recording',
      role: 'group',
      'aria-label': label,
      'data-field': name,
      'aria-describedby': `${advice.id} ${errorText.id}`,
    },
    element('div', { class: 'well' }, waveform.canvas, time),
    buttons.root,
    advice,
    errorText,
  );
  signal.addEventListener('abort', () => {
    player.stop();
    recording.close();
  });
  if (!hasMicrophone()) fill(errorText, 'Browsers allow recording only over HTTPS or on localhost.');

  return {
    root,
    /** The file to upload, if any. */
    file: () => recording.file,
    /** @param {LengthRange} next */
    setLength(next) {
      range = next;
      show();
    },
  };
}

/**
 * @param {Recording} recording
 * @param {LengthRange} range
 */
function toAdvice({ file, peaks, seconds, isLive }, { min, max }) {
  const range = `${Number(min.toFixed(1))} to ${max} seconds of speech are needed`;
  const recentPeak = Math.max(...peaks.slice(-recentPeaks));
  if (isLive && peaks.length > recentPeaks && recentPeak < quietPeak)
    return 'The recording is too quiet. Move closer to the microphone.';
  if (isLive && recentPeak >= loudPeak) return 'The recording is too loud. Move back a little.';
  if (isLive) return seconds < min ? `Recording; ${range}.` : 'The recording is long enough. Stop when you are done.';
  if (!file) return `${range}.`;
  const what = `${file instanceof File ? file.name : 'Recorded here'}, ${toSize(file.size)}`;
  if (seconds === 0) return `${what}. This browser cannot play it, but the service may accept it.`;
  return seconds < min
    ? `The recording is ${toDuration(seconds)} long; ${range}.`
    : `${what}. Play it before you continue.`;
}

/** @typedef {ReturnType<typeof createRecordingPlayer>} RecordingPlayer */

/**
 * @param {{ recording: Recording, onChange: (seconds: number) => void }} options `onChange` receives the playback
 * position, or Infinity at the end.
 */
function createRecordingPlayer({ recording, onChange }) {
  const audio = new Audio();
  const stop = () => {
    audio.pause();
    URL.revokeObjectURL(audio.src);
    onChange(Infinity);
  };
  const follow = () => {
    if (audio.paused) return;
    onChange(audio.currentTime);
    requestAnimationFrame(follow);
  };
  audio.addEventListener('ended', stop);
  return {
    stop,
    get isPlaying() {
      return !audio.paused;
    },
    async play() {
      if (!recording.file) return;
      audio.src = URL.createObjectURL(recording.file);
      try {
        await audio.play();
        follow();
      } catch (error) {
        // The player was stopped before playback started.
        if (!(error instanceof DOMException && error.name === 'AbortError')) throw error;
      }
    },
  };
}

/** @param {{ recording: Recording, player: RecordingPlayer, label: string, errorText: HTMLElement }} options */
function createButtons({ recording, player, label, errorText }) {
  const root = element('div', { class: 'row' });
  /** @type {HTMLInputElement} */
  const fileInput = element('input', {
    type: 'file',
    hidden: true,
    accept: '.wav,.flac,.mp3,.ogg,.oga,.opus,audio/*',
    'aria-label': `${label}: file`,
    onchange: () => run(loadChosenFile),
  });
  const loadChosenFile = async () => {
    const [file] = fileInput.files ?? [];
    if (file) await recording.load(file);
    fileInput.value = '';
  };
  /** @param {() => Promise<void>} action */
  const run = async (action) => {
    fill(errorText);
    try {
      if (player.isPlaying) player.stop();
      await action();
    } catch (error) {
      fill(errorText, error instanceof Error ? error.message : String(error));
    }
    shown = '';
    show();
    root.querySelector('button')?.focus();
  };
  let shown = '';
  /** Renders only when the set of buttons changes, to keep the focus. */
  const show = () => {
    const { isLive, file, seconds } = recording;
    const state = [isLive, file !== undefined, seconds > 0, player.isPlaying].join();
    if (state === shown) return;
    shown = state;
    const hadFocus = root.contains(document.activeElement);
    fill(root, ...toButtons({ recording, player, run, onChooseFile: () => fileInput.click() }), fileInput);
    if (hadFocus) root.querySelector('button')?.focus();
  };
  return { root, show };
}

/**
 * @typedef {object} ButtonOptions
 * @property {Recording} recording
 * @property {RecordingPlayer} player
 * @property {(action: () => Promise<void>) => Promise<void>} run Runs an action and shows its error.
 * @property {() => void} onChooseFile
 */

/** @param {ButtonOptions} options */
function toButtons({ recording, player, run, onChooseFile }) {
  const { file, seconds, isLive } = recording;
  /** @type {(options: { kind: string, disabled?: boolean, onclick: () => void }, ...content: (Node | string)[]) => HTMLElement} */
  const button = ({ kind, ...rest }, ...content) =>
    element('button', { type: 'button', class: kind, ...rest }, ...content);
  if (isLive) return [button({ kind: 'main', onclick: () => run(() => recording.stop()) }, icon('stop'), 'Stop')];
  const play = () => (player.isPlaying ? player.stop() : run(() => player.play()));
  const record = { kind: file ? '' : 'main', disabled: !hasMicrophone(), onclick: () => run(() => recording.record()) };
  return [
    file &&
      seconds > 0 &&
      button({ kind: '', onclick: play }, icon(player.isPlaying ? 'stop' : 'play'), player.isPlaying ? 'Stop' : 'Play'),
    button(record, icon('record'), file ? 'Record again' : 'Record'),
    button({ kind: 'quiet', onclick: onChooseFile }, 'Choose a file'),
  ];
}

/** Sample rate at which files are decoded for the waveform. */
const decodeRateHz = 48_000;

class Recording {
  /** The file to upload, once it exists. @type {Blob | undefined} */
  file;
  /** The peak of each block of samples, 0 to 1. @type {number[]} */
  peaks = [];
  /** Length of the recording; 0 if this browser cannot decode the file. */
  seconds = 0;
  /** @type {import('./microphone.js').Microphone | undefined} */
  #microphone;
  #isOpening = false;
  #isClosed = false;
  #onChange;

  /** @param {() => void} onChange Called for every recorded block and every change of state. */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  get isLive() {
    return this.#microphone !== undefined;
  }

  /** Starts a new recording; rejects if the browser denies the microphone. */
  async record() {
    if (this.#isOpening) return;
    this.#isOpening = true;
    this.#clear();
    this.#onChange();
    try {
      this.#microphone = await openMicrophone((block, seconds) => {
        if (!this.isLive) return;
        this.peaks.push(peakOf(block));
        this.seconds = seconds;
        this.#onChange();
      });
    } finally {
      this.#isOpening = false;
    }
    // The user may leave the page while the browser asks for permission.
    if (this.#isClosed) this.close();
    else this.#onChange();
  }

  async stop() {
    const microphone = this.#microphone;
    if (!microphone) return;
    this.#microphone = undefined;
    const { samples, sampleRateHz } = await microphone.stop();
    const integers = Int16Array.from(samples, (sample) => Math.max(-1, Math.min(1, sample)) * 32_767);
    this.#set(toWav(integers, sampleRateHz), peaksOf(samples), samples.length / sampleRateHz);
  }

  /** @param {File} file */
  async load(file) {
    this.#clear();
    try {
      const context = new OfflineAudioContext(1, 1, decodeRateHz);
      const decoded = await context.decodeAudioData(await file.arrayBuffer());
      this.#set(file, peaksOf(decoded.getChannelData(0)), decoded.duration);
    } catch {
      // The service can decode formats that this browser cannot.
      this.#set(file, [], 0);
    }
  }

  /** Releases the microphone and discards the recording. */
  close() {
    this.#isClosed = true;
    this.#microphone?.close();
    this.#microphone = undefined;
    this.#clear();
  }

  /** @type {(file: Blob, peaks: number[], seconds: number) => void} */
  #set(file, peaks, seconds) {
    [this.file, this.peaks, this.seconds] = [file, peaks, seconds];
    this.#onChange();
  }

  #clear() {
    [this.file, this.peaks, this.seconds] = [undefined, [], 0];
  }
}

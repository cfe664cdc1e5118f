// A field for a recording of somebody speaking, made here or chosen as a file: how loud it is while it is made, how long it
// is and how long it should be, to be heard again before it is sent.
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { hasMicrophone } from './microphone.js';
import { Recording } from './recording.js';
import { createSoundStrip } from './sound-strip.js';
import { toLength, toSize } from './wording.js';

/** Quieter than this for a second, and the microphone is too far. */
const quietPeak = 0.03;
const loudPeak = 0.98;
const latelyPeaks = 40;

/**
 * @typedef {object} Wanted
 * @property {number} min Seconds.
 * @property {number} max
 *
 * @typedef {object} RecordingFieldOptions
 * @property {string} name As the service calls it.
 * @property {string} label
 * @property {AbortSignal} signal When to let go of everything.
 */

/** @typedef {ReturnType<typeof createRecordingField>} RecordingField */

/** @param {RecordingFieldOptions} options */
export function createRecordingField({ name, label, signal }) {
  const strip = createSoundStrip(signal);
  // It would be read out all the time.
  const time = element('output', { class: 'time', 'aria-label': 'Length', 'aria-live': 'off' });
  const advice = element('p', { class: 'hint', id: `${name}-advice`, role: 'status' });
  const trouble = element('p', { class: 'field-trouble', id: `${name}-trouble`, role: 'alert' });
  /** @type {Wanted} */
  let wanted = { min: 1, max: 30 };
  let played = Infinity;

  const show = () => {
    const { file, peaks, seconds, isLive } = recording;
    strip.show({
      peaks,
      seconds,
      played,
      ...(file ? { secondsMax: seconds || 1 } : { secondsMax: wanted.max, secondsMin: wanted.min }),
    });
    time.value = `${seconds.toFixed(1)} s`;
    const text = adviceOn(recording, wanted);
    // Only what is new is read out.
    if (advice.textContent !== text) advice.textContent = text;
    if (root.classList.toggle('live', isLive) && seconds >= wanted.max) void recording.stop();
    buttons.show();
  };
  const recording = new Recording(show);
  const sound = createListening({
    recording,
    onChange: (seconds) => {
      played = seconds;
      show();
    },
  });
  const buttons = createButtons({ recording, sound, label, trouble });
  const root = element(
    'div',
    {
      class: 'recording',
      role: 'group',
      'aria-label': label,
      'data-field': name,
      'aria-describedby': `${advice.id} ${trouble.id}`,
    },
    element('div', { class: 'well' }, strip.canvas, time),
    buttons.root,
    advice,
    trouble,
  );
  signal.addEventListener('abort', () => {
    sound.stop();
    recording.leave();
  });
  if (!hasMicrophone()) fill(trouble, 'A browser lets a page record only over HTTPS, or on the machine itself.');

  return {
    root,
    /** What there is to send, if anything. */
    file: () => recording.file,
    /** @param {Wanted} next */
    want(next) {
      wanted = next;
      show();
    },
  };
}

/**
 * @param {Recording} recording
 * @param {Wanted} wanted
 */
function adviceOn({ file, peaks, seconds, isLive }, { min, max }) {
  const range = `${Number(min.toFixed(1))} to ${max} seconds of speech are wanted`;
  const lately = Math.max(...peaks.slice(-latelyPeaks));
  if (isLive && peaks.length > latelyPeaks && lately < quietPeak) return 'Hardly anything is heard. Come closer.';
  if (isLive && lately >= loudPeak) return 'That is too loud. Move back a little.';
  if (isLive) return seconds < min ? `Recording; ${range}.` : 'That is enough; stop when you are done.';
  if (!file) return `${range.charAt(0).toUpperCase()}${range.slice(1)}.`;
  const what = `${file instanceof File ? file.name : 'Recorded here'}, ${toSize(file.size)}`;
  if (seconds === 0) return `${what}. This browser cannot play it; the service may.`;
  return seconds < min ? `It lasts ${toLength(seconds)}; ${range}.` : `${what}. Listen to it before you go on.`;
}

/**
 * What was recorded, heard again.
 * @param {{ recording: Recording, onChange: (seconds: number) => void }} options How many seconds of it were heard.
 */
function createListening({ recording, onChange }) {
  const sound = new Audio();
  const stop = () => {
    sound.pause();
    URL.revokeObjectURL(sound.src);
    onChange(Infinity);
  };
  const follow = () => {
    if (sound.paused) return;
    onChange(sound.currentTime);
    requestAnimationFrame(follow);
  };
  sound.addEventListener('ended', stop);
  return {
    stop,
    get isOn() {
      return !sound.paused;
    },
    async play() {
      if (!recording.file) return;
      sound.src = URL.createObjectURL(recording.file);
      try {
        await sound.play();
        follow();
      } catch (error) {
        // It was stopped before it had begun.
        if (!(error instanceof DOMException && error.name === 'AbortError')) throw error;
      }
    },
  };
}

/** @param {{ recording: Recording, sound: ReturnType<typeof createListening>, label: string, trouble: HTMLElement }} options */
function createButtons({ recording, sound, label, trouble }) {
  const root = element('div', { class: 'row' });
  /** @type {HTMLInputElement} */
  const chooser = element('input', {
    type: 'file',
    hidden: true,
    accept: '.wav,.flac,.mp3,.ogg,.oga,.opus,audio/*',
    'aria-label': `${label}: file`,
    onchange: () => act(() => takeChosen()),
  });
  const takeChosen = async () => {
    const [file] = chooser.files ?? [];
    if (file) await recording.take(file);
    chooser.value = '';
  };
  /** @param {() => Promise<void>} work */
  const act = async (work) => {
    fill(trouble);
    try {
      if (sound.isOn) sound.stop();
      await work();
    } catch (error) {
      fill(trouble, error instanceof Error ? error.message : String(error));
    }
    shown = '';
    show();
    root.querySelector('button')?.focus();
  };
  let shown = '';
  /** Only when others are wanted, lest the focus be lost. */
  const show = () => {
    const { isLive, file, seconds } = recording;
    const state = [isLive, file !== undefined, seconds > 0, sound.isOn].join();
    if (state === shown) return;
    shown = state;
    const hadFocus = root.contains(document.activeElement);
    const stop = element(
      'button',
      { type: 'button', class: 'main', onclick: () => act(() => recording.stop()) },
      icon('stop'),
      'Stop',
    );
    const listen = element(
      'button',
      { type: 'button', onclick: () => (sound.isOn ? sound.stop() : act(() => sound.play())) },
      icon(sound.isOn ? 'stop' : 'play'),
      sound.isOn ? 'Stop' : 'Listen',
    );
    const record = element(
      'button',
      {
        type: 'button',
        class: file ? '' : 'main',
        disabled: !hasMicrophone(),
        onclick: () => act(() => recording.record()),
      },
      icon('record'),
      file ? 'Record again' : 'Record',
    );
    const choose = element(
      'button',
      { type: 'button', class: 'quiet', onclick: () => chooser.click() },
      'Choose a file',
    );
    fill(root, ...(isLive ? [stop] : [file && seconds > 0 && listen, record, choose]), chooser);
    if (hadFocus) root.querySelector('button')?.focus();
  };
  return { root, show };
}

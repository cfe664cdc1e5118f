// A recording of somebody speaking, made here or chosen as a file: how loud it is while it is made, how long it is and how
// long it should be, to be heard again before it is sent.
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { hasMicrophone, openMicrophone } from './microphone.js';
import { createSoundStrip, peakOf, peaksOf } from './sound-strip.js';
import { toWav } from './wav-file.js';
import { toLength, toSize } from './wording.js';

/** Quieter than this for a second, and the microphone is too far. */
const quietPeak = 0.03;
const loudPeak = 0.98;
const heardBlocks = 40;

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
  const strip = createSoundStrip();
  const buttons = element('div', { class: 'row' });
  const time = element('output', { class: 'time' });
  const advice = element('p', { class: 'hint', id: `${name}-advice`, role: 'status' });
  const trouble = element('p', { class: 'field-trouble', id: `${name}-trouble`, role: 'alert' });
  /** @type {HTMLInputElement} */
  const chosen = element('input', {
    type: 'file',
    class: 'sr-only',
    tabindex: -1,
    accept: '.wav,.flac,.mp3,.ogg,.oga,.opus,audio/*',
    'aria-label': `${label}: file`,
    'aria-hidden': 'true',
    onchange: () => take(chosen.files?.[0]),
  });
  const root = element(
    'div',
    {
      class: 'recording',
      role: 'group',
      'aria-label': label,
      'data-field': name,
      'aria-describedby': `${name}-advice ${name}-trouble`,
    },
    element('div', { class: 'well' }, strip.canvas, time),
    buttons,
    advice,
    trouble,
    chosen,
  );
  const sound = new Audio();

  /** @type {Wanted} */
  let wanted = { min: 1, max: 30 };
  /** @type {Blob | undefined} */
  let file;
  /** @type {number[]} */
  let peaks = [];
  let seconds = 0;
  /** @type {import('./microphone.js').Microphone | undefined} */
  let microphone;
  let isOpening = false;

  const show = (/** @type {number | undefined} */ played = undefined) =>
    strip.show({
      ...{ peaks, seconds, secondsMax: file ? seconds || 1 : wanted.max, secondsMin: file ? 0 : wanted.min },
      ...(played !== undefined && { played }),
    });
  /** @param {number} spent */
  const tell = (spent) => {
    time.value = `${spent.toFixed(1)} s`;
  };

  const forget = () => {
    sound.pause();
    if (sound.src) URL.revokeObjectURL(sound.src);
    sound.removeAttribute('src');
    file = undefined;
    peaks = [];
    seconds = 0;
  };
  /** @param {Blob} taken */
  const keep = (taken) => {
    file = taken;
    sound.src = URL.createObjectURL(taken);
    show();
    tell(seconds);
    advise();
    showButtons();
  };

  const record = async () => {
    if (isOpening) return;
    isOpening = true;
    forget();
    fill(trouble);
    try {
      microphone = await openMicrophone(hear);
      if (signal.aborted) microphone.leave();
    } catch (error) {
      fill(trouble, error instanceof Error ? error.message : String(error));
      root.querySelector('button')?.focus();
    } finally {
      isOpening = false;
    }
    show();
    tell(0);
    advise();
    showButtons();
    if (microphone) buttons.querySelector('button')?.focus();
  };
  /** @type {(block: Float32Array, secondsInAll: number) => void} */
  const hear = (block, secondsInAll) => {
    if (!microphone) return;
    peaks.push(peakOf(block));
    seconds = secondsInAll;
    show();
    tell(seconds);
    advise();
    if (seconds >= wanted.max) void stop();
  };
  const stop = async () => {
    const ending = microphone;
    microphone = undefined;
    if (!ending) return;
    const { samples, sampleRateHz } = await ending.stop();
    peaks = peaksOf(samples);
    seconds = samples.length / sampleRateHz;
    keep(
      toWav(
        Int16Array.from(samples, (sample) => Math.max(-1, Math.min(1, sample)) * 32_767),
        sampleRateHz,
      ),
    );
    buttons.querySelector('button')?.focus();
  };
  /** @param {File | undefined} given */
  const take = async (given) => {
    chosen.value = '';
    if (!given) return;
    forget();
    fill(trouble);
    const read = await readSound(given);
    peaks = read.peaks;
    seconds = read.seconds;
    keep(given);
    buttons.querySelector('button')?.focus();
  };

  const advise = () => {
    const range = `${Number(wanted.min.toFixed(1))} to ${wanted.max} seconds of speech are wanted`;
    const lately = Math.max(...peaks.slice(-heardBlocks));
    if (microphone && peaks.length > heardBlocks && lately < quietPeak) say('Hardly anything is heard. Come closer.');
    else if (microphone && lately >= loudPeak) say('That is too loud. Move back a little.');
    else if (microphone) say(seconds < wanted.min ? `Recording; ${range}.` : 'That is enough; stop when you are done.');
    else if (!file) say(`${range.charAt(0).toUpperCase()}${range.slice(1)}.`);
    else if (seconds === 0) say(`${nameOf(file)}, ${toSize(file.size)}. This browser cannot play it; the service may.`);
    else if (seconds < wanted.min) say(`It lasts ${toLength(seconds)}; ${range}.`);
    else say(`${nameOf(file)}, ${toLength(seconds)}, ${toSize(file.size)}. Listen to it before you go on.`);
  };
  /** Only what is new is said, and read out.
   * @param {string} text */
  const say = (text) => {
    if (advice.textContent !== text) advice.textContent = text;
  };

  const showButtons = () => {
    root.classList.toggle('live', microphone !== undefined);
    /** @param {string} text */
    const choose = (text) => element('button', { type: 'button', class: 'quiet', onclick: () => chosen.click() }, text);
    if (microphone) {
      const button = { type: 'button', class: 'main', onclick: stop };
      return fill(buttons, element('button', button, icon('stop'), 'Stop'));
    }
    const canRecord = hasMicrophone();
    const begin = element(
      'button',
      { type: 'button', class: file ? '' : 'main', disabled: !canRecord, onclick: record },
      icon('record'),
      file ? 'Record again' : 'Record',
    );
    const play = element(
      'button',
      { type: 'button', onclick: () => (sound.paused ? void sound.play() : sound.pause()) },
      icon(sound.paused ? 'play' : 'pause'),
      sound.paused ? 'Listen' : 'Pause',
    );
    fill(buttons, file && seconds > 0 && play, begin, choose('Choose a file'));
    if (!canRecord)
      fill(trouble, 'A browser lets a page record only over HTTPS, or on the machine itself. Choose a file.');
  };

  for (const event of ['play', 'pause', 'ended']) {
    sound.addEventListener(event, () => {
      const hadFocus = buttons.contains(document.activeElement);
      showButtons();
      if (hadFocus) buttons.querySelector('button')?.focus();
      if (event === 'play') requestAnimationFrame(follow);
      else if (event === 'ended') show();
    });
  }
  const follow = () => {
    if (sound.paused) return;
    show(sound.currentTime);
    requestAnimationFrame(follow);
  };
  signal.addEventListener('abort', () => {
    microphone?.leave();
    microphone = undefined;
    forget();
  });
  showButtons();

  return {
    root,
    /** What there is to send, if anything. */
    file: () => file,
    /** @param {Wanted} next */
    want(next) {
      wanted = next;
      show();
      tell(seconds);
      advise();
    },
  };
}

/** @param {Blob} file */
const nameOf = (file) => (file instanceof File ? file.name : 'Recorded here');

/**
 * Nothing of what this browser cannot read; the service reads more.
 * @param {Blob} file
 */
async function readSound(file) {
  try {
    const context = new OfflineAudioContext(1, 1, 48_000);
    const read = await context.decodeAudioData(await file.arrayBuffer());
    return { peaks: peaksOf(read.getChannelData(0)), seconds: read.duration };
  } catch {
    return { peaks: [], seconds: 0 };
  }
}

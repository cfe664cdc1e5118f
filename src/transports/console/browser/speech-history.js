// The latest speeches of this tab, which can be played, saved, shared and used again. They outlive the Speak page:
// audio that is playing when the user leaves the page continues in a dock at the bottom of the window.
/** @import { HighlightedText } from './highlighted-text.js' */
/** @import { PageContext } from './page.d.ts' */
/** @import { Speech } from './speech-stream.js' */
/** @import { Voice } from '../../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { toDuration } from './formatting.js';
import { icon } from './icon.js';
import { Playback } from './playback.js';
import { createPlaybackContext } from './player.js';
import { createDownload } from './speech-export.js';
import { performanceMarks } from './speech-stream.js';

/** Maximum number and maximum total seconds of the speeches. The limits exist because the samples stay in memory. */
const [speechesMax, secondsMax] = [10, 1800];

/** The speeches, newest first. @type {Playback[]} */
let speeches = [];
/** The speech in the player. @type {Playback | undefined} */
let current;
let startCount = 0;
/** @type {Map<number, ReturnType<typeof createPlaybackContext>>} */
const audioByRate = new Map();

/** @param {number} sampleRateHz */
function audioOf(sampleRateHz) {
  const audio = audioByRate.get(sampleRateHz) ?? createPlaybackContext(sampleRateHz);
  audioByRate.set(sampleRateHz, audio);
  return audio;
}

const dockSlot = element('div', { class: 'slot' });
const dock = element(
  'aside',
  { class: 'dock', 'aria-label': 'Player', hidden: true },
  dockSlot,
  element('a', { href: '#/speak' }, 'Show'),
  element(
    'button',
    { type: 'button', class: 'quiet', 'aria-label': 'Close the player', onclick: () => closeDock() },
    icon('close'),
  ),
);
document.body.append(dock);

function closeDock() {
  dock.hidden = true;
  void current?.pause();
}

/** Updates the list and the player if the Speak page is open. */
let show = () => {};

/**
 * Puts a speech into the player. Closes the previous playback first, because both may use the same audio context.
 * @param {() => Playback} open
 */
async function play(open) {
  const ownCount = ++startCount;
  await current?.close();
  // The user may have clicked again in the meantime.
  if (ownCount !== startCount) return;
  current = open();
  show();
}

/** @param {Playback} speech */
function remove(speech) {
  speeches = speeches.filter((each) => each !== speech);
  void speech.close();
  if (current === speech) current = undefined;
  show();
}

/** Stops and removes all speeches, for example when the user signs out. */
export function forgetSpeeches() {
  startCount++;
  dock.hidden = true;
  for (const speech of speeches) remove(speech);
}

/**
 * @typedef {object} HistoryOptions
 * @property {PageContext} context
 * @property {HighlightedText} textField
 * @property {() => Speech} getSpeech The text and settings to speak.
 * @property {readonly Voice[]} voices
 * @property {(playback: Playback) => void} onUse Called when the user wants to edit a speech.
 * @property {() => void} onChange Called when streaming starts or ends.
 *
 * @typedef {ReturnType<typeof createSpeechHistory>} SpeechHistory
 */

/** @param {HistoryOptions} options */
export function createSpeechHistory({ context, textField, getSpeech, voices, onUse, onChange }) {
  const { root, api, signal } = context;
  const slot = element('div', { class: 'player' });
  const list = element('ul', { class: 'speeches' });
  const card = element('section', { class: 'card', 'aria-labelledby': 'recent' });
  card.append(element('h2', { id: 'recent' }, 'Recent'), list);
  const status = element('p', { class: 'sr-only', role: 'status' });
  /** @type {Map<Playback, ReturnType<typeof createItem>>} */
  const items = new Map();
  let shownState = current?.state;

  show = () => {
    for (const speech of items.keys()) if (!speeches.includes(speech)) items.delete(speech);
    for (const speech of speeches) {
      speech.textField = speech === current ? textField : undefined;
      if (!items.has(speech)) items.set(speech, createItem(speech, context, onUse));
      items.get(speech)?.update();
    }
    const shown = speeches.flatMap((speech) => items.get(speech)?.root ?? []);
    if (shown.length !== list.children.length || shown[0] !== list.firstElementChild) fill(list, shown);
    card.hidden = shown.length === 0;
    const player = current?.root ?? emptyPlayer;
    if (slot.firstChild !== player) fill(slot, player);
    if (shownState !== current?.state) {
      shownState = current?.state;
      fill(
        status,
        shownState && { streaming: 'Speaking', done: 'Finished', stopped: 'Stopped', failed: '' }[shownState],
      );
      if (current && shownState === 'done') items.get(current)?.open();
    }
    onChange();
  };

  // Creates the audio context at the first user gesture, so that it does not delay the first audio.
  const prepare = () => audioOf(getSpeech().sampleRateHz);
  root.addEventListener('pointerdown', prepare, { once: true, signal });
  root.addEventListener('keydown', prepare, { once: true, signal });
  addEventListener('resize', () => current?.redraw(), { signal });
  signal.addEventListener('abort', () => {
    show = () => {};
    if (!current) return;
    current.textField = undefined;
    dock.hidden = !current.isPlaying && current.state !== 'streaming';
    fill(dockSlot, current.root);
  });

  return {
    player: slot,
    list: card,
    status,
    /** Shows the existing speeches. Call this after adding the elements to the document. */
    start() {
      dock.hidden = true;
      show();
      current?.redraw();
    },
    get isStreaming() {
      return current?.state === 'streaming';
    },
    get isEmpty() {
      return speeches.length === 0;
    },
    speak() {
      for (const name of Object.values(performanceMarks)) performance.clearMarks(name);
      performance.clearMeasures(performanceMarks.firstSound);
      performance.mark(performanceMarks.click);
      const [speech, { text }] = [getSpeech(), textField];
      const voice = /** @type {Voice} */ (voices.find(({ voice_id }) => voice_id === speech.voiceId));
      return play(() => {
        const audio = audioOf(speech.sampleRateHz);
        const playback = new Playback({ api, speech, text, voice, audio, onChange: () => show() });
        speeches = [playback, ...speeches].slice(0, speechesMax);
        while (speeches.reduce((sum, { seconds }) => sum + seconds, 0) > secondsMax) speeches.pop();
        return playback;
      });
    },
    stop() {
      if (current?.state === 'streaming') current.stop();
    },
  };
}

const emptyPlayer = element(
  'section',
  { class: 'card sound empty', 'aria-label': 'Audio' },
  element('p', {}, 'The audio appears here while it is streamed.'),
);

/**
 * Creates a list item: a play button, and the text of the speech, which opens the other actions.
 * @param {Playback} playback
 * @param {PageContext} context
 * @param {(playback: Playback) => void} onUse
 */
function createItem(playback, context, onUse) {
  const { text, voice, speech } = playback;
  const start = () => {
    void playback.play();
    return playback;
  };
  const onclick = () => (playback === current ? playback.togglePlay() : play(start));
  const toggle = element('button', { type: 'button', class: 'quiet', onclick });
  const facts = element('span', { class: 'hint' });
  const actions = element('div', { class: 'export', hidden: true });
  const more = element(
    'details',
    { name: 'speech' },
    element('summary', {}, element('span', { class: 'name' }, text.trim().slice(0, 80)), facts),
    element(
      'div',
      { class: 'row' },
      element('button', { type: 'button', onclick: () => onUse(playback) }, 'Use again'),
      actions,
      element('button', { type: 'button', class: 'quiet', onclick: () => remove(playback) }, 'Remove'),
    ),
  );
  return {
    root: element('li', {}, toggle, more),
    open() {
      more.open = true;
    },
    update() {
      const { isPlaying, seconds, state } = playback;
      const label = `${isPlaying ? 'Pause' : 'Play'}: ${text.trim().slice(0, 40)}`;
      if (toggle.getAttribute('aria-label') !== label) {
        toggle.setAttribute('aria-label', label);
        fill(toggle, icon(isPlaying ? 'pause' : 'play'));
      }
      toggle.disabled = seconds === 0;
      facts.textContent = [voice.name, toDuration(seconds), state !== 'done' && state].filter(Boolean).join(' · ');
      if (state !== 'done' || !actions.hidden) return;
      actions.hidden = false;
      const formats = voice.capabilities.output_formats;
      fill(actions, createDownload({ speech, formats, held: (format) => playback.file(format) }, context));
    },
  };
}

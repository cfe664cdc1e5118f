// The sound of one text, while it comes and after: what is heard, its picture, the words that light up with it, and what
// can be told of it in numbers.
/** @import { Api } from './api.js' */
/** @import { LitText } from './lit-text.js' */
/** @import { Speech, Word } from './speech-run.js' */
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { toWords } from './notices.js';
import { createPlayer } from './player.js';
import { moments, runSpeech } from './speech-run.js';
import { countChars } from './text-chunks.js';
import { createWaveform } from './waveform.js';

/** How long speech is, until it is known. */
const secondsPerChar = 0.065;

/**
 * @typedef {object} ListeningOptions
 * @property {Api} api
 * @property {Speech} speech
 * @property {ReturnType<typeof import('./player.js').createSoundContext>} sound
 * @property {LitText} litText
 * @property {(state: 'done' | 'stopped' | 'failed') => void} onEnd When no more sound comes.
 */

/** @typedef {ReturnType<typeof listen>} Listening */

/**
 * Begins at once.
 * @param {ListeningOptions} options
 */
export function listen({ api, speech, sound, litText, onEnd }) {
  const { sampleRateHz } = speech;
  const text = litText.text;
  const chars = speech.chunks.reduce((sum, chunk) => sum + countChars(chunk.text), 0);
  const ending = new AbortController();
  /** @type {Word[]} */
  const words = [];
  /** @type {'coming' | 'done' | 'stopped' | 'failed'} */
  let state = 'coming';
  let isClosed = false;
  let frame = 0;
  let madeMs = 0;
  const beganMs = performance.now();

  const facts = element('dl', { class: 'facts-of-sound' });
  const trouble = element('div', { role: 'alert' });
  const time = element('span', { class: 'time' });
  const toggle = element('button', { type: 'button', class: 'toggle', 'aria-label': 'Pause' }, icon('pause'));
  const wave = createWaveform({ sampleRateHz, onSeek: (seconds) => seek(seconds) });
  const root = element(
    'section',
    { class: 'card sound', 'aria-label': 'Sound' },
    element('div', { class: 'track' }, toggle, wave.root),
    element('div', { class: 'below' }, facts, time),
    trouble,
  );
  const player = createPlayer(sound, {
    sampleRateHz,
    onFirstSample() {
      performance.mark(moments.firstSample);
      performance.measure(moments.firstSound, moments.click, moments.firstSample);
      tell();
    },
    onOver: () => draw(),
  });

  const expected = () => {
    const last = words.at(-1);
    if (state !== 'coming') return player.pushedSeconds;
    const share = last ? last.to / text.length : 0;
    return share > 0.02 ? player.pushedSeconds / share : (chars * secondsPerChar) / speech.speakingRate;
  };
  function draw() {
    cancelAnimationFrame(frame);
    if (isClosed) return;
    const { seconds, isPlaying } = player;
    wave.expect(expected());
    const isMoving = wave.draw(seconds);
    if (litText.text === text && seconds > 0 && !player.report.isOver) litText.light(words, seconds);
    else litText.clear();
    time.textContent = `${toClock(seconds)} / ${toClock(player.pushedSeconds)}`;
    const label = isPlaying ? 'Pause' : 'Play';
    if (toggle.getAttribute('aria-label') !== label) {
      toggle.setAttribute('aria-label', label);
      fill(toggle, icon(isPlaying ? 'pause' : 'play'));
    }
    Object.assign(root.dataset, toData());
    if (isPlaying || isMoving || state === 'coming') frame = requestAnimationFrame(draw);
  }
  /** What a test, or somebody who wonders, can read off the page. */
  const toData = () => {
    const { played, checksum, underruns, isOver } = player.report;
    return {
      state,
      played: String(played),
      checksum: String(checksum),
      underruns: String(underruns),
      over: String(isOver),
    };
  };
  const tell = () => {
    const [sounded] = performance.getEntriesByName(moments.firstSound);
    const { underruns } = player.report;
    const rows = [
      ['First sound', sounded && `${Math.round(sounded.duration)} ms`],
      ['Length', state !== 'coming' && player.pushedSeconds > 0 && `${player.pushedSeconds.toFixed(1)} s`],
      ['Made in', state === 'done' && `${(madeMs / 1000).toFixed(2)} s`],
      ['Gaps', underruns > 0 && String(underruns)],
    ];
    const shown = rows.filter(([, value]) => value);
    fill(
      facts,
      shown.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
    );
  };
  /** @param {number} seconds */
  function seek(seconds) {
    void player.seek(seconds).then(draw);
    draw();
  }
  const play = () =>
    player.play().then(draw, () => {
      fill(trouble, element('p', { class: 'cut-off' }, 'This browser lets no sound be heard here.'));
    });

  toggle.addEventListener('click', async () => {
    if (player.isPlaying) await player.pause();
    else await play();
    draw();
  });

  /** @param {'done' | 'stopped' | 'failed'} how */
  const end = (how) => {
    state = how;
    if (isClosed) return;
    madeMs = performance.now() - beganMs;
    player.complete();
    tell();
    draw();
    onEnd(how);
  };
  const run = async () => {
    const onSamples = wave.add;
    try {
      await runSpeech({ api, speech, player, signal: ending.signal, onSamples }, words);
      end('done');
    } catch (error) {
      if (ending.signal.aborted) return end('stopped');
      const made = player.pushedSeconds;
      const cut = made > 0 && element('strong', {}, `Cut off after ${made.toFixed(1)} seconds.`);
      root.dataset.reason = error instanceof Error && 'reason' in error ? String(error.reason) : '';
      fill(trouble, element('div', { class: 'cut-off' }, icon('warning'), element('div', {}, cut, ...toWords(error))));
      end('failed');
    }
  };
  tell();
  draw();
  void play();
  void run();

  return {
    root,
    speech,
    samples: player.samples,
    redraw: draw,
    get state() {
      return state;
    },
    /** Asks for no more, and is silent. */
    stop() {
      ending.abort(new DOMException('It was stopped.', 'AbortError'));
      void player.pause().then(draw);
    },
    /** As `stop`, and nothing is shown or told any more. */
    async close() {
      isClosed = true;
      ending.abort(new DOMException('It was left.', 'AbortError'));
      cancelAnimationFrame(frame);
      litText.clear();
      await player.close();
    },
  };
}

/** @param {number} seconds */
const toClock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;

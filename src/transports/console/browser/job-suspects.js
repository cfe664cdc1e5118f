// The sentences of a job whose sound may not say their text: what was found, the sound, the words that a recognizer
// heard instead, and buttons that have a sentence spoken again or accept it.
/** @import { Job, SettleSuspect } from '../../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { toDuration } from './formatting.js';

/**
 * @typedef {object} JobSuspects
 * @property {HTMLElement} root
 * @property {(job: Job) => void} show
 */

/** @typedef {Job['chapters'][number]} Chapter */

/**
 * @param {object} options
 * @param {(url: string) => string} options.toOwnAddress Returns the URL of a file below the console's own base URL.
 * @param {false | ((request: SettleSuspect) => Promise<void>)} options.settle False if the key may not settle suspects.
 * @returns {JobSuspects}
 */
export function createSuspects({ toOwnAddress, settle }) {
  const summary = element('summary');
  const list = element('ul', { class: 'job-suspects' });
  const audio = element('audio', { controls: true, preload: 'none', hidden: true, 'aria-label': 'Sentence to check' });
  const root = element('details', { hidden: true }, summary, list, audio);
  /** @param {string} url @param {number} seconds */
  const play = (url, seconds) => {
    audio.hidden = false;
    if (audio.getAttribute('src') !== url) audio.src = url;
    audio.currentTime = seconds;
    // The browser shows why the file cannot be played.
    void audio.play().catch(() => {});
  };
  /** @param {Chapter} chapter @param {number} n @param {Chapter['suspects'][number]} suspect @param {boolean} isOver */
  const toItem = ({ title, audio_url: url, start: begun }, n, { text, faults, heard, start, offset }, isOver) => {
    /** @param {string} label @param {(event: { currentTarget: HTMLButtonElement }) => void} onclick */
    const button = (label, onclick) =>
      element('button', { type: 'button', class: 'quiet', 'aria-label': `${label} “${text}”`, onclick }, label);
    /** @param {string} label @param {SettleSuspect['action']} action */
    const settling = (label, action) =>
      settle &&
      button(label, async ({ currentTarget }) => {
        currentTarget.disabled = true;
        await settle({ chapter: n, offset, action });
        currentTarget.disabled = false;
      });
    const place = start === null ? [] : [toDuration(Math.floor((begun ?? 0) + start))];
    const facts = [title || `Chapter ${n + 1}`, ...place, ...faults.map((fault) => fault.replaceAll('_', ' '))];
    const words =
      heard === undefined ? [text] : compareWords(wordsOf(text), wordsOf(heard)).flatMap((word) => [word, ' ']);
    return element(
      'li',
      {},
      url !== null && start !== null && button('Play', () => play(toOwnAddress(url), start)),
      element('p', {}, ...words),
      element('small', {}, facts.join(' · ')),
      isOver && settling('Speak again', 'speak_again'),
      settling('Keep', 'keep'),
    );
  };
  let shown = '';
  return {
    root,
    show({ chapters, status }) {
      const isOver = status === 'succeeded';
      // Buttons that are in use are not replaced while the job goes on.
      const places = chapters.map(
        ({ start, audio_url: url, suspects, suspect_count: count }) => count && [start, url, suspects, count],
      );
      const next = JSON.stringify([isOver, places]);
      if (next === shown) return;
      shown = next;
      const items = chapters.flatMap((chapter, n) =>
        chapter.suspects.map((suspect) => toItem(chapter, n, suspect, isOver)),
      );
      const count = chapters.reduce((sum, { suspect_count = 0 }) => sum + suspect_count, 0);
      root.hidden = items.length === 0;
      const shownCount = count > items.length ? ` (the first ${items.length} are shown)` : '';
      summary.textContent = count === 1 ? '1 sentence to check' : `${count} sentences to check${shownCount}`;
      fill(list, ...items);
    },
  };
}

/** @param {string} word */
const plain = (word) => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
/** @param {string} text */
const wordsOf = (text) => text.split(/\s+/).filter((word) => plain(word) !== '');

/**
 * Returns the words of both texts: deleted are those of the text that were not heard, inserted those that were only heard.
 * @param {string[]} said
 * @param {string[]} other
 * @returns {(string | HTMLElement)[]}
 */
function compareWords(said, other) {
  let [i, j, length] = [0, 0, 0];
  // The longest stretch of words that both texts have.
  for (let at = 0; at < said.length; at++)
    for (let place = 0; place < other.length; place++) {
      const end = said.slice(at).findIndex((word, n) => plain(word) !== plain(other[place + n] ?? ''));
      const count = end < 0 ? said.length - at : end;
      if (count > length) [i, j, length] = [at, place, count];
    }
  if (length === 0)
    return [...said.map((word) => element('del', {}, word)), ...other.map((word) => element('ins', {}, word))];
  const before = compareWords(said.slice(0, i), other.slice(0, j));
  return [...before, ...said.slice(i, i + length), ...compareWords(said.slice(i + length), other.slice(j + length))];
}

// A turn of live speech: shows its text, the part that was heard, and the delay of its audio. Marks the word being
// heard, and strikes through text that an interruption cut off.
import { element, fill } from './element.js';
import { toDuration } from './formatting.js';
import { createIndexOf } from './text-chunks.js';

/**
 * @typedef {'open' | 'ended' | 'heard' | 'interrupted' | 'lost'} TurnState Only open turns accept text.
 *
 * @typedef {{ to: number, start: number, from: number }} HeardWord Text indices, and the start in seconds.
 */

/** Matches the end of a sentence and the space after it. */
const sentenceEnd = /[.!?…。！？]["'”’)\]]*\s*/g;

export class TalkTurn {
  text = '';
  /** @type {TurnState} */
  state = 'open';
  /** The turn's number in the service's session, once known. @type {number | undefined} */
  index;
  /** Start and end of the turn's audio in the player, in seconds. @type {number | undefined} */
  startSeconds;
  endSeconds = 0;
  /** Whether all audio of the turn has arrived. */
  isComplete = false;
  heardSeconds = 0;
  root;
  #view;
  /** @type {HeardWord[]} */
  #words = [];
  /** Text index after the last word of the first `timestamps` message. */
  #firstEnd = 0;
  #shown = -2;
  /** End index and time of each sent text. @type {{ to: number, atMs: number }[]} */
  #sends = [];
  #infoMs = Infinity;
  #soundMs = 0;

  constructor() {
    const [heard, now, coming] = [element('span', { class: 'heard' }), element('mark', {}), element('span', {})];
    const account = element('p', { class: 'hint' });
    this.root = element('li', {}, element('p', { class: 'said' }, heard, now, coming), account);
    this.#view = { heard, now, coming, account };
    this.#show();
  }

  /** @param {string} text */
  add(text) {
    this.text += text;
    this.#sends.push({ to: this.text.length, atMs: performance.now() });
    this.#shown = -2;
    this.#show();
  }

  /** Ends the text of the turn. */
  end() {
    this.#sends.push({ to: Infinity, atMs: performance.now() });
    this.#set('ended');
  }

  /** Called when the turn's first audio is about to arrive. @param {number} startSeconds */
  begin(startSeconds) {
    this.#infoMs = performance.now();
    this.startSeconds = this.endSeconds = startSeconds;
  }

  /** Called after the turn's first audio was played, unless earlier audio was still playing. @param {number} atMs */
  noteSound(atMs) {
    this.#soundMs = atMs;
    this.#showAccount();
  }

  /** @param {readonly { offset: number, length: number, start: number }[]} words Offsets are in code points. */
  addWords(words) {
    const indexOf = createIndexOf(this.text);
    for (const { offset, length, start } of words)
      this.#words.push({ from: indexOf(offset), to: indexOf(offset + length), start });
    this.#firstEnd ||= this.#words.at(-1)?.to ?? 0;
    this.#showAccount();
  }

  /** Milliseconds between sending the last character needed for the first audio and playing the first audio. */
  get firstSoundMs() {
    if (this.#firstEnd === 0 || this.#soundMs === 0) return undefined;
    sentenceEnd.lastIndex = this.#firstEnd;
    const end = sentenceEnd.exec(this.text) ? sentenceEnd.lastIndex : this.text.length;
    // The next word shows that a sentence has ended. Without a next word, the last sent text counts.
    const before = this.#sends.filter(({ atMs }) => atMs <= this.#infoMs);
    const needed = before.find(({ to }) => to > end) ?? before.at(-1);
    return needed && Math.max(0, this.#soundMs - needed.atMs);
  }

  /** Updates the text shown as heard. @param {number} playedSeconds The position of the player. */
  hear(playedSeconds) {
    if (this.startSeconds === undefined || this.state === 'interrupted' || this.state === 'lost') return;
    const ends = this.endSeconds;
    this.heardSeconds = Math.max(0, Math.min(playedSeconds, ends) - this.startSeconds);
    if (this.isComplete && this.state === 'ended' && playedSeconds >= ends - 0.001) this.#set('heard');
    this.#show();
  }

  /** Marks the turn as cut off, before or during its playback. @param {'interrupted' | 'lost'} state */
  cutOff(state) {
    this.#set(state);
    this.#split(this.#words[this.#wordNow()]?.to ?? 0);
  }

  /** Replaces the local estimate with the service's `text_spoken`. @param {string} textSpoken */
  correct(textSpoken) {
    this.#split(textSpoken.length);
  }

  /** @param {TurnState} state */
  #set(state) {
    this.state = state;
    this.#shown = -2;
    this.#show();
    this.#showAccount();
  }

  #wordNow() {
    return this.heardSeconds > 0 ? this.#words.findLastIndex(({ start }) => start < this.heardSeconds) : -1;
  }

  #show() {
    const current = this.state === 'heard' ? this.#words.length : this.#wordNow();
    this.root.dataset.state = this.state;
    if (current === this.#shown) return;
    this.#shown = current;
    this.root.dataset.word = String(current);
    const { heard, now, coming } = this.#view;
    const word = this.#words[current];
    const from = this.state === 'heard' ? this.text.length : (word?.from ?? 0);
    const to = word?.to ?? from;
    heard.textContent = this.text.slice(0, from);
    now.textContent = this.text.slice(from, to);
    coming.textContent = this.text.slice(to);
  }

  /** @param {number} at */
  #split(at) {
    const { heard, now, coming } = this.#view;
    heard.textContent = this.text.slice(0, at);
    fill(now);
    fill(coming, element('s', {}, this.text.slice(at)));
    this.#showAccount();
  }

  #showAccount() {
    const { firstSoundMs: firstMs, heardSeconds } = this;
    const why = { interrupted: 'Interrupted', lost: 'Cut off' }[String(this.state)];
    const heard = heardSeconds > 0 ? `${why} after ${toDuration(heardSeconds)}` : `${why} before playback`;
    const facts = [why && heard, firstMs !== undefined && `first audio after ${Math.round(firstMs)} ms`];
    if (firstMs !== undefined) this.root.dataset.firstSoundMs = String(firstMs);
    const line = facts.filter(Boolean).join(' · ');
    this.#view.account.textContent = line.charAt(0).toUpperCase() + line.slice(1);
  }
}

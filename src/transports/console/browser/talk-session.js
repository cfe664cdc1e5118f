// The live speech session of the Talk page: sends turns of text, plays the arriving audio and handles interruptions.
// Tracks which turn and which word is being played.
/** @import { Api } from './api.js' */
/** @import { ConnectionState } from './live-connection.js' */
/** @import { Speech } from './speech-stream.js' */
import { LiveConnection } from './live-connection.js';
import { LivePlayer } from './live-player.js';
import { toRequestFields } from './speech-stream.js';
import { TalkTurn } from './talk-turn.js';

/**
 * @typedef {object} TalkSessionOptions
 * @property {Api} api
 * @property {() => Omit<Speech, 'chunks'>} getSettings
 * @property {(turn: TalkTurn) => void} onTurn Called when a turn begins.
 * @property {() => void} onChange Called when the state of the turns changes.
 * @property {(state: ConnectionState, text: string) => void} onState
 * @property {(error: unknown) => void} onError
 * @property {(text: string) => void} announce
 */

export class TalkSession {
  #options;
  #connection;
  /** @type {LivePlayer | undefined} */
  #player;
  /** Unfinished turns, and interrupted turns that await an answer from the service. @type {TalkTurn[]} */
  #turns = [];
  /** The turn whose audio is arriving. @type {TalkTurn | undefined} */
  #sounding;
  /** The unpaired last byte of the received audio, which is half a sample. */
  #odd = new Uint8Array();
  #frame = 0;

  /** @param {TalkSessionOptions} options */
  constructor(options) {
    const { api, onState, onError } = options;
    this.#options = options;
    this.#connection = new LiveConnection({
      api,
      getStart: () => ({ type: 'start', ...toRequestFields(this.#speech()), format: 'pcm', timestamps: 'word' }),
      onMessage: (message) => this.#take(message),
      onAudio: (bytes) => this.#takeAudio(new Uint8Array(bytes)),
      onLost: () => this.#lose(),
      onState,
      onError: (error) => {
        this.#lose();
        onError(error);
      },
    });
  }

  #speech = () => ({ ...this.#options.getSettings(), chunks: [] });

  get #live() {
    return this.#turns.filter(({ state }) => state === 'open' || state === 'ended');
  }

  get #open() {
    return this.#turns.find(({ state }) => state === 'open');
  }

  /** Whether any turn is unfinished. */
  get isSpeaking() {
    return this.#live.length > 0;
  }

  get hasOpenTurn() {
    return this.#open !== undefined;
  }

  /** Connects and prepares the audio output. Must be called within a user gesture. */
  prepare() {
    this.#audio().wake();
    this.#connection.open();
  }

  /** @param {string} text */
  say(text) {
    if (text === '') return;
    this.#audio().wake();
    let turn = this.#open;
    if (!turn) {
      turn = new TalkTurn();
      this.#turns.push(turn);
      this.#options.onTurn(turn);
    }
    turn.add(text);
    this.#connection.send({ type: 'text', text });
    this.#changed();
  }

  /** Ends the open turn, so that its remaining text is spoken. */
  flush() {
    const turn = this.#open;
    if (!turn) return;
    turn.end();
    this.#connection.send({ type: 'flush' });
    this.#changed();
  }

  /** Stops playback at once and reports the playback position to the service. */
  interrupt() {
    const live = this.#live;
    if (live.length === 0) return;
    const { heard, playedMs } = this.#stop('interrupted');
    const isOpen = this.#connection.state === 'open';
    if (isOpen) this.#connection.send({ type: 'interrupt', played_ms: playedMs, turn: heard?.index });
    else this.#connection.close();
    this.#options.announce(heard ? `Interrupted after ${(playedMs / 1000).toFixed(1)} seconds` : 'Interrupted');
    this.#changed();
  }

  /** Closes the connection after a change of settings. The next turn uses the new settings. */
  restart() {
    this.#stop('interrupted');
    this.#forget();
    this.#connection.close();
    this.#changed();
  }

  close() {
    cancelAnimationFrame(this.#frame);
    this.#connection.close();
    this.#player?.close();
  }

  #audio() {
    const { sampleRateHz } = this.#options.getSettings();
    if (this.#player?.sampleRateHz === sampleRateHz) return this.#player;
    this.#player?.close();
    this.#player = new LivePlayer(sampleRateHz, (seconds, atMs) =>
      this.#turns.find(({ startSeconds }) => startSeconds === seconds)?.noteSound(atMs),
    );
    return this.#player;
  }

  /** @param {'interrupted' | 'lost'} state */
  #stop(state) {
    const position = this.#player?.seconds ?? 0;
    const live = this.#live;
    for (const turn of live) turn.hear(position);
    const heard = live.findLast(({ startSeconds = Infinity }) => startSeconds <= position);
    const playedMs = Math.round((heard?.heardSeconds ?? 0) * 1000);
    this.#player?.stop();
    for (const turn of live) if (turn.state !== 'heard') turn.cutOff(state);
    this.#sounding = undefined;
    return { heard, playedMs };
  }

  /** Handles a lost connection: keeps playing the received audio and cuts off unfinished turns. */
  #lose() {
    for (const turn of this.#live) {
      if (turn.state === 'ended' && turn.isComplete) continue;
      turn.hear(this.#player?.seconds ?? 0);
      turn.cutOff('lost');
    }
    this.#forget();
    this.#player?.pause();
    this.#changed();
  }

  /** Forgets the turn numbers, because each connection counts turns from 0. */
  #forget() {
    this.#turns = this.#live;
    for (const turn of this.#turns) turn.index = -1;
    this.#sounding = undefined;
    this.#odd = new Uint8Array();
  }

  /** Finds the turn with this number. Otherwise numbers the first turn without a number. @param {number} index */
  #turnOf(index) {
    const known = this.#turns.find((turn) => turn.index === index);
    if (known) return known;
    const next = this.#turns.find((turn) => turn.index === undefined);
    if (next) next.index = index;
    return next;
  }

  /** @param {any} message */
  #take(message) {
    if (message.type === 'interrupted') return this.#takeInterrupted(message);
    const turn = message.turn === undefined ? undefined : this.#turnOf(message.turn);
    // Audio that was in transit when the turn was interrupted is not played.
    if (message.type === 'info') this.#sounding = undefined;
    if (!turn || turn.state === 'interrupted') return;
    if (message.type === 'info') {
      const player = this.#audio();
      // The service has answered all earlier interruptions.
      this.#turns = this.#live;
      this.#sounding = turn;
      this.#odd = new Uint8Array();
      // Measures the delay of the turn's first audio, unless earlier audio is still playing.
      turn.begin(player.pushedSeconds);
      if (player.seconds >= player.pushedSeconds) player.expectStart();
    } else if (message.type === 'timestamps') turn.addWords(message.words);
    else if (message.type === 'flushed') {
      turn.isComplete = true;
      turn.startSeconds ??= turn.endSeconds = this.#player?.pushedSeconds ?? 0;
      this.#player?.pause();
    }
    this.#changed();
  }

  /** @param {{ turn: number, text_spoken: string, text_remaining: string }} message */
  #takeInterrupted({ turn: index, text_spoken: spoken, text_remaining: remaining }) {
    const stopped = this.#turns.filter(({ state }) => state === 'interrupted');
    const turn = stopped.find((each) => each.index === index) ?? stopped.find((each) => each.index === undefined);
    // The service answers an interruption even if there was nothing to interrupt.
    if (!turn || spoken + remaining !== turn.text) return;
    turn.index = index;
    turn.correct(spoken);
    this.#turns = this.#turns.filter((each) => each !== turn);
  }

  /** @param {Uint8Array} bytes */
  #takeAudio(bytes) {
    const turn = this.#sounding;
    const player = this.#player;
    if (!turn || !player) return;
    const all = new Uint8Array([...this.#odd, ...bytes]);
    const count = all.length >> 1;
    this.#odd = all.slice(2 * count);
    player.push(new Int16Array(all.buffer, 0, count).slice());
    turn.endSeconds = player.pushedSeconds;
  }

  #changed() {
    this.#options.onChange();
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    const seconds = this.#player?.seconds ?? 0;
    const live = this.#live;
    for (const turn of live) turn.hear(seconds);
    const isHeard = this.#live.length < live.length;
    this.#turns = this.#turns.filter(({ state }) => state !== 'heard' && state !== 'lost');
    if (isHeard) this.#options.onChange();
    if (this.#live.length > 0) this.#frame = requestAnimationFrame(() => this.#draw());
    else this.#player?.rest();
  }
}

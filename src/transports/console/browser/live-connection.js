// The WebSocket connection of live speech. It opens on demand with a ticket, and reconnects after a loss. Messages wait
// until the connection is open. After an error from the service, the next message opens a new connection.
/** @import { Api } from './api.js' */
import { ApiError, serviceUrl } from './api.js';

/**
 * @typedef {'closed' | 'connecting' | 'open' | 'waiting' | 'failed'} ConnectionState
 *
 * @typedef {object} ConnectionOptions
 * @property {Api} api
 * @property {() => object} getStart Returns the first message of each connection.
 * @property {(message: any) => void} onMessage
 * @property {(bytes: ArrayBuffer) => void} onAudio
 * @property {() => void} onLost Called when the connection and all unanswered messages are lost.
 * @property {(state: ConnectionState, text: string) => void} onState
 * @property {(error: unknown) => void} onError
 */

const path = '/api/audio/speech/live';
const [triesMax, retryDelayMs] = [5, 500];

export class LiveConnection {
  /** @type {ConnectionState} */
  state = 'closed';
  #options;
  /** @type {object[]} */
  #queue = [];
  /** @type {WebSocket | undefined} */
  #socket;
  #tries = 0;
  #timer = 0;
  #abort = new AbortController();

  /** @param {ConnectionOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** Opens the connection, unless it is already open or being opened. */
  open() {
    if (this.state === 'closed' || this.state === 'failed') void this.#connect();
  }

  /** @param {object} message */
  send(message) {
    if (this.state === 'open') return this.#socket?.send(JSON.stringify(message));
    this.#queue.push(message);
    this.open();
  }

  /** Closes the connection. The next message opens a new connection. */
  close() {
    this.#leave();
    this.#show('closed', 'Not connected');
  }

  #leave() {
    clearTimeout(this.#timer);
    this.#abort.abort(new DOMException('The connection was closed.', 'AbortError'));
    this.#abort = new AbortController();
    this.#queue = [];
    this.#tries = 0;
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close(1000);
  }

  async #connect() {
    const { signal } = this.#abort;
    this.#show('connecting', this.#tries === 0 ? 'Connecting …' : `Connecting again, ${this.#tries} of ${triesMax} …`);
    try {
      const ticket = await this.#options.api.requestJson(`${path}/tickets`, { method: 'POST', signal });
      // Uses the console's own base URL, because behind a proxy the base of the ticket's URL may be wrong.
      const { search } = new URL(ticket.live_url);
      if (!signal.aborted) this.#listen(new WebSocket(serviceUrl.replace(/^http/, 'ws') + path + search));
    } catch (error) {
      if (signal.aborted) return;
      const isTemporary = !(error instanceof ApiError) || error.retryAfterSeconds !== undefined;
      if (isTemporary && this.#tries > 0) this.#retry(error);
      else this.#fail(error);
    }
  }

  /** @param {WebSocket} socket */
  #listen(socket) {
    const { getStart, onMessage, onAudio, onLost } = this.#options;
    /** @type {ApiError | undefined} */
    let refusal;
    let wasOpen = false;
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => {
      if (this.#socket !== socket) return;
      wasOpen = true;
      this.#show('open', 'Connected');
      for (const message of [getStart(), ...this.#queue.splice(0)]) socket.send(JSON.stringify(message));
    });
    socket.addEventListener('message', ({ data }) => {
      if (this.#socket !== socket) return;
      this.#tries = 0;
      if (typeof data !== 'string') return onAudio(data);
      const message = JSON.parse(data);
      if (message.type === 'error') refusal = new ApiError(message);
      else onMessage(message);
    });
    socket.addEventListener('close', ({ code }) => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      if (wasOpen) onLost();
      if (code === 1000) this.#show('closed', 'Not connected');
      else if (refusal && code !== 1012) this.#fail(refusal);
      else this.#retry(refusal ?? new Error('The connection was lost.'));
    });
  }

  /** @param {unknown} error */
  #retry(error) {
    if (this.#tries === triesMax) return this.#fail(error);
    const delayMs = retryDelayMs * 2 ** this.#tries++;
    const reason = error instanceof Error ? error.message : String(error);
    this.#show('waiting', `${reason} Connecting again in ${delayMs / 1000} s.`);
    this.#timer = setTimeout(() => void this.#connect(), delayMs);
  }

  /** @param {unknown} error */
  #fail(error) {
    this.#leave();
    this.#show('failed', 'Not connected: type to connect again');
    this.#options.onError(error);
  }

  /**
   * @param {ConnectionState} state
   * @param {string} text
   */
  #show(state, text) {
    this.state = state;
    this.#options.onState(state, text);
  }
}

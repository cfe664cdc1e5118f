// Sonant's live speech for a telephone: accepts text while it is written, and returns u-law at 8 kHz, turn by turn.
import { WebSocket } from 'ws';

export interface LiveSpeechOptions {
  /** URL of Sonant, such as http://127.0.0.1:8080. */
  url: string;
  apiKey: string;
  voice: string;
  onAudio(audio: Buffer): void;
  /** Called when all audio of the turn has arrived. */
  onFlushed(): void;
  /** Called when no more audio of the turn follows. `spoken` is the text that was heard, exact to the word. */
  onInterrupted(spoken: string): void;
  /** Called once, with an error unless `close` was called. */
  onClosed(error?: Error): void;
}

export class LiveSpeech {
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;
  #isClosed = false;
  #error: string | undefined;

  constructor(options: LiveSpeechOptions) {
    const { url, apiKey, voice, onClosed } = options;
    this.#socket = new WebSocket(`${url.replace(/^http/, 'ws')}/api/audio/speech/live`, {
      headers: { 'X-API-Key': apiKey },
    });
    this.#opened = new Promise((resolve) => this.#socket.once('open', resolve));
    this.#send({ type: 'start', voice_id: voice, output_format: 'ulaw', sample_rate: 8000 });
    this.#socket.on('message', (data: Buffer, isBinary) => {
      if (this.#isClosed) return;
      if (isBinary) options.onAudio(data);
      else this.#take(JSON.parse(data.toString()), options);
    });
    // A 'close' event follows.
    this.#socket.on('error', (error) => {
      this.#error ??= error.message;
    });
    this.#socket.on('close', (code) => {
      onClosed(this.#isClosed ? undefined : new Error(this.#error ?? `it closed with ${code}`));
    });
  }

  addText(text: string): void {
    this.#send({ type: 'text', text });
  }

  endTurn(): void {
    this.#send({ type: 'flush' });
  }

  /** `playedMs` is the duration of the turn's audio that was played. */
  interrupt(turn: number, playedMs: number): void {
    this.#socket.resume();
    this.#send({ type: 'interrupt', turn, played_ms: playedMs });
  }

  /** Stops or resumes reading. Sonant stops speaking while its audio is not read. */
  setPaused(isPaused: boolean): void {
    if (isPaused && !this.#isClosed) this.#socket.pause();
    else this.#socket.resume();
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.resume();
    this.#socket.close(1000);
  }

  #take(message: Record<string, unknown>, { onFlushed, onInterrupted }: LiveSpeechOptions): void {
    if (message.type === 'flushed') onFlushed();
    else if (message.type === 'interrupted') onInterrupted(String(message.text_spoken));
    else if (message.type === 'error') this.#error = String(message.message);
  }

  #send(message: object): void {
    void this.#opened.then(() => this.#socket.send(JSON.stringify(message)));
  }
}

// Converts events of live speech to ElevenLabs's messages: `{"audio","alignment","normalizedAlignment","contextId"}`,
// with audio and times in separate messages, and `{"isFinal":true,"contextId"}` as the last. An error is the last message
// of a connection with a single context.
import type { LiveEvent } from '../../../api.ts';
import { encodeSilence } from '../../../audio.ts';
import type { Failure } from '../../../platform/errors.ts';
import type { SpeechRequest } from '../../../speech.ts';
import { type ContextWriter, emptyContextSeconds } from '../speech-contexts.ts';
import { type Alignment, AlignmentMessages, CharacterTimes } from './alignment.ts';
import { toErrorMessage } from './elevenlabs-failure.ts';

interface SpokenContext {
  /** Id of the context; undefined if it has none. */
  contextId: string | undefined;
  isMulti: boolean;
  start: SpeechRequest;
  isAbsolute: boolean;
  /** Called when no message has arrived for `contextIdleMs`. */
  onIdle(): void;
  onFailure(message: string): void;
  contextIdleMs: number;
}

export class ElevenLabsWriter implements ContextWriter {
  readonly #context: SpokenContext;
  readonly #times: CharacterTimes;
  readonly #alignments: AlignmentMessages;
  #idle: NodeJS.Timeout | undefined;
  #turn = 0;
  #hasSound = false;
  #hasFailed = false;
  /** Whether the current turn has text. */
  hasText = false;
  isClosing = false;

  constructor(context: SpokenContext) {
    this.#context = context;
    // Clients that count from the previous message need the last character of a word to complete the word.
    this.#times = new CharacterTimes({ holdsLast: context.isAbsolute });
    this.#alignments = new AlignmentMessages(context.isAbsolute);
  }

  /** Called when a message has arrived. */
  keepAlive(): void {
    const { onIdle, contextIdleMs } = this.#context;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(onIdle, contextIdleMs).unref();
  }

  addText(text: string): void {
    this.hasText = true;
    this.#times.addText(this.#turn, text);
  }

  endTurn(): void {
    this.hasText = false;
    this.#turn++;
  }

  async *write(event: LiveEvent): AsyncGenerator<object> {
    if (event.type === 'audio') yield this.#toMessage(event.audio);
    else if (event.type === 'timestamps') yield* this.#align(event.turn, event.words);
    else if (event.type === 'flushed') {
      const { rest, endMs } = this.#times.endTurn(event.turn, event.seconds);
      yield* this.#toMessages(this.#alignments.put(rest, endMs));
    } else if (event.type === 'done' && !this.#hasSound) {
      const { format, sampleRateHz } = this.#context.start;
      yield this.#toMessage(await encodeSilence(format, sampleRateHz, emptyContextSeconds));
    }
  }

  *fail(failure: Failure): Generator<object> {
    this.#hasFailed = true;
    const error = toErrorMessage(failure, this.#context.contextId);
    this.#context.onFailure(error.message);
    yield error;
  }

  *end(): Generator<object> {
    clearTimeout(this.#idle);
    const { contextId, isMulti } = this.#context;
    if (isMulti || !this.#hasFailed) yield { isFinal: true, contextId };
  }

  #align(turn: number, words: Extract<LiveEvent, { type: 'timestamps' }>['words']) {
    return this.#toMessages(this.#alignments.put(this.#times.takeWords(turn, words)));
  }

  *#toMessages(alignment: Alignment | undefined): Generator<object> {
    if (alignment) yield { ...this.#toMessage(new Uint8Array()), alignment, normalizedAlignment: alignment };
  }

  #toMessage(audio: Uint8Array): object {
    this.#hasSound ||= audio.length > 0;
    const { buffer, byteOffset, byteLength } = audio;
    const data = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    return { audio: data, alignment: null, normalizedAlignment: null, contextId: this.#context.contextId };
  }
}

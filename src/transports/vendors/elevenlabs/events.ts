// Converts events of live speech to ElevenLabs's messages: `{"audio","alignment","normalizedAlignment","contextId"}`,
// with audio and times in separate messages, and `{"isFinal":true,"contextId"}` as the last. In a dialogue with times, a
// message contains the audio and the times of its characters. An error is the last message of a connection with a single
// context. If this context ends because its client sends nothing, that is an error too: the client still has text, and
// would take a regular end for the end of all its text.
import type { LiveEvent } from '../../../api.ts';
import { audioFormats, encodeSilence } from '../../../audio.ts';
import { Failure } from '../../../platform/errors.ts';
import type { SpeechRequest } from '../../../speech.ts';
import { type ContextWriter, emptyContextSeconds } from '../speech-contexts.ts';
import { type Alignment, AlignmentMessages, CharacterTimes, PairedMessages, type TimedChar } from './alignment.ts';
import { toErrorMessage } from './elevenlabs-failure.ts';

interface SpokenContext {
  contextId: string | undefined;
  isMulti: boolean;
  isDialogue: boolean;
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
  /** Undefined if audio and times are sent in separate messages, or without times. */
  readonly #paired: PairedMessages | undefined;
  #idle: NodeJS.Timeout | undefined;
  #turn = 0;
  #hasSound = false;
  #hasFailed = false;
  /** Whether the current turn has text. */
  hasText = false;
  isClosing = false;
  /** Whether the only context of a connection ended because its client sent nothing. */
  hasExpired = false;
  /** The voice of the last text, in a dialogue. */
  voiceId: string | undefined;

  constructor(context: SpokenContext) {
    this.#context = context;
    // Clients that count from the previous message need the last character of a word to complete the word.
    this.#times = new CharacterTimes({ holdsLast: context.isAbsolute });
    this.#alignments = new AlignmentMessages(context.isAbsolute);
    const { isDialogue, isAbsolute, start } = context;
    const msPerByte = 1000 / audioFormats[start.format].bytesPerSecond(start.sampleRateHz);
    this.#paired = isDialogue && isAbsolute ? new PairedMessages(msPerByte) : undefined;
  }

  /** Called when a message has arrived. */
  keepAlive(): void {
    const { isMulti, onIdle, contextIdleMs } = this.#context;
    clearTimeout(this.#idle);
    const expire = () => {
      if (this.isClosing) return;
      this.hasExpired = !isMulti;
      onIdle();
    };
    this.#idle = setTimeout(expire, contextIdleMs).unref();
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
    const { isDialogue, start } = this.#context;
    if (event.type === 'audio' && this.#paired) this.#paired.held.push(event.audio);
    else if (event.type === 'audio') yield this.#toMessage(event.audio);
    else if (event.type === 'timestamps') yield* this.#align(this.#times.takeWords(event.turn, event.words));
    else if (event.type === 'flushed') {
      const { rest, endMs } = this.#times.endTurn(event.turn, event.seconds);
      yield* this.#align(rest, endMs);
      if (isDialogue) yield { isFinalAudioForTurn: true, contextId: this.#context.contextId };
    } else if (event.type === 'done') {
      for (const audio of this.#paired?.held ?? []) yield this.#toMessage(audio);
      if (!this.#hasSound)
        yield this.#toMessage(await encodeSilence(start.format, start.sampleRateHz, emptyContextSeconds));
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
    const { contextId, isMulti, contextIdleMs } = this.#context;
    if (this.hasExpired && !this.#hasFailed) {
      const message = `No text arrived for ${contextIdleMs / 1000} s. Send a space while the next text is not ready.`;
      yield* this.fail(new Failure('request_timeout', { message }));
    }
    if (isMulti || !this.#hasFailed) yield { isFinal: true, contextId };
  }

  /** Sends the times of characters. `turnEndMs` is the end of the turn, if it has ended. */
  *#align(timed: readonly TimedChar[], turnEndMs?: number): Generator<object> {
    if (this.#paired) {
      for (const { audio, alignment } of this.#paired.put(timed, turnEndMs)) yield this.#toMessage(audio, alignment);
    } else if (!this.#context.isDialogue) {
      const alignment = this.#alignments.put(timed, turnEndMs);
      if (alignment) yield this.#toMessage(new Uint8Array(), alignment);
    }
  }

  #toMessage(audio: Uint8Array, alignment: Alignment | null = null): object {
    this.#hasSound ||= audio.length > 0;
    const { buffer, byteOffset, byteLength } = audio;
    const data = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    return { audio: data, alignment, normalizedAlignment: alignment, contextId: this.#context.contextId };
  }
}

// Converts the messages of an ElevenLabs client to inputs of its contexts. When a client closes a context, its flushed
// text is spoken to the end, and the rest is dropped; this is how clients interrupt. When a client closes the socket,
// all text of all contexts is spoken first. `isFinal` is the last message of a context; a failure of the connection is
// its last message, and its sentence is the reason in the close frame.
//     {"text":" ","xi_api_key"}                   the key, in the first message, if no header contains it
//     {"text":" ","context_id","voice_settings"}  {"text","context_id","flush"}  {"context_id","close_context":true}
//     {"text":""}                                 keeps alive; ends the text if the connection has a single context
//     {"close_socket":true}

import type { Fields } from '../../../contract.ts';
import { Failure } from '../../../platform/errors.ts';
import { contextIdCharsMax } from '../../http/http-limits.ts';
import { fromThrown } from '../../http/thrown-failure.ts';
import {
  type ContextProtocol,
  type ContextSocket,
  type SpeechContext,
  type SpeechContexts,
  toPhrase,
} from '../speech-contexts.ts';
import { toErrorMessage } from './elevenlabs-failure.ts';
import { ElevenLabsWriter } from './events.ts';
import type { SocketSettings } from './generation.ts';

interface ProtocolOptions {
  settings: SocketSettings;
  /** Whether the connection can have several contexts. */
  isMulti: boolean;
}

type Context = SpeechContext<ElevenLabsWriter>;

/** Context id for messages that name no context. */
const unnamed = '';

export class ElevenLabsProtocol implements ContextProtocol {
  readonly textField = 'text';
  readonly #contexts: SpeechContexts<ElevenLabsWriter>;
  readonly #socket: ContextSocket;
  readonly #options: ProtocolOptions;
  #isClosing = false;
  /** The message of the last failure of a context. */
  #failed: string | undefined;

  constructor(contexts: SpeechContexts<ElevenLabsWriter>, socket: ContextSocket, options: ProtocolOptions) {
    this.#contexts = contexts;
    this.#socket = socket;
    this.#options = options;
  }

  handle(message: Fields): void {
    if (this.#isClosing) return;
    const { isMulti } = this.#options;
    const id = isMulti && typeof message.context_id === 'string' ? message.context_id : unnamed;
    try {
      if (id.length > contextIdCharsMax)
        throw invalid('context_id', `must have at most ${contextIdCharsMax} characters`);
      if (message.close_socket === true) this.#closeSocket();
      else this.#take(id, message);
    } catch (error) {
      this.#refuse(id, error);
    }
  }

  onIdle(): void {
    if (this.#options.isMulti && !this.#isClosing) return;
    if (this.#failed === undefined) this.#socket.close(1000);
    else this.#socket.close(1008, this.#failed);
  }

  toError(failure: Failure) {
    return toErrorMessage(failure, undefined);
  }

  #take(id: string, message: Fields): void {
    const { text, flush, close_context: close, voice_settings: voiceSettings } = message;
    if (typeof (text ?? '') !== 'string') throw invalid('text', 'must be a string');
    const given = String(text ?? '');
    const known = this.#contexts.get(id);
    const context = known ?? (given === '' ? undefined : this.#open(id, voiceSettings));
    context?.writer.keepAlive();
    if (context) this.#speak(context, given, flush === true);
    const isEnd = !this.#options.isMulti && text === '' && flush !== true;
    if (context && isEnd) finish(context);
    else if (isEnd) void this.#endEmpty();
    else if (context && close === true) closeContext(context);
  }

  #open(id: string, voiceSettings: unknown): Context {
    const { isMulti, settings } = this.#options;
    const { isAbsolute, contextIdleMs, startWith } = settings;
    const start = startWith(voiceSettings ?? undefined);
    const named = { contextId: this.#nameOf(id), isMulti, start, isAbsolute, contextIdleMs };
    const onIdle = () => finish(context);
    const onFailure = (message: string) => {
      this.#failed = message;
    };
    const context: Context = this.#contexts.open(id, new ElevenLabsWriter({ ...named, onIdle, onFailure }));
    context.inputs.push({ type: 'start', start });
    return context;
  }

  #speak({ writer, inputs, isOver }: Context, given: string, flush: boolean): void {
    if (given !== '' && writer.isClosing) throw invalid('context_id', 'must be a context that is not closed');
    if (isOver) return;
    if (given.trim() !== '' || (given !== '' && writer.hasText)) {
      const { isAuto: isPhrase } = this.#options.settings;
      const text = isPhrase ? toPhrase(given) : given;
      writer.addText(text);
      inputs.push({ type: 'text', text, isPhrase });
    }
    if (flush && writer.hasText) {
      writer.endTurn();
      inputs.push({ type: 'flush' });
    }
  }

  /** Reports the failure to the client, and ends the context. */
  #refuse(id: string, error: unknown): void {
    const context = this.#contexts.get(id);
    if (context && !context.writer.isClosing) {
      context.writer.isClosing = true;
      context.inputs.fail(error);
    } else {
      const contextId = this.#nameOf(id)?.slice(0, contextIdCharsMax);
      const message = toErrorMessage(fromThrown(error), contextId);
      void this.#socket.send(message);
      if (!this.#options.isMulti) this.#socket.close(1008, message.message);
      else if (!context) void this.#socket.send({ isFinal: true, contextId });
    }
  }

  async #endEmpty(): Promise<void> {
    await this.#socket.send({ isFinal: true });
    this.#socket.close(1000);
  }

  /**
   * The connection stays open until every context has spoken all its text, because a clean close means complete audio.
   */
  #closeSocket(): void {
    this.#isClosing = true;
    for (const context of this.#contexts.all()) finish(context);
    if (this.#contexts.isIdle) this.onIdle();
  }

  #nameOf(id: string): string | undefined {
    return this.#options.isMulti && id !== unnamed ? id : undefined;
  }
}

/** Ends the text of the context. */
function finish({ writer, inputs }: Context): void {
  writer.isClosing = true;
  inputs.end();
}

function closeContext(context: Context): void {
  if (context.writer.hasText) context.cancel();
  finish(context);
}

const invalid = (field: string, message: string) =>
  new Failure('invalid_request', { details: [{ field, reason: 'type', message }] });

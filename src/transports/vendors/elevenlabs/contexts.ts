// Converts the messages of an ElevenLabs client to inputs of its contexts. When a client closes a context, its flushed
// text is spoken to the end, and the rest is dropped; this is how clients interrupt. When a client closes the socket,
// all text of all contexts is spoken first. `isFinal` is the last message of a context; a failure of the connection is
// its last message, and its sentence is the reason in the close frame.
//     {"text":" ","xi_api_key"}                   the key, in the first message, if no header contains it
//     {"text":" ","context_id","voice_settings"}  {"text","context_id","flush"}  {"context_id","close_context":true}
//     {"text":""}                                 keeps alive; ends the text if the connection has a single context
//     {"close_socket":true}
// In a dialogue, each text names its voice, and a context is opened by the list of its voices. A closed context speaks all
// its text, because clients close a context without a flush.
//     {"context_id","voices":["clara"],"voice_settings"}  {"context_id","inputs":[{"text","voice_id","new_turn"}],"flush"}
//     {"context_id","keep_alive":true}

import { type Fields, isObject } from '../../../contract.ts';
import { type Failure, invalidField } from '../../../platform/errors.ts';
import { contextIdCharsMax } from '../../http/http-limits.ts';
import { fromThrown } from '../../net/failure-reply.ts';
import {
  type ContextProtocol,
  type ContextSocket,
  type SpeechContext,
  type SpeechContexts,
  toPhrase,
} from '../speech-contexts.ts';
import { toErrorMessage } from './elevenlabs-failure.ts';
import { ElevenLabsWriter } from './events.ts';
import type { SocketSettings } from './request.ts';

interface ProtocolOptions {
  settings: SocketSettings;
  /** Whether the connection can have several contexts. */
  isMulti: boolean;
  /** The voice in the URL; undefined for a dialogue. */
  voiceId: string | undefined;
}

/** A text and its voice; undefined for the voice of the context. */
type Input = { text: string; voiceId?: string; isNewTurn?: boolean };

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

  onIdle(isStopping: boolean): void {
    if (this.#options.isMulti && !this.#isClosing) return;
    if (this.#failed === undefined) this.#socket.close(1000);
    else if (!isStopping) this.#socket.close(1008, this.#failed);
  }

  toError(failure: Failure) {
    return toErrorMessage(failure, undefined);
  }

  #take(id: string, message: Fields): void {
    const { isMulti, voiceId } = this.#options;
    const { text, voices, flush, close_context: close } = message;
    const isDialogue = voiceId === undefined;
    if (typeof (text ?? '') !== 'string') throw invalid('text', 'must be a string');
    const inputs = isDialogue ? readInputs(message) : [{ text: String(text ?? '') }];
    const isOpening = (isDialogue && voices !== undefined) || inputs.some((input) => input.text !== '');
    const context = this.#contexts.get(id) ?? (isOpening ? this.#open(id, message, inputs[0]?.voiceId) : undefined);
    context?.writer.keepAlive();
    // A text without characters keeps the call alive.
    if (message.keep_alive === true) context?.inputs.push({ type: 'text', text: '' });
    for (const input of inputs) if (context) this.#speak(context, input);
    if (context && flush === true) endTurn(context);
    const isEnd = !isDialogue && !isMulti && text === '' && flush !== true;
    if (context && (isEnd || (isDialogue && close === true))) finish(context);
    else if (isEnd) void this.#endEmpty();
    else if (context && close === true) closeContext(context);
  }

  #open(id: string, first: Fields, firstVoiceId: string | undefined): Context {
    const { isMulti, settings, voiceId } = this.#options;
    const { isAbsolute, contextIdleMs, startWith } = settings;
    const voices = voiceId === undefined ? readVoices(first, firstVoiceId) : [voiceId];
    const start = startWith(voices[0], first);
    const named = { contextId: this.#nameOf(id), isMulti, isDialogue: voiceId === undefined, start };
    const onIdle = () => finish(context);
    const onFailure = (message: string) => {
      this.#failed = message;
    };
    const writer = new ElevenLabsWriter({ ...named, isAbsolute, contextIdleMs, onIdle, onFailure });
    const context: Context = this.#contexts.open(id, writer);
    context.inputs.push({ type: 'start', start, voices });
    return context;
  }

  #speak(context: Context, { text: given, voiceId, isNewTurn = false }: Input): void {
    const { writer, inputs, isOver } = context;
    // The end of the context reports that this text came too late.
    if (writer.hasExpired) return;
    if (given !== '' && writer.isClosing) throw invalid('context_id', 'must be a context that is not closed');
    if (isOver) return;
    if (isNewTurn || voiceId !== writer.voiceId) endTurn(context);
    writer.voiceId = voiceId;
    if (given.trim() !== '' || (given !== '' && writer.hasText)) {
      const { isAuto: isPhrase } = this.#options.settings;
      const text = isPhrase ? toPhrase(given) : given;
      writer.addText(text);
      inputs.push({ type: 'text', text, isPhrase, ...(voiceId !== undefined && { voiceId }) });
    }
  }

  /** Reports the failure to the client, and ends the context. */
  #refuse(id: string, error: unknown): void {
    const context = this.#contexts.get(id);
    if (context && !context.writer.isClosing) {
      context.writer.isClosing = true;
      context.inputs.fail(error);
    } else {
      const contextId = this.#nameOf(id);
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
    if (this.#contexts.isIdle) this.onIdle(false);
  }

  #nameOf(id: string): string | undefined {
    return this.#options.isMulti && id !== unnamed ? id : undefined;
  }
}

function endTurn({ writer, inputs, isOver }: Context): void {
  if (isOver || !writer.hasText) return;
  writer.endTurn();
  inputs.push({ type: 'flush' });
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

function readInputs({ inputs }: Fields): Input[] {
  if (!Array.isArray(inputs ?? [])) throw invalid('inputs', 'must be a list');
  return ((inputs ?? []) as unknown[]).map((input) => {
    const { text, voice_id: voiceId, new_turn: isNewTurn }: Fields = isObject(input) ? input : {};
    if (typeof text === 'string' && typeof voiceId === 'string')
      return { text, voiceId, isNewTurn: isNewTurn === true };
    throw invalid('inputs', 'must be objects with text and voice_id');
  });
}

/** The voices of a dialogue, of which the first is the voice of its start. */
function readVoices({ voices }: Fields, firstVoiceId: string | undefined): string[] {
  const named = voices ?? [firstVoiceId];
  if (Array.isArray(named) && named.length > 0 && named.every((voice) => typeof voice === 'string')) return named;
  throw invalid('voices', 'must be a list of ids of voices');
}

const invalid = (field: string, message: string) => invalidField(field, 'type', message);

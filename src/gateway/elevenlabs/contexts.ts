// The messages of a client of ElevenLabs, as inputs of its contexts:
//     {"text":" ","context_id","voice_settings"}  {"text","context_id","flush"}  {"context_id","close_context":true}
//     {"text":""}                                 keeps alive; ends the text where the connection has a single context
//     {"close_socket":true}
// Closing a context speaks what was flushed to its end, and stops one whose text was not: that is how clients interrupt.
// `isFinal` is its last message.
import { encodeSilence } from '../../audio/silence.ts';
import { Failure } from '../../errors.ts';
import type { LiveEvent } from '../../operations/live-session.ts';
import type { LiveStart } from '../../speech/live-request.ts';
import { fromThrown } from '../http/failure-reply.ts';
import type { Fields } from '../http/known-fields.ts';
import { closingSocketMs } from '../http/limits.ts';
import { emptyContextSeconds } from '../http/live-start.ts';
import type {
  ContextProtocol,
  ContextSocket,
  ContextWriter,
  SpeechContext,
  SpeechContexts,
} from '../http/speech-contexts.ts';
import { type Alignment, AlignmentMessages, CharacterTimes } from './alignment.ts';
import { toErrorMessage } from './failure-reply.ts';
import type { SocketSettings } from './generation.ts';

interface SpokenContext {
  /** Undefined where a connection has a single context. */
  contextId: string | undefined;
  start: LiveStart;
  isAbsolute: boolean;
  /** Called when no message has come for too long. */
  onIdle(): void;
  onFailure(): void;
  contextIdleMs: number;
}

export class ElevenLabsWriter implements ContextWriter {
  readonly #context: SpokenContext;
  readonly #times = new CharacterTimes();
  readonly #alignments: AlignmentMessages;
  readonly #idle: NodeJS.Timeout;
  #turn = 0;
  #hasSound = false;
  /** Whether the turn that text is added to has text. */
  hasText = false;
  isClosing = false;

  constructor(context: SpokenContext) {
    this.#context = context;
    this.#alignments = new AlignmentMessages(context.isAbsolute);
    this.#idle = setTimeout(context.onIdle, context.contextIdleMs).unref();
  }

  keepAlive(): void {
    this.#idle.refresh();
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
      const rest = this.#times.endTurn(event.turn, event.seconds);
      yield* this.#toMessages(this.#alignments.put(rest, { endsTurn: true }));
    } else if (event.type === 'done' && !this.#hasSound) {
      const { format, sampleRateHz } = this.#context.start;
      yield this.#toMessage(await encodeSilence(format, sampleRateHz, emptyContextSeconds));
    }
  }

  *fail(failure: Failure): Generator<object> {
    this.#context.onFailure();
    yield toErrorMessage(failure, this.#context.contextId);
  }

  *end(): Generator<object> {
    clearTimeout(this.#idle);
    yield { isFinal: true, contextId: this.#context.contextId };
  }

  #align(turn: number, words: Extract<LiveEvent, { type: 'timestamps' }>['words']) {
    return this.#toMessages(this.#alignments.put(this.#times.takeWords(turn, words), { endsTurn: false }));
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

export interface ProtocolOptions {
  settings: SocketSettings;
  /** Whether the connection has more than a single context. */
  isMulti: boolean;
}

type Context = SpeechContext<ElevenLabsWriter>;

/** The context of messages that name none. */
const unnamed = '';

export function createElevenLabsProtocol(
  contexts: SpeechContexts<ElevenLabsWriter>,
  socket: ContextSocket,
  { settings, isMulti }: ProtocolOptions,
): ContextProtocol {
  let isClosing = false;
  let hasFailed = false;
  const onFailure = () => {
    hasFailed = true;
  };
  const nameOf = (id: string) => (isMulti && id !== unnamed ? id : undefined);

  const open = (id: string, voiceSettings: unknown): Context => {
    const { isAbsolute, contextIdleMs } = settings;
    const start = settings.startWith(voiceSettings ?? undefined);
    const onIdle = () => finish(context);
    const named = { contextId: nameOf(id), start, isAbsolute, contextIdleMs };
    const context: Context = contexts.open(id, new ElevenLabsWriter({ ...named, onIdle, onFailure }));
    context.inputs.push({ type: 'start', start });
    return context;
  };

  const finish = ({ writer, inputs }: Context) => {
    writer.isClosing = true;
    inputs.end();
  };

  const closeContext = (context: Context) => {
    if (context.writer.hasText) context.cancel();
    finish(context);
  };

  const speak = ({ writer, inputs }: Context, given: string, flush: boolean) => {
    if (given !== '' && writer.isClosing) throw invalid('context_id', 'names a context that is closed');
    if (given.trim() !== '' || (given !== '' && writer.hasText)) {
      // Clients send phrases without the space that stands between them.
      const text = settings.isAuto && !/\s$/.test(given) ? `${given} ` : given;
      writer.addText(text);
      inputs.push({ type: 'text', text });
    }
    if (flush && writer.hasText) {
      writer.endTurn();
      inputs.push({ type: 'flush' });
    }
  };

  const take = (id: string, message: Fields) => {
    const { text, flush, close_context: close, voice_settings: voiceSettings } = message;
    if (typeof (text ?? '') !== 'string') throw invalid('text', 'must be a string');
    const given = String(text ?? '');
    const known = contexts.get(id);
    known?.writer.keepAlive();
    const context = known ?? (given === '' ? undefined : open(id, voiceSettings));
    if (context) speak(context, given, flush === true);
    const isEnd = !isMulti && text === '' && flush !== true;
    if (context && isEnd) finish(context);
    else if (isEnd) void endEmpty();
    else if (context && close === true) closeContext(context);
  };

  const endEmpty = async () => {
    await socket.send({ isFinal: true });
    socket.close(1000);
  };

  const closeSocket = () => {
    isClosing = true;
    for (const context of contexts.all()) finish(context);
    if (contexts.isIdle) socket.close(1000);
    else setTimeout(() => socket.close(1000), closingSocketMs).unref();
  };

  return {
    toError: (failure) => toErrorMessage(failure, undefined),
    onIdle() {
      if (!isMulti || isClosing) socket.close(hasFailed ? 1008 : 1000);
    },
    handle(message) {
      const id = isMulti && typeof message.context_id === 'string' ? message.context_id : unnamed;
      if (isClosing) return;
      if (message.close_socket === true) return closeSocket();
      try {
        take(id, message);
      } catch (error) {
        onFailure();
        const context = contexts.get(id);
        if (context && !context.writer.isClosing) {
          context.writer.isClosing = true;
          context.inputs.fail(error);
        } else {
          void socket.send(toErrorMessage(fromThrown(error), nameOf(id)));
          if (!isMulti) socket.close(1008);
        }
      }
    },
  };
}

const invalid = (field: string, message: string) =>
  new Failure('invalid_request', { details: [{ field, reason: 'type', message }] });

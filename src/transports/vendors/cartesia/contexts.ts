// Converts the messages of a Cartesia client to inputs of its contexts. `done` is the last message of a context. After
// `cancel`, only `done` follows.

import type { Fields } from '../../../contract.ts';
import { Failure, invalidField, shorten } from '../../../platform/errors.ts';
import { contextIdCharsMax } from '../../http/http-limits.ts';
import { fromThrown } from '../../net/failure-reply.ts';
import {
  type ContextProtocol,
  type ContextSocket,
  type ContextWriter,
  type SpeechContext,
  type SpeechContexts,
  toPhrase,
} from '../speech-contexts.ts';
import { toErrorMessage } from './cartesia-failure.ts';
import { createEventWriter, doneMessage } from './events.ts';
import { type Generation, parseGeneration } from './request.ts';

export interface CartesiaWriter extends ContextWriter {
  /** Whether each transcript is a complete phrase, as is the case if the buffer delay is 0. */
  takesPhrases: boolean;
  addText(text: string): void;
  /** Notes that the client has requested the end of a turn. */
  flush(): void;
  /** Whether the last text of the context has arrived. */
  isEnded: boolean;
}

export function createCartesiaProtocol(
  contexts: SpeechContexts<CartesiaWriter>,
  { send }: ContextSocket,
  requestId: string,
): ContextProtocol {
  const toError = (failure: Failure) => toErrorMessage(failure, requestId);

  const open = (contextId: string, generation: Generation): SpeechContext<CartesiaWriter> => {
    const context = contexts.open(contextId, createWriter(contextId, generation, requestId));
    context.inputs.push({ type: 'start', start: generation.start });
    return context;
  };

  const generate = (contextId: string, message: Fields) => {
    const known = contexts.get(contextId);
    const { flush, continue: isContinued } = message;
    const transcript = message.transcript ?? '';
    if (known?.writer.isEnded) {
      if (transcript !== '' || flush === true) void send({ ...endedMessage(contextId), context_id: contextId });
      return;
    }
    if (known?.isOver) return;
    const { writer, inputs } = known ?? open(contextId, parseGeneration(message));
    if (typeof transcript !== 'string') throw invalidField('transcript', 'type', 'must be a string');
    if (transcript !== '') {
      const text = writer.takesPhrases ? toPhrase(transcript) : transcript;
      writer.addText(text);
      inputs.push({ type: 'text', text });
    }
    if (flush === true) {
      writer.flush();
      inputs.push({ type: 'flush' });
    }
    if (isContinued === true) return;
    writer.isEnded = true;
    inputs.end();
  };

  /** Reports that a context cannot be opened, and ends the context. */
  const refuse = (contextId: unknown, error: unknown) => {
    const context_id = typeof contextId === 'string' ? contextId : '';
    void send({ ...toError(fromThrown(error)), context_id });
    if (context_id !== '') void send({ ...doneMessage, context_id });
  };

  /**
   * Creates an error message for a context that is still speaking. Its status must be below 500, so that clients do not
   * end the context.
   */
  const endedMessage = (contextId: string) => {
    const message = `The context ${shorten(contextId)} has received its last text and is still being spoken; use another one.`;
    return toErrorMessage(new Failure('invalid_request', { message }), requestId, { isHarmless: true });
  };

  return {
    textField: 'transcript',
    toError,
    handle(message) {
      const { context_id: contextId } = message;
      try {
        if (typeof contextId !== 'string' || contextId === '')
          throw invalidField('context_id', 'required', 'must name the context');
        if (contextId.length > contextIdCharsMax)
          throw invalidField('context_id', 'length', `must have at most ${contextIdCharsMax} characters`);
        if (message.cancel === true) contexts.get(contextId)?.cancel();
        else generate(contextId, message);
      } catch (error) {
        const context = typeof contextId === 'string' ? contexts.get(contextId) : undefined;
        if (context) context.inputs.fail(error);
        else refuse(contextId, error);
      }
    },
  };
}

function createWriter(contextId: string, generation: Generation, requestId: string): CartesiaWriter {
  const asked = new Set<number>();
  let turn = 0;
  const events = createEventWriter(generation, (ended) => asked.delete(ended));
  return {
    takesPhrases: generation.start.bufferMs === 0,
    addText: (text) => events.addText(turn, text),
    isEnded: false,
    flush: () => void asked.add(turn++),
    async *write(event) {
      for await (const message of events.write(event)) yield { ...message, context_id: contextId };
    },
    *fail(failure) {
      yield { ...toErrorMessage(failure, requestId), context_id: contextId };
    },
    *end() {
      yield { ...doneMessage, context_id: contextId };
    },
  };
}

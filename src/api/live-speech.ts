// Live speech as an operation: the voice is looked up when the session starts, and each turn is charged while its text
// is spoken.
import { type LiveSpeechRequest, LiveSpeechRequestSchema, LiveStartSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { checkRules, Violations } from '../contract.ts';
import { Failure } from '../platform/errors.ts';
import { type FileOfTurns, type RequestOptions, type Speech, type SpeechRequest, toRequest } from '../speech.ts';
import { disclosureIn } from '../text.ts';
import type { Call } from './call.ts';
import { liveStartMs } from './call-limits.ts';
import { type LiveEvent, type LiveInput, LiveSession } from './live-session.ts';
import type { LiveTurn } from './live-turn.ts';
import type { Metering } from './metering.ts';

export interface LiveOperations {
  /** Speaks text while it arrives. The first input starts the session. Nothing is charged until something is spoken. */
  liveSpeech(call: Call, inputs: AsyncIterable<LiveInput>): AsyncIterable<LiveEvent>;
}

/** Converts a message. Throws a Failure with all violations, also with those found while the message was read. */
export function toLiveInput(
  { request: { case: type, value } }: LiveSpeechRequest,
  options: RequestOptions = {},
): LiveInput {
  const { violations = new Violations(), given = [] } = options;
  if (type === 'start') return { type, start: toRequest(LiveStartSchema, value, { violations, given }) };
  if (type) checkRules(LiveSpeechRequestSchema.field[type].message!, value, violations, { given });
  violations.throwIfAny();
  switch (type) {
    case 'text':
      return { type, text: value.text };
    case 'interrupt':
      return { type, playedMs: value.playedMs, turn: value.turn };
    case undefined:
      throw new Failure('invalid_request', { message: 'A request must contain start, text, flush, interrupt or end.' });
    default:
      return { type };
  }
}

export interface LiveOperationsOptions {
  speech: Pick<Speech, 'planLive' | 'speakTurn'>;
  metering: Pick<Metering, 'chargeTurn'>;
}

export const createLiveOperations = ({ speech, metering }: LiveOperationsOptions): LiveOperations => ({
  async *liveSpeech(call, inputs) {
    const { caller } = call;
    const given = inputs[Symbol.asyncIterator]();
    try {
      const start = await readStart(given);
      const planned = await speech.planLive(start, caller);
      const speakTurn = (turn: LiveTurn, file: FileOfTurns, signal: AbortSignal) =>
        metering.chargeTurn({ ...call, signal }, planned, (place) =>
          speech.speakTurn(planned, turn.text, { caller, signal, place, file }),
        );
      const { languageCode } = planned.cast.main;
      const session = new LiveSession({ call, start, languageCode, speakTurn });
      if (start.disclosure) {
        await session.handle({ type: 'text', text: disclosureIn(languageCode) });
        await session.handle({ type: 'flush' });
      }
      readInputs(session, given).catch((error: unknown) => session.fail(error));
      yield* session.events();
    } finally {
      // The result is not awaited, because an iterator that waits for the client would block here.
      given.return?.()?.catch(() => {});
    }
  },
});

async function readStart(inputs: AsyncIterator<LiveInput>): Promise<SpeechRequest> {
  const late = Promise.withResolvers<never>();
  const message = `The start message did not arrive within ${liveStartMs / 1000} s.`;
  const timer = setTimeout(() => late.reject(new Failure('engine_timeout', { message })), liveStartMs);
  try {
    const { done, value } = await Promise.race([inputs.next(), late.promise]);
    if (!done && value.type === 'start') return value.start;
    throw new Failure('invalid_request', { message: 'The first message must be start.' });
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the inputs. The end of the inputs counts as the input `end`. */
async function readInputs(session: LiveSession, inputs: AsyncIterator<LiveInput>): Promise<void> {
  try {
    for (let next = await inputs.next(); !next.done; next = await inputs.next()) await session.handle(next.value);
    await session.end();
  } finally {
    // Closes the inputs at once, because earlier events may wait a long time for the client to read them.
    inputs.return?.()?.catch(() => {});
  }
}

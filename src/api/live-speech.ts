// Live speech as an operation: the voice is looked up when the session starts, and each turn is charged while its text
// is spoken.
import { type LiveSpeechRequest, LiveSpeechRequestSchema, LiveStartSchema } from '../../gen/sonant/v1/speech_pb.ts';
import { checkRules, Violations } from '../contract.ts';
import { Failure } from '../platform/errors.ts';
import { type FileOfTurns, type LiveTurn, type Plan, type Speech, toRequest } from '../speech.ts';
import { withDisclosure } from '../text.ts';
import type { Call } from './call.ts';
import { liveStartMs } from './call-limits.ts';
import { type LiveEvent, type LiveInput, LiveSession } from './live-session.ts';
import type { Metering } from './metering.ts';

/** Converts a message. Throws a Failure with all violations, also with those found while the message was read. */
export function toLiveInput(
  { request: { case: type, value } }: LiveSpeechRequest,
  { violations = new Violations(), given = [] }: { violations?: Violations; given?: readonly string[] } = {},
): LiveInput {
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
  speech: Pick<Speech, 'plan' | 'speakTurn'>;
  metering: Pick<Metering, 'openTurn'>;
}

export const createLiveOperations = ({ speech, metering }: LiveOperationsOptions) => ({
  /** Speaks text while it arrives. The first input starts the session. Nothing is charged until something is spoken. */
  async *liveSpeech(call: Call, inputs: AsyncIterable<LiveInput>): AsyncIterable<LiveEvent> {
    const { caller, pace } = call;
    const given = inputs[Symbol.asyncIterator]();
    try {
      const { start, voices = [] } = await readStart(given);
      const plans = new Map<string, Plan>();
      const planVoice = async (voiceId = start.voiceId) => {
        // The word times show where an interrupted turn was cut off.
        const request = { ...start, voiceId, timestamps: true };
        if (!plans.has(voiceId)) plans.set(voiceId, await speech.plan(request, caller));
      };
      for (const voiceId of [start.voiceId, ...voices]) await planVoice(voiceId);
      const speakTurn = ({ text, voiceId }: LiveTurn, file: FileOfTurns, signal: AbortSignal) => {
        const plan = plans.get(voiceId)!;
        const charging = metering.openTurn({ ...call, signal }, plan);
        return speech.speakTurn(plan, text, { ...charging, caller, signal, file, pace });
      };
      const languageOf = (voiceId: string) => plans.get(voiceId)!.main.languageCode;
      const session = new LiveSession({ call, start, languageOf, speakTurn });
      if (start.disclosure) {
        await session.handle({ type: 'text', text: withDisclosure('', false, languageOf(start.voiceId)) });
        await session.handle({ type: 'flush' });
      }
      readInputs(session, given, planVoice).catch((error: unknown) => session.fail(error));
      yield* session.events();
    } finally {
      // The result is not awaited, because an iterator that waits for the client would block here.
      given.return?.()?.catch(() => {});
    }
  },
});

async function readStart(inputs: AsyncIterator<LiveInput>): Promise<Extract<LiveInput, { type: 'start' }>> {
  const late = Promise.withResolvers<never>();
  const message = `The start message did not arrive within ${liveStartMs / 1000} s.`;
  const timer = setTimeout(() => late.reject(new Failure('engine_timeout', { message })), liveStartMs);
  try {
    const { done, value } = await Promise.race([inputs.next(), late.promise]);
    if (!done && value.type === 'start') return value;
    throw new Failure('invalid_request', { message: 'The first message must be start.' });
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the inputs. The end of the inputs counts as the input `end`. */
async function readInputs(
  session: LiveSession,
  inputs: AsyncIterator<LiveInput>,
  planVoice: (voiceId?: string) => Promise<void>,
): Promise<void> {
  try {
    for (let next = await inputs.next(); !next.done; next = await inputs.next()) {
      if (next.value.type === 'text') await planVoice(next.value.voiceId);
      await session.handle(next.value);
    }
    await session.end();
  } finally {
    // Closes the inputs at once, because earlier events may wait a long time for the client to read them.
    inputs.return?.()?.catch(() => {});
  }
}

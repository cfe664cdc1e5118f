// Opens live speech over an engine, without a transport: sessions receive text and return events. Returns each part as
// it is charged, and the usage.
import type { Limiter } from '../../src/accounts/limits/limiter.ts';
import type { Call } from '../../src/api/call.ts';
import type { LiveEvent, LiveInput } from '../../src/api/live-session.ts';
import { createLiveOperations } from '../../src/api/live-speech.ts';
import { createMetering } from '../../src/api/metering.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { PushQueue } from '../../src/platform/runtime/push-queue.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { parseLiveStart } from '../speech/parse-request.ts';

const limits = { requestsPerMinute: 600, concurrency: 1, charactersPerMonth: undefined };
const caller = { callerId: 'ada', keyId: 'key_ada', limits };
const never = new AbortController().signal;

export function openLive(engine: Engine, limiter?: Pick<Limiter, 'takeSynthesis'>) {
  const schedule = new Schedule({ speakingMax: 4, waitingMax: 0 });
  const speech = createSpeech({ voices: createVoices([engine]), schedule });
  const usage: { requests: number; characters: number; audioMs: number }[] = [];
  const charged: { chars: number; spoken: number | undefined }[] = [];
  let kept = 0;
  const noting: Pick<Limiter, 'takeSynthesis'> = {
    async takeSynthesis(_caller, chars, { replaces }) {
      const charge: (typeof charged)[number] = { chars, spoken: undefined };
      charged.push(charge);
      if (replaces) kept++;
      return {
        end(spoken) {
          charge.spoken = spoken;
        },
      };
    },
  };
  const metering = createMetering({
    limiter: limiter ?? noting,
    ledger: { add: async (row) => void usage.push(row), checkPending() {} },
    onFault: () => {},
  });
  const live = createLiveOperations({ speech, metering });
  const call = (signal = never, leaving = never) =>
    ({ caller, signal, leaving, reportLimits() {}, reportSpeech() {} }) as unknown as Call;
  const begin = (fields: object) => {
    const inputs = new PushQueue<LiveInput>();
    const leaving = new AbortController();
    inputs.push({ type: 'start', start: parseLiveStart(fields as Record<string, unknown>) });
    const events = live.liveSpeech(call(never, leaving.signal), inputs.pull()) as AsyncGenerator<LiveEvent>;
    const say = (...texts: string[]) => inputs.push(...texts.map((text) => ({ type: 'text', text }) as const));
    const until = async (type: LiveEvent['type']): Promise<LiveEvent[]> => {
      const seen: LiveEvent[] = [];
      for (;;) {
        const { value, done } = await events.next();
        if (done) throw new Error(`it ended before ${type}`);
        seen.push(value);
        if (value.type === type) return seen;
      }
    };
    return { inputs, leaving, events, say, until };
  };
  return { schedule, usage, charged, kept: () => kept, live, call, begin };
}

export type OpenedLive = ReturnType<typeof openLive>;

/** Speaks the pieces as one turn; `pause` is awaited after each. */
export async function speakPieces(
  { begin }: OpenedLive,
  fields: object,
  pieces: readonly string[],
  pause?: (piece: string) => Promise<void>,
): Promise<LiveEvent[]> {
  const { inputs, events, say } = begin(fields);
  const write = async () => {
    for (const piece of pieces) {
      say(piece);
      await pause?.(piece);
    }
    inputs.push({ type: 'end' });
  };
  const [seen] = await Promise.all([Array.fromAsync(events), write()]);
  return seen;
}

export const soundOf = (events: readonly LiveEvent[]): Buffer =>
  Buffer.concat(events.flatMap((event) => (event.type === 'audio' ? [event.audio] : [])));
export const wordsOf = (events: readonly LiveEvent[]) =>
  events.flatMap((event) => (event.type === 'timestamps' ? event.words : []));

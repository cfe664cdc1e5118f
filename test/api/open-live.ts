// Opens live speech over an engine, without transport, limits or charges: sessions receive text and return events.
import type { Call } from '../../src/api/call.ts';
import type { LiveEvent, LiveInput } from '../../src/api/live-session.ts';
import { createLiveOperations } from '../../src/api/live-speech.ts';
import { createMetering } from '../../src/api/metering.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { PushQueue } from '../../src/runtime/push-queue.ts';
import { parseLiveStart } from '../../src/speech/live-request.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';

const caller = { callerId: 'ada', keyId: 'key_ada' };
const never = new AbortController().signal;

export function openLive(engine: Engine) {
  const schedule = new Schedule({ speakingMax: 64, waitingMax: 64 });
  const speech = createSpeech({ voices: createVoices([engine]), schedule });
  const metering = createMetering({
    limiter: { takeSynthesis: async () => ({ end() {} }) },
    ledger: { add: async () => {}, checkRoom() {} },
    onFault: (fault) => console.error(fault),
  });
  const live = createLiveOperations({ speech, metering });
  const call = { caller, signal: never, leaving: never, reportLimits() {}, reportSpeech() {} } as unknown as Call;
  return {
    schedule,
    begin(fields: object) {
      const inputs = new PushQueue<LiveInput>();
      inputs.push({ type: 'start', start: parseLiveStart(fields as Record<string, unknown>) });
      const events = live.liveSpeech(call, inputs.pull());
      const say = (text: string) => inputs.push({ type: 'text', text });
      return { inputs, events, say };
    },
  };
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

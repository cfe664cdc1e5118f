// Opens live speech with the tone engine, for tests of its charges: returns each part as it is charged, and the usage.
import { onTestFinished } from 'vitest';
import type { Limiter } from '../../src/access/limiter.ts';
import type { Call } from '../../src/api/call.ts';
import type { LiveEvent, LiveInput } from '../../src/api/live-session.ts';
import { createLiveOperations } from '../../src/api/live-speech.ts';
import { createMetering } from '../../src/api/metering.ts';
import { PushQueue } from '../../src/runtime/push-queue.ts';
import { parseLiveStart } from '../../src/speech/live-request.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openTone, type ToneOptions } from '../engines/tone-engine.ts';

const limits = { requestsPerMinute: 600, concurrency: 1, charactersPerMonth: undefined };
const caller = { callerId: 'ada', keyId: 'key_ada', limits };
export function openMeteredLive({
  limiter,
  ...options
}: ToneOptions & { limiter?: Pick<Limiter, 'takeSynthesis'> } = {}) {
  const tone = openTone({ sampleRateHz: 24_000, ...options });
  onTestFinished(() => tone.close());
  const schedule = new Schedule({ speakingMax: 4, waitingMax: 0 });
  const speech = createSpeech({ voices: createVoices([tone]), schedule });
  const usage: { requests: number; characters: number; audioMs: number }[] = [];
  const charged: { chars: number; spoken: number | undefined }[] = [];
  let kept = 0;
  const metering = createMetering({
    limiter: limiter ?? {
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
    },
    ledger: { add: async (row) => void usage.push(row), checkRoom() {} },
    onFault: () => {},
  });
  const live = createLiveOperations({ speech, metering });
  const never = new AbortController().signal;
  const call = (signal = never, leaving = never) =>
    ({ caller, signal, leaving, reportLimits() {}, reportSpeech() {} }) as unknown as Call;
  const begin = (fields: object = {}) => {
    const inputs = new PushQueue<LiveInput>();
    const ending = new AbortController();
    const leaving = new AbortController();
    inputs.push({ type: 'start', start: parseLiveStart({ voice_id: 'tone-low', ...fields }) });
    const events = live.liveSpeech(call(ending.signal, leaving.signal), inputs.pull()) as AsyncGenerator<LiveEvent>;
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
    return { inputs, ending, leaving, events, say, until };
  };
  return { tone, schedule, usage, charged, kept: () => kept, live, call, begin };
}

// Tests that the limiter learns how many characters of a running synthesis are in the usage ledger.
import { expect, test } from 'vitest';
import type { TakeOptions } from '../../src/accounts/limits/limiter.ts';
import type { Call } from '../../src/api/call.ts';
import { createMetering } from '../../src/api/metering.ts';
import type { LivePlace } from '../../src/speech/speak-turn.ts';
import type { Meter, SpeechEvent } from '../../src/speech/speech-events.ts';

/** Metering that logs each slot when it is taken, the ledger entries, and the characters reported to each slot. */
function openLoggedMetering() {
  const log: string[] = [];
  let slots = 0;
  const takeSynthesis = async (_caller: unknown, chars: number, { replaces }: TakeOptions) => {
    const name = `slot ${++slots}`;
    log.push(`${name}${replaces ? ' goes on' : ''}: ${chars}`);
    return {
      recorded: (recordedChars: number) => void log.push(`${name} recorded ${recordedChars}`),
      end: (spokenChars: number) => void log.push(`${name} ended ${spokenChars}`),
    };
  };
  const metering = createMetering({
    limiter: { takeSynthesis },
    ledger: { add: async ({ characters }) => void log.push(`ledger +${characters}`), checkPending() {} },
    onFault() {},
  });
  return { metering, log };
}

const never = new AbortController().signal;
const call = { caller: { keyId: 'key' }, signal: never, reportLimits() {}, reportSpeech() {} } as unknown as Call;
const found = (chars: number) =>
  ({
    request: { voiceId: 'ada', format: 'pcm', chars },
    main: { offered: { voice: { voiceId: 'ada', engine: 'tone' } } },
  }) as never;
const info = { type: 'info', format: 'pcm', sampleRateHz: 24_000 } as SpeechEvent;
const chunkOf = (chars: number): SpeechEvent[] => [
  { type: 'audio', chunkIndex: 0, audio: new Uint8Array(480), chunkCharsBegun: chars, charsBegun: chars },
  { type: 'chunk_done', chars, endSeconds: 0.01 } as SpeechEvent,
];
async function countAll(meter: Meter, events: AsyncIterable<SpeechEvent>): Promise<void> {
  for await (const event of events) await meter.count(event);
  await meter.end();
}

test('of a stream, each chunk when it is in the ledger', async () => {
  const { metering, log } = openLoggedMetering();
  async function* speak() {
    yield* [info, ...chunkOf(40), ...chunkOf(20)];
  }
  await countAll(await metering.openStream(call, found(70)), speak());
  const told = ['ledger +40', 'slot 1 recorded 40', 'ledger +20', 'slot 1 recorded 60'];
  expect(log).toEqual(['slot 1: 70', ...told, 'slot 1 ended 60']);
});

test('of a turn of live speech, what belongs to the parts since the slot was taken', async () => {
  const { metering, log } = openLoggedMetering();
  async function* speak(place: LivePlace) {
    yield info;
    await place.take(40);
    yield* chunkOf(40);
    await place.take(20);
    yield* chunkOf(20);
    place.rest();
    await place.take(10);
    yield* chunkOf(10);
  }
  const { place, openMeter } = metering.openTurn(call, found(0));
  await countAll(openMeter(), speak(place));
  expect(log).toEqual([
    ...['slot 1: 40', 'ledger +40', 'slot 1 recorded 40'],
    ...['slot 2 goes on: 20', 'ledger +20', 'slot 2 recorded 60', 'slot 2 ended 60'],
    ...['slot 3: 10', 'ledger +10', 'slot 3 recorded 10', 'slot 3 ended 10'],
  ]);
});

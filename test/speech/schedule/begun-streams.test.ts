// Tests more streams than an engine can serve: running streams continue, new ones are admitted in time or refused and
// later served quickly, and the engine is always busy. The limits are wider than typical results, which vary a little
// at random.
import { expect, test } from 'vitest';
import { callerOf, fifty, openSpeech, streaming } from '../open-speech.ts';
import { simulateStreams } from './simulated-streams.ts';

const segmentMs = 260;
/** The value of SONANT_WAITING_SECONDS, in milliseconds. */
const waitMsMax = 5000;

test.each([
  { seats: 1, offered: 2 },
  { seats: 2, offered: 2 },
  { seats: 2, offered: 10 },
  { seats: 4, offered: 2 },
])('with $seats seats at $offered times what can be spoken', async ({ seats, offered }) => {
  const alone = await simulateStreams({ seats, offered: 0.1 });
  const { waitMs, firstMs, gapMs, busy, heard, refused } = await simulateStreams({ seats, offered });
  expect(busy).toBeGreaterThan(0.9);
  expect(waitMs).toBeLessThanOrEqual(waitMsMax);
  // Excess requests are refused instead of being served late.
  expect(refused).toBeGreaterThan(heard / 2);
  // A new request may wait for a segment that has begun.
  expect(firstMs).toBeLessThan(2 * alone.firstMs + segmentMs / seats);
  expect(gapMs).toBeLessThan(2000);
});

test('bulk texts wait, and are spoken all the same', async () => {
  const seats = 2;
  const alone = await simulateStreams({ seats, offered: 0.1 });
  const { firstMs, gapMs, bulkDone } = await simulateStreams({ seats, offered: 2, bulkClients: 4 });
  expect(bulkDone).toBeGreaterThan(15);
  expect(firstMs).toBeLessThan(2 * alone.firstMs + segmentMs / seats);
  expect(gapMs).toBeLessThan(2000);
});

test('below what can be spoken, next to nothing is refused', async () => {
  const { heard, refused, gapMs } = await simulateStreams({ seats: 2, offered: 0.6 });
  expect(refused).toBeLessThan(heard / 50);
  expect(gapMs).toBeLessThan(1000);
});

test('streams that are read no faster than they are heard ask late, and wait for seconds, not for minutes', async () => {
  const { busy, gapMs } = await simulateStreams({ seats: 1, offered: 2, readSpeed: 1 });
  expect(busy).toBeGreaterThan(0.8);
  expect(gapMs).toBeLessThan(8000);
});

test('a request waits while the engine of its voice is behind with what has begun', async () => {
  const capabilities = { segmentsSpokenMax: 1, segmentsAtOnce: 1 };
  const { tone, schedule, stream: speak } = openSpeech({ capabilities });
  const leaving = new AbortController();
  const stream = () => speak(streaming(fifty), leaving.signal, callerOf('ada'));
  const begun = [stream(), stream()];
  for (const each of begun) await each.next();
  const seat = { engine: tone, resource: undefined, isClone: false };
  const holder = await schedule.turn('bob', seat, 'first', leaving.signal);
  const later = schedule.turn('bob', seat, 'later', leaving.signal);
  const third = stream();
  const heard = third.next();
  while (schedule.state.waiting.interactive === 0) await new Promise((resolve) => setImmediate(resolve));
  // After two seconds, the later segment is due, so it precedes the first segment that is waiting. Timers fire in order.
  await new Promise((resolve) => setTimeout(resolve, 2500));
  holder.end();
  await later;
  expect(schedule.state).toMatchObject({ speaking: 2, waiting: { interactive: 1 } });
  (await later).end();
  expect((await heard).done).toBe(false);
  leaving.abort(new Error('enough'));
  await Promise.allSettled([...begun, third].map((each) => each.next()));
});

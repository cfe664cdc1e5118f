// Tests how long and how many events of streams are stored, with a manual source and a manual clock.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Failure } from '../../../src/platform/errors.ts';
import type { SpeechEvent } from '../../../src/speech/speech-events.ts';
import { eventBytesMax, eventBytesPerStreamMax } from '../../../src/transports/http/http-limits.ts';
import { ResumableStreams, type StreamEvent } from '../../../src/transports/http/synthesis/resumable-stream.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const key = 'key_1';
const soundOf = (bytes: number): SpeechEvent => ({
  type: 'audio',
  chunkIndex: 3,
  audio: Buffer.alloc(bytes, 7),
  chunkCharsBegun: 1,
  charsBegun: 1,
});

/** A stream of `count` pieces, of which the first exists, and a record of what happened to its source. */
function openStream(
  streams: ResumableStreams,
  {
    id = 'aud_1',
    count = 10,
    bytes = 1000,
    failure,
    holder = key,
  }: { id?: string; count?: number; bytes?: number; failure?: Failure; holder?: string } = {},
) {
  const done = { made: 0, aborted: undefined as unknown, isLeft: false };
  async function* make(): AsyncGenerator<SpeechEvent> {
    for (; done.made < count - 1; done.made++) {
      if (done.aborted) throw done.aborted;
      yield soundOf(bytes);
    }
    if (failure) throw failure;
  }
  const events = make();
  const source = {
    events: {
      next: () => events.next(),
      return: () => {
        done.isLeft = true;
        return events.return(undefined);
      },
    },
    abort: (reason: unknown) => {
      done.aborted = reason;
    },
    requestId: 'req',
  };
  const stream = streams.open({ audioId: id, voiceIds: ['ada'], holders: [holder], begun: [soundOf(bytes)], source });
  return { stream, done };
}

const reader = () => vi.fn();
const readAll = async (stream: { at(n: number): Promise<StreamEvent | undefined> }) => {
  let n = 0;
  while (await stream.at(n)) n++;
  return n;
};

test('the audio of an ended stream is in one buffer, unchanged', async () => {
  const { stream } = openStream(new ResumableStreams(), { count: 50, bytes: 4096 });
  const running = [await stream.at(0), await stream.at(1)];
  await readAll(stream);
  const ended = Array.from({ length: 50 }, (_, n) => stream.held(n));
  expect(ended.slice(0, 2)).toEqual(running);
  const audioOf = (event: StreamEvent | undefined) => (event?.type === 'audio' ? event.audio : undefined);
  expect(new Set(ended.map((event) => audioOf(event)?.buffer)).size).toBe(1);
  expect(audioOf(ended[49])?.buffer.byteLength).toBe(50 * 4096);
});

test('events are made as they are asked for, once, however often they are read', async () => {
  const { stream, done } = openStream(new ResumableStreams());
  expect(done.made).toBe(0);
  const twice = await Promise.all([stream.at(2), stream.at(2)]);
  expect(twice[0]).toBe(twice[1]);
  expect(done.made).toBe(1);
  expect(await readAll(stream)).toBe(10);
  expect(await readAll(stream)).toBe(10);
  expect(stream.stateOf(10)).toBe('over');
  expect(stream.stateOf(11)).toBe('never');
});

test('without a reader it goes on, but not far ahead, and is given up after ten seconds', async () => {
  const streams = new ResumableStreams();
  const { stream, done } = openStream(streams, { count: 1000, bytes: 32_768 });
  const leave = stream.attach(reader());
  leave();
  await vi.advanceTimersByTimeAsync(9_999);
  expect(done.made * 32_768).toBeGreaterThan(900_000);
  expect(done.made * 32_768).toBeLessThan(1_200_000);
  expect(done.aborted).toBeUndefined();
  expect(streams.find('aud_1', key)).toBe(stream);
  await vi.advanceTimersByTimeAsync(2);
  expect(done.aborted).toMatchObject({ reason: 'stream_expired' });
  // The produced events and the final failure can be read for one more minute.
  const made = done.made + 1;
  expect(await stream.at(made - 1)).toMatchObject({ type: 'audio' });
  expect(await stream.at(made)).toMatchObject({ type: 'failed', failure: { reason: 'stream_expired' } });
  expect(stream.stateOf(made + 1)).toBe('over');
  await vi.advanceTimersByTimeAsync(59_000);
  expect(streams.find('aud_1', key)).toBe(stream);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(streams.find('aud_1', key)).toBeUndefined();
  expect(streams.heldBytes).toBe(0);
  await expect(stream.at(0)).rejects.toMatchObject({ reason: 'stream_expired' });
});

test('a reader who comes back in time keeps it alive', async () => {
  const { stream, done } = openStream(new ResumableStreams(), { count: 1000 });
  stream.attach(reader())();
  await vi.advanceTimersByTimeAsync(9_000);
  stream.attach(reader());
  await vi.advanceTimersByTimeAsync(100_000);
  expect(done.aborted).toBeUndefined();
  expect(await stream.at(0)).toBeDefined();
});

test('a new reader takes the place of the old, whose leaving then means nothing', async () => {
  const { stream, done } = openStream(new ResumableStreams(), { count: 1000 });
  const [old, young] = [reader(), reader()];
  const leave = stream.attach(old);
  stream.attach(young);
  expect([old.mock.calls.length, young.mock.calls.length]).toEqual([1, 0]);
  leave();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(done.aborted).toBeUndefined();
});

test('it is kept for a minute after its last event', async () => {
  const streams = new ResumableStreams();
  const { stream, done } = openStream(streams);
  stream.attach(reader());
  await readAll(stream);
  await vi.advanceTimersByTimeAsync(59_999);
  expect(streams.find('aud_1', key)).toBe(stream);
  await vi.advanceTimersByTimeAsync(2);
  expect(streams.find('aud_1', key)).toBeUndefined();
  expect([streams.heldBytes, done.aborted]).toEqual([0, undefined]);
});

test('a stream that nobody reads is left when all streams are closed', () => {
  const streams = new ResumableStreams();
  const { done } = openStream(streams);
  streams.close(new Failure('overloaded'));
  expect([done.aborted, done.isLeft]).toEqual([expect.anything(), true]);
});

test('of one stream only the latest events are held', async () => {
  const streams = new ResumableStreams();
  const { stream } = openStream(streams, { count: 1000, bytes: 32_768 });
  stream.attach(reader());
  for (let n = 0; n < 500; n++) await stream.at(n);
  expect(stream.heldBytes).toBeGreaterThan(eventBytesPerStreamMax - 40_000);
  expect(stream.heldBytes).toBeLessThanOrEqual(eventBytesPerStreamMax);
  expect(stream.stateOf(300)).toBe('lost');
  await expect(stream.at(300)).rejects.toMatchObject({ reason: 'stream_expired' });
  expect(stream.stateOf(450)).toBe('there');
});

test('many streams share what there is: those that ended make room, and each that runs has its part', async () => {
  const streams = new ResumableStreams();
  const readSome = async (id: string, count: number, more = 1) => {
    const { stream } = openStream(streams, { id, count: count + more, bytes: 32_768 });
    stream.attach(reader());
    for (let n = 0; n < count; n++) await stream.at(n);
    if (more === 0) await stream.at(count);
  };
  for (let i = 0; i < 30; i++) await readSome(`ended_${i}`, 100, 0);
  expect(streams.heldBytes).toBeLessThanOrEqual(eventBytesMax);
  expect(streams.find('ended_0', key)).toBeUndefined();
  expect(streams.find('ended_29', key)).toBeDefined();
  for (let i = 0; i < 40; i++) await readSome(`running_${i}`, 100);
  expect(streams.heldBytes).toBeLessThanOrEqual(eventBytesMax * 1.05);
  for (let i = 0; i < 40; i++) expect(streams.find(`running_${i}`, key)).toBeDefined();
  streams.close(new Error('closing'));
  expect(streams.heldBytes).toBe(0);
});

test('ended streams of one key do not displace the fewer streams of another key', async () => {
  const streams = new ResumableStreams();
  const end = async (id: string, holder: string) => {
    const { stream } = openStream(streams, { id, count: 100, bytes: 32_768, holder });
    stream.attach(reader());
    await readAll(stream);
  };
  await end('quiet', 'key_2');
  for (let i = 0; i < 30; i++) await end(`loud_${i}`, key);
  expect(streams.heldBytes).toBeLessThanOrEqual(eventBytesMax);
  expect(streams.find('quiet', 'key_2')).toBeDefined();
  expect(streams.find('loud_0', key)).toBeUndefined();
  expect(streams.find('loud_29', key)).toBeDefined();
  streams.close(new Error('closing'));
});

// Tests a reader that stops: the engine is not blocked, little is buffered, and the reader still gets everything.
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { Segment, SpokenPcm, WordTime } from '../../src/engines/engine.ts';
import { type Run, SegmentReader } from '../../src/engines/reader.ts';
import { Pace } from '../../src/platform/pace.ts';
import { join } from '../../src/platform/pcm.ts';
import { openGuard } from './open-guard.ts';
import { openTone } from './tone-engine.ts';

const never = new AbortController().signal;
const pieceSamples = 4_000;

/** A source of samples that count up, with one word per piece; `split` moves the borders of the pieces. */
function createCounter(length: number, { split = 0 } = {}) {
  const counts = { begun: 0, pieces: 0, aborted: 0 };
  async function* run(signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    counts.begun++;
    try {
      for (let at = 0; at < length; ) {
        signal.throwIfAborted();
        const size = Math.min(length - at, at === 0 && split ? split : pieceSamples);
        const samples = Int16Array.from({ length: size }, (_, n) => (at + n) % 30_000);
        at += size;
        counts.pieces++;
        const words = [{ from: at, to: at, startSeconds: at, endSeconds: at }];
        yield { samples, sampleRateHz: 16_000, ...(counts.begun === 1 && { words }) };
        await sleep(1);
      }
    } finally {
      if (signal.aborted) counts.aborted++;
    }
  }
  return { run, counts };
}

interface Heard {
  samples: Int16Array[];
  words: WordTime[];
}

type Source = (signal: AbortSignal) => AsyncIterable<SpokenPcm>;

const toRun =
  (source: Source): Run =>
  async (push, signal) => {
    for await (const piece of source(signal)) push(piece);
  };

function readAtEngineSpeed(options: { run: Source; again?: Source; signal: AbortSignal; pace: Pace | undefined }) {
  const { run, again, signal, pace } = options;
  return new SegmentReader({ run: toRun(run), again: () => again && toRun(again), signals: [signal], pace });
}

/** A reader that becomes slow when `stop` is called. */
function openPace() {
  const pace = new Pace();
  const stop = () => {
    pace.given();
    pace.look(Infinity);
  };
  return { pace, stop };
}

/** Pauses reading after the pieces that `stops` lists, and is slow then. */
async function hear(
  source: AsyncIterable<SpokenPcm> | Iterable<SpokenPcm>,
  stops: Readonly<Record<number, Promise<unknown>>> = {},
  stop = () => {},
) {
  const heard: Heard = { samples: [], words: [] };
  for await (const { samples, words } of source) {
    heard.samples.push(samples);
    heard.words.push(...(words ?? []));
    const goOn = stops[heard.samples.length];
    if (goOn) stop();
    await goOn;
  }
  return { samples: join(Int16Array, heard.samples), words: heard.words };
}

test('what a reader that stops has not read is dropped, and said again when it goes on, wherever pieces begin then', async () => {
  const length = 50 * pieceSamples;
  const first = createCounter(length);
  const second = createCounter(length, { split: 1_234 });
  const goOn = Promise.withResolvers<void>();
  const { pace, stop } = openPace();
  const source = readAtEngineSpeed({ run: first.run, again: second.run, signal: never, pace });
  const heard = hear(source, { 3: goOn.promise }, stop);
  await expect.poll(() => first.counts.aborted).toBe(1);
  expect(first.counts.pieces).toBeLessThan(50);
  expect(second.counts.begun).toBe(0);
  goOn.resolve();
  const { samples } = await heard;
  expect(second.counts.begun).toBe(1);
  expect(samples).toEqual(Int16Array.from({ length }, (_, n) => n % 30_000));
});

test('each word is told once, also where it is said again', async () => {
  const length = 50 * pieceSamples;
  const words = await hear(createCounter(length).run(never)).then((heard) => heard.words);
  const first = createCounter(length);
  const goOn = Promise.withResolvers<void>();
  const again = (signal: AbortSignal) => createCounter(length).run(signal);
  const { pace, stop } = openPace();
  const heard = hear(readAtEngineSpeed({ run: first.run, again, signal: never, pace }), { 2: goOn.promise }, stop);
  await expect.poll(() => first.counts.aborted).toBe(1);
  goOn.resolve();
  expect((await heard).words).toEqual(words);
});

test('a run that is over is dropped too; a second time that is shorter is a fault', async () => {
  const first = createCounter(30 * pieceSamples);
  const goOn = Promise.withResolvers<void>();
  const again = createCounter(10 * pieceSamples);
  const { pace, stop } = openPace();
  const source = readAtEngineSpeed({ run: first.run, again: again.run, signal: never, pace });
  const heard = hear(source, { 15: goOn.promise }).catch((error: unknown) => error);
  await expect.poll(() => first.counts.pieces).toBe(30);
  stop();
  goOn.resolve();
  expect(await heard).toMatchObject({ reason: 'engine_error' });
});

test('what cannot be said again is kept for the reader', async () => {
  const { run, counts } = createCounter(50 * pieceSamples);
  const { pace, stop } = openPace();
  const source = readAtEngineSpeed({ run, signal: never, pace });
  const heard = hear(source, { 1: expect.poll(() => counts.pieces).toBe(50) }, stop);
  expect((await heard).samples.length).toBe(50 * pieceSamples);
  expect(counts).toEqual({ begun: 1, pieces: 50, aborted: 0 });
});

test('small pieces that wait are joined as long as one event of sound; those with words, and large ones, stay as they are', async () => {
  const sizes = [1_000, ...Array.from({ length: 20 }, () => 2_000), 40_000, 500, 700];
  const word: WordTime = { from: 0, to: 1, startSeconds: 0, endSeconds: 1 };
  let count = 0;
  const all = sizes.map((size) => Int16Array.from({ length: size }, () => count++ % 30_000));
  async function* run(): AsyncGenerator<SpokenPcm> {
    for (const [n, samples] of all.entries())
      yield { samples, sampleRateHz: 16_000, ...(n === 3 && { words: [word] }) };
  }
  const pieces: SpokenPcm[] = [];
  for await (const piece of readAtEngineSpeed({ run, signal: never, pace: undefined })) {
    pieces.push(piece);
    if (pieces.length === 1) await sleep(5);
  }
  expect(pieces.map(({ samples }) => samples.length)).toEqual([
    1_000, 4_000, 2_000, 14_000, 14_000, 6_000, 40_000, 1_200,
  ]);
  expect(pieces.map(({ words }) => words?.length ?? 0)).toEqual([0, 0, 1, 0, 0, 0, 0, 0]);
  const heard = pieces.map(({ samples }) => samples);
  expect(join(Int16Array, heard)).toEqual(join(Int16Array, all));
});

test('an abort ends a reader that has stopped, and one that waits for what is said again', async () => {
  const first = createCounter(50 * pieceSamples);
  const leaving = new AbortController();
  const { pace, stop } = openPace();
  async function* hang(): AsyncGenerator<SpokenPcm> {
    await new Promise(() => {});
  }
  const goOn = Promise.withResolvers<void>();
  const source = readAtEngineSpeed({ run: first.run, again: hang, signal: leaving.signal, pace });
  const heard = hear(source, { 1: goOn.promise }, stop).catch((error: unknown) => error);
  await expect.poll(() => first.counts.aborted).toBe(1);
  goOn.resolve();
  await sleep(20);
  leaving.abort('left');
  expect(await heard).toBe('left');
});

test('fifty readers that stop hold no turn and less than 256 KiB of sound each, and then hear all of it', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const heldBytes = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const capabilities = { segmentsSpokenMax: 2, isRepeatable: true, segmentCharsMax: 1_000 };
  const tone = openTone({ sampleRateHz: 24_000, capabilities });
  const text = 'a word and another '.repeat(45).trim();
  const voice = tone.voices[0]!;
  const segment: Segment = { voice, text, languageCode: 'en', speakingRate: 1, timings: true, urgent: false };
  const said = await Array.fromAsync(tone.speak(segment, never));
  const counts = { begun: 0, running: 0 };
  const guard = openGuard({
    ...tone,
    async *speak() {
      counts.begun++;
      counts.running++;
      try {
        for (const piece of said) yield { ...piece, samples: piece.samples.slice() };
      } finally {
        counts.running--;
      }
    },
  });
  const whole = await hear(said.values());
  expect(whole.samples.byteLength).toBeGreaterThan(700_000);
  const goOn = Promise.withResolvers<void>();
  const before = heldBytes();
  const readers = Array.from({ length: 50 }, (_, n) => {
    const { pace, stop } = openPace();
    return hear(guard.speak(segment, `caller-${n}`, never, pace), { 1: goOn.promise }, stop);
  });
  await expect.poll(() => [counts.begun, counts.running, guard.schedule.state.engines[0]!.waiting]).toEqual([50, 0, 0]);
  await expect.poll(() => (heldBytes() - before) / 50, { timeout: 30_000, interval: 500 }).toBeLessThan(256 * 1_024);
  goOn.resolve();
  for (const { samples, words } of await Promise.all(readers)) {
    expect(Buffer.from(samples.buffer).equals(Buffer.from(whole.samples.buffer))).toBe(true);
    expect(words).toEqual(whole.words);
  }
  await guard.close();
}, 90_000);

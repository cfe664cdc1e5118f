// Checks whether the memory of the service grows between a thousand and ten thousand requests, without forced garbage
// collection. Also measures the memory held for a reader that stops after the first audio of a long text.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import { collectGarbage } from './measuring/machine.ts';
import { drain, openSpeech } from './measuring/open-speech.ts';
import { median } from './measuring/rounds.ts';
import { passage, shortText } from './measuring/texts.ts';

const requestCount = 10_000;
const readers = 4;
const marks = [1000, 2000, 5000, requestCount];
/** The size at a mark is the median over this many requests before the mark. */
const windowRequests = 500;
const sampleEvery = 25;
/** The fastest voice at a fast rate, in the simplest format. One request in ten uses `rich`. */
const plain = { voice_id: 'otto', speaking_rate: 2, output_format: 'pcm', sample_rate: 24_000 };
const rich = { voice_id: 'otto', speaking_rate: 2, output_format: 'mp3', sample_rate: 44_100, timestamps: 'word' };

const stalledCount = 200;
const stalledChars = 5000;
const settleMs = 2000;
const goalMax = { growth: 1.1, stalledKiB: 256, idleAgain: 1.1 };

export const bench: Bench = {
  about: `resident memory over ${requestCount} requests, and with ${stalledCount} readers that stop after the first audio`,
  async run() {
    const growth = await measureGrowth();
    const stalled: Cell[][] = [];
    for (const format of ['wav', 'mp3']) stalled.push([format, ...(await measureStalled(format))]);
    const perReader = stalled.map((row): Goal => {
      return {
        name: `${row[0]}: KiB held for a reader who stopped`,
        figure: row[4] as number,
        digits: 0,
        max: goalMax.stalledKiB,
      };
    });
    const idle = Math.max(...stalled.map((row) => row.at(-1) as number));
    return {
      tables: [
        {
          title: `${requestCount} short requests, ${readers} at a time: median over ${windowRequests}, in MiB`,
          columns: [
            { name: 'requests' },
            { name: 'resident', digits: 1 },
            { name: 'heap', digits: 1 },
            { name: 'buffers', digits: 1 },
          ],
          rows: growth,
        },
        {
          title: `${stalledCount} readers stopped, ${stalledChars} characters, 44.1 kHz: KiB a reader, and MiB resident`,
          columns: [
            { name: 'format' },
            { name: 'resident KiB', digits: 0 },
            { name: 'heap KiB', digits: 0 },
            { name: 'buffers KiB', digits: 0 },
            { name: 'held KiB', digits: 0 },
            { name: 'before MiB', digits: 0 },
            { name: 'stopped MiB', digits: 0 },
            { name: 'gone MiB', digits: 0 },
            { name: 'gone/before', digits: 2 },
          ],
          rows: stalled,
        },
      ],
      goals: [
        {
          name: 'resident after 10 000 / after 1 000',
          figure: (growth.at(-1)![1] as number) / (growth[0]![1] as number),
          digits: 3,
          max: goalMax.growth,
        },
        ...perReader,
        { name: 'resident when they have gone / before', figure: idle, digits: 2, max: goalMax.idleAgain },
      ],
    };
  },
};

const mib = 2 ** 20;

interface Size {
  resident: number;
  heap: number;
  /** Memory of buffers, except WebAssembly memory. */
  buffers: number;
}

function size(): Size {
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  return { resident: rss / mib, heap: heapUsed / mib, buffers: arrayBuffers / mib };
}

async function measureGrowth(): Promise<Cell[][]> {
  const speech = await openSpeech();
  const sizes: { at: number; size: Size }[] = [];
  let next = 0;
  const read = async () => {
    while (next < requestCount) {
      const n = next++;
      await drain(speech.stream({ ...(n % 10 === 0 ? rich : plain), text: shortText(n) }));
      speech.segments.length = 0;
      if (n % sampleEvery === 0) sizes.push({ at: n, size: size() });
    }
  };
  await Promise.all(Array.from({ length: readers }, read));
  await speech.close();
  return marks.map((mark) => {
    const near = sizes.filter(({ at }) => at < mark && at >= mark - windowRequests);
    const of = (key: keyof Size) => median(near.map((each) => each.size[key]));
    return [mark, of('resident'), of('heap'), of('buffers')];
  });
}

/** Returns the size after garbage collection. */
async function settledSize(): Promise<Size> {
  for (let n = 0; n < 3; n++) {
    await sleep(settleMs / 3);
    collectGarbage();
  }
  return size();
}

async function measureStalled(format: string): Promise<Cell[]> {
  const speech = await openSpeech({ speakingMax: stalledCount });
  const fields = (n: number) => ({ text: passage(stalledChars, n), output_format: format, sample_rate: 44_100 });
  for (let n = 0; n < 4; n++) await drain(speech.stream({ ...fields(n), text: passage(500, n) }));
  const before = await settledSize();

  const leaving = new AbortController();
  const streams = Array.from({ length: stalledCount }, (_, n) => speech.stream(fields(n), leaving.signal));
  await Promise.all(
    streams.map(async (stream) => {
      let event = await stream.next();
      while (!event.done && event.value.type !== 'audio') event = await stream.next();
    }),
  );
  const stopped = await settledSize();
  for (const stream of streams) await stream.return();
  const gone = await settledSize();
  await speech.close();
  const each = (key: keyof Size) => ((stopped[key] - before[key]) * 1024) / stalledCount;
  return [
    each('resident'),
    each('heap'),
    each('buffers'),
    // The resident size grows too little if the process reuses memory that was already free.
    Math.max(each('resident'), each('heap') + each('buffers')),
    before.resident,
    stopped.resident,
    gone.resident,
    gone.resident / before.resident,
  ];
}

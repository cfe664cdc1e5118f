// Sends many requests at once. Each must return exactly the bytes that it returns alone, and throughput should not be lower
// than with one request at a time.
import type { Bench, Cell } from './measuring/bench.ts';
import { type OpenedSpeech, openSpeech } from './measuring/open-speech.ts';
import { compare, cpuOf, cpuRatio, wallOf } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const requestCount = 100;
const voicesInTurn = 4;
const atOnce = ['1', '8', '64'] as const;
const throughput = { requests: 64, chars: 300 };

export const bench: Bench = {
  about: `${requestCount} concurrent requests, each compared with itself alone; throughput at 1, 8 and 64 requests`,
  async run() {
    const speech = await openSpeech({ speakingMax: requestCount });
    const different = await countDifferent(speech);
    const costs = await compare(
      {
        '1': () => speakAll(speech, 1),
        '8': () => speakAll(speech, 8),
        '64': () => speakAll(speech, 64),
      },
      { rounds: 3 },
    );
    await speech.close();
    const rows = atOnce.map((count): Cell[] => [
      Number(count),
      (1000 * throughput.requests) / wallOf(costs[count]),
      cpuOf(costs[count]) / throughput.requests,
      wallOf(costs[1]) / wallOf(costs[count]),
      cpuRatio([costs[count]], [costs[1]]),
    ]);
    const table = {
      title: `Default voice, ${throughput.chars} characters each, 44.1 kHz MP3`,
      columns: [
        { name: 'at once' },
        { name: 'requests/s', digits: 2 },
        { name: 'CPU ms/request', digits: 1 },
        { name: 'throughput/one', digits: 2 },
        { name: 'CPU/one', digits: 3 },
      ],
      rows,
    };
    return {
      tables: [table],
      goals: [
        { name: `of ${requestCount} at once, not the same as alone`, figure: different, digits: 0, max: 0 },
        { name: 'CPU per request, 64 at once / one', figure: rows.at(-1)!.at(-1) as number, digits: 3, max: 1.1 },
        {
          name: 'requests/s, 64 at once / 8',
          figure: wallOf(costs[8]) / wallOf(costs[64]),
          digits: 3,
          min: 0.95,
        },
      ],
    };
  },
};

/** Counts the requests whose audio differs if they run among others. */
async function countDifferent(speech: OpenedSpeech): Promise<number> {
  const formats = ['mp3', 'wav', 'pcm'];
  const rates = [44_100, 24_000, 48_000];
  const requests = Array.from({ length: requestCount }, (_, n) => ({
    text: passage(80 + 2 * n, n),
    voice_id: speech.voices[n % voicesInTurn]!.voiceId,
    output_format: formats[n % formats.length],
    sample_rate: rates[(n >> 2) % rates.length],
  }));
  const alone: Uint8Array[] = [];
  for (const fields of requests) alone.push((await speech.whole(fields)).audio);
  const together = await Promise.all(requests.map((fields) => speech.whole(fields)));
  return together.filter(({ audio }, n) => !Buffer.from(alone[n]!).equals(audio)).length;
}

/** Speaks a number of texts, `readers` at a time. */
async function speakAll(speech: OpenedSpeech, readers: number): Promise<void> {
  let next = 0;
  const read = async () => {
    while (next < throughput.requests)
      await speech.whole({ text: passage(throughput.chars, next++), output_format: 'mp3' });
  };
  await Promise.all(Array.from({ length: readers }, read));
}

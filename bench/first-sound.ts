// Measures the time to the first audio, and its share of the total time. Then measures how much the time to the first
// audio grows while another caller's long text is spoken.
import type { Bench, Cell } from './measuring/bench.ts';
import { drain, type Fields, type OpenedSpeech, openSpeech } from './measuring/open-speech.ts';
import { median } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const format = { output_format: 'mp3', sample_rate: 44_100 };
const roundsOf = new Map([
  [60, 15],
  [1000, 9],
  [5000, 5],
]);
const longChars = 5000;
const shortChars = 60;
const goalMax = { first: 0.05, besideLong: 3 };

export const bench: Bench = {
  about:
    'time to first audio, compared with the total time; a short request beside a long one, compared with alone (44.1 kHz MP3)',
  async run() {
    const speech = await openSpeech();
    await timesOf(speech, { ...format, text: passage(1000) });
    const rows: Cell[][] = [];
    for (const [chars, rounds] of roundsOf) {
      const times: Times[] = [];
      for (let n = 0; n < rounds; n++) times.push(await timesOf(speech, { ...format, text: passage(chars, n) }));
      const of = (pick: (times: Times) => number) => median(times.map(pick));
      rows.push([chars, of(({ firstMs }) => firstMs), of(({ wholeMs }) => wholeMs), of((t) => t.firstMs / t.wholeMs)]);
    }
    const load = await besideLong(speech);
    await speech.close();
    const alone = {
      title: 'Alone',
      columns: [
        { name: 'chars' },
        { name: 'first sound ms', digits: 1 },
        { name: 'whole ms', digits: 1 },
        { name: 'first/whole', digits: 3 },
      ],
      rows,
    };
    const beside = {
      title: `First sound of ${shortChars} characters beside ${longChars}, in ms`,
      columns: [
        { name: 'alone', digits: 1 },
        { name: 'beside: median', digits: 1 },
        { name: 'worst', digits: 1 },
      ],
      rows: [[load.aloneMs, median(load.besideMs), Math.max(...load.besideMs)]],
    };
    return {
      tables: [alone, beside],
      goals: [
        {
          name: `first sound / whole, ${longChars} characters`,
          figure: rows.at(-1)!.at(-1) as number,
          digits: 3,
          max: goalMax.first,
        },
        {
          name: 'short beside long: worst / alone',
          figure: Math.max(...load.besideMs) / load.aloneMs,
          digits: 2,
          max: goalMax.besideLong,
        },
      ],
    };
  },
};

interface Times {
  firstMs: number;
  wholeMs: number;
}

async function timesOf(speech: OpenedSpeech, fields: Fields): Promise<Times> {
  const start = performance.now();
  let firstMs: number | undefined;
  for await (const event of speech.stream(fields)) if (event.type === 'audio') firstMs ??= performance.now() - start;
  return { firstMs: firstMs!, wholeMs: performance.now() - start };
}

/** Sends short requests one after the other, first alone, then while a long request runs. */
async function besideLong(speech: OpenedSpeech): Promise<{ aloneMs: number; besideMs: number[] }> {
  let count = 0;
  const short = async () => (await timesOf(speech, { ...format, text: passage(shortChars, count++) })).firstMs;
  const alone: number[] = [];
  for (let n = 0; n < 15; n++) alone.push(await short());

  const besideMs: number[] = [];
  let isSpeaking = true;
  const long = drain(speech.stream({ ...format, text: passage(longChars) })).then(() => {
    isSpeaking = false;
  });
  while (isSpeaking) besideMs.push(await short());
  await long;
  return { aloneMs: median(alone), besideMs };
}

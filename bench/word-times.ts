// Compares the reported word times of forty sentences by three voices with the beginnings of words that a recognizer
// finds, in steps of 10 ms. The recognizer knows the words. Measures the engine's own times, and times estimated from
// the same audio as for an engine without word times.
import { canRecognize, recognizeWordStarts } from '../test/recognizer.ts';
import { sentences } from '../test/sentences.ts';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import { type OpenedSpeech, openSpeech } from './measuring/open-speech.ts';

const voiceIds = ['arthur', 'clara', 'fergus'];
const ways = [
  { speaking_rate: 1, output_format: 'pcm' },
  { speaking_rate: 1.5, output_format: 'pcm' },
  { speaking_rate: 1, output_format: 'mp3' },
];
const sampleRateHz = 24_000;
/** Goals in seconds. */
const goalsMax: Record<string, { median: number; p95: number }> = {
  engine: { median: 0.02, p95: 0.08 },
  estimated: { median: 0.08, p95: 0.25 },
};

export const bench: Bench = {
  about: 'reported start times of words, compared with those of a recognizer',
  async run() {
    if (!canRecognize()) throw new Error('pocketsphinx, its English model and sox are needed for this');
    const heard = new Map<string, number[]>();
    const counts = { sounds: 0, found: 0 };
    const opened = { engine: await openSpeech(), estimated: await openSpeech({ timings: false }) };
    for (const text of sentences) await measure(text, opened, heard, counts);
    for (const speech of Object.values(opened)) await speech.close();
    const rows: Cell[][] = [];
    const goals: Goal[] = [];
    for (const [name, errors] of heard) {
      const sizes = errors.map(Math.abs).sort((a, b) => a - b);
      const at = (share: number) => sizes[Math.floor(share * (sizes.length - 1))]!;
      const bias = errors.toSorted((a, b) => a - b)[errors.length >> 1]!;
      rows.push([name, errors.length, 1000 * at(0.5), 1000 * at(0.95), 1000 * bias]);
      const max = goalsMax[name.split(',')[0]!]!;
      goals.push({ name: `${name}, median s`, figure: at(0.5), digits: 3, max: max.median });
      goals.push({ name: `${name}, 95th percentile s`, figure: at(0.95), digits: 3, max: max.p95 });
    }
    const columns = [
      { name: 'times' },
      { name: 'words' },
      { name: 'median ms', digits: 0 },
      { name: '95 % ms', digits: 0 },
      { name: 'bias ms', digits: 0 },
    ];
    const title = `error of word starts; ${counts.found} of ${counts.sounds} spoken sentences could be aligned`;
    return { tables: [{ title, columns, rows }], goals };
  },
};

async function measure(
  text: string,
  opened: Readonly<Record<'engine' | 'estimated', OpenedSpeech>>,
  heard: Map<string, number[]>,
  counts: { sounds: number; found: number },
): Promise<void> {
  const requests = voiceIds.flatMap((voice_id) => ways.map((way) => ({ voice_id, ...way })));
  const fields = { text, sample_rate: sampleRateHz, timestamps: 'word' };
  const sounds = await Promise.all(requests.map((one) => opened.engine.whole({ ...fields, ...one })));
  const encoded = sounds.map(({ info: { format }, audio }) => ({ format, sampleRateHz, bytes: audio }));
  const starts = await recognizeWordStarts(text, encoded);
  for (const [kind, speech] of Object.entries(opened)) {
    for (const [i, one] of requests.entries()) {
      if (kind === 'engine') counts.sounds++;
      if (!starts[i]) continue;
      if (kind === 'engine') counts.found++;
      const { timestamps } = kind === 'engine' ? sounds[i]! : await speech.whole({ ...fields, ...one });
      const reported = timestamps.flatMap(({ words }) => words);
      const name = `${kind}, rate ${one.speaking_rate}, ${one.output_format}`;
      const errors = reported.map(({ startSeconds }, n) => startSeconds - starts[i]![n]!);
      heard.set(name, [...(heard.get(name) ?? []), ...errors]);
    }
  }
}

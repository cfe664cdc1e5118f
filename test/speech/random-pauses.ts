// Checks texts with pauses at random places, as tags and as breaks: every pause has the requested length, and every
// word has its position in the sent text.
import { expect } from 'vitest';
import { createRandom } from '../text/random-text.ts';
import { collect, joined, openSpeech, samplesOf } from './open-speech.ts';
import { findGaps } from './silences.ts';

const words = 'alpha bravo charlie delta échelon naïve golf hotel 😀india juliet'.split(' ');
const rates = [24_000, 44_100, 48_000];

interface RandomText {
  fields: object;
  source: string;
  /** Lengths of the pauses, in order. */
  pausesMs: readonly number[];
}

function writeText(random: () => number): RandomText {
  const isSsml = random() < 0.5;
  const pausesMs: number[] = [];
  let source = '';
  let sinceMs = 0;
  const pause = () => {
    const ms = 100 + Math.floor(random() * 1900);
    sinceMs += ms;
    source += isSsml ? `<break time="${ms}ms"/>` : `[pause:${random() < 0.5 ? `${ms}ms` : `${ms / 1000}s`}]`;
  };
  for (let left = 2 + Math.floor(random() * 8); left > 0; left--) {
    while (random() < 0.3) pause();
    if (sinceMs > 0) pausesMs.push(sinceMs);
    sinceMs = 0;
    const word = words[Math.floor(random() * words.length)]!;
    const written = isSsml && random() < 0.2 ? word.replace('a', '&#x61;') : word;
    source += ` ${written}${random() < 0.2 ? '.' : ''}${random() < 0.2 ? '\n' : ' '}`;
  }
  if (random() < 0.2) pause();
  if (sinceMs > 0) pausesMs.push(sinceMs);
  if (isSsml) source = `<speak>${source}</speak>`;
  return { fields: isSsml ? { ssml: source } : { text: source, markup: 'pauses' }, source, pausesMs };
}

export async function checkRandomPauses(count: number): Promise<void> {
  const random = createRandom(1);
  const { stream } = openSpeech();
  let pauses = 0;
  for (let i = 0; i < count; i++) {
    const { fields, source, pausesMs } = writeText(random);
    const sample_rate = rates[i % rates.length]!;
    const speaking_rate = [0.6, 1, 1.5, 3][i % 4]!;
    const events = await collect(
      stream({ ...fields, sample_rate, speaking_rate, output_format: 'pcm', timestamps: 'word' }),
    );
    const gaps = findGaps(samplesOf(joined(events)), sample_rate, 0.097);
    const lengths = gaps.map(({ startSeconds, endSeconds }) => (endSeconds - startSeconds) * 1000);
    const where = JSON.stringify({ source, speaking_rate, sample_rate, pausesMs, lengths });
    for (const ms of pausesMs) {
      const at = lengths.findIndex((length) => Math.abs(length - ms) < 1);
      expect(at, `${ms} ms in ${where}`).toBeGreaterThanOrEqual(0);
      // Skips gaps that the engine leaves between words when it speaks slowly.
      lengths.splice(0, at + 1);
      pauses++;
    }
    const chars = [...source];
    for (const event of events) {
      for (const { text, offset, length } of event.type === 'timestamps' ? event.words : [])
        expect(
          chars
            .slice(offset, offset + length)
            .join('')
            .replaceAll('&#x61;', 'a'),
          where,
        ).toBe(text);
    }
  }
  expect(pauses).toBeGreaterThan(count);
}

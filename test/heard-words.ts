// Speaks sentences of ten kinds (heard-words.txt), has a recognizer hear them, and counts the words that differ. Single
// words that the recognizer mishears count as errors too, so a few errors are usual.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pcm } from '../src/platform/pcm.ts';
import { openTranscriber } from '../src/speech.ts';
import { compareWords, type WordDifference } from '../src/text/compare-words.ts';

export interface HeardWords {
  sentences: number;
  words: number;
  /** Words that differ. */
  wrong: number;
  /** Numbers of sentences with words that are missing, said twice, or missing at the end. */
  skipped: number;
  repeated: number;
  truncated: number;
}

const file = readFileSync(join(import.meta.dirname, 'heard-words.txt'), 'utf8');

/** Sentences by kind. */
export const kindsOfSentences: ReadonlyMap<string, readonly string[]> = new Map(
  file
    .split(/^%% /m)
    .slice(1)
    .map((part) => part.trim().split('\n'))
    .map(([kind, ...lines]) => [kind!, lines]),
);

export function createHearing(url: string) {
  const transcribe = openTranscriber({ url, apiKey: '', model: 'whisper-1' })!;
  return async (sentences: readonly string[], speak: (text: string) => Promise<Pcm>): Promise<HeardWords> => {
    const counts: HeardWords = { sentences: 0, words: 0, wrong: 0, skipped: 0, repeated: 0, truncated: 0 };
    for (const text of sentences) {
      const { samples, sampleRateHz } = await speak(text);
      const recorded = {
        samples: Float32Array.from(samples, (each) => each / 32_768),
        sampleRateHz,
        languageCode: 'en',
      };
      const heard = await transcribe(recorded, new AbortController().signal);
      const { words, differences } = compareWords(text, heard.text, { languageCode: 'en' });
      counts.sentences++;
      counts.words += words;
      for (const difference of differences) counts.wrong += difference.words;
      const kinds = new Set(differences.map((each) => kindOf(each, text)));
      for (const kind of ['skipped', 'repeated', 'truncated'] as const) if (kinds.has(kind)) counts[kind]++;
    }
    return counts;
  };
}

const lettersOf = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

function kindOf({ kind, heard, from, to }: WordDifference, text: string) {
  if (kind === 'missing') return lettersOf(text.slice(to)) === '' ? 'truncated' : 'skipped';
  const [before, after] = [lettersOf(text.slice(0, from)), lettersOf(text.slice(to))];
  const isTwice = before.endsWith(lettersOf(heard)) || after.startsWith(lettersOf(heard));
  return kind === 'added' && isTwice ? 'repeated' : 'other';
}

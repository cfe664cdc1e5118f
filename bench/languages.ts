// Measures how often the language of a sentence is detected correctly. The sentences have 5, 10 or 20 words and are
// from the Universal Declaration of Human Rights in 20 languages; the candidates are all 20 languages, or the few of a
// typical voice. Also measures the cost per sentence, and the gain from assuming the previous language.
import { createSentenceLanguages, scoreLanguages } from '../src/speech/sentence-languages.ts';
import { beginnings, type Language, languages, lengths, typicalSets } from '../test/text/declarations.ts';
import type { Bench, Cell } from './measuring/bench.ts';

const sentencesMax = 60;
const cpuMs = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
};
const percent = (right: number, all: number): number => (100 * right) / all;

type Teller = () => (sentence: string, languages: readonly string[], own: string) => string;

/** Chooses the language with the highest score; ignores the previous sentence. */
const byScore: Teller = () => (sentence, among, own) => {
  const scores = scoreLanguages(sentence, among).map((score) => score ?? -Infinity);
  return Math.max(...scores) > -Infinity ? among[scores.indexOf(Math.max(...scores))]! : own;
};

/** Counts the sentences whose language is detected correctly without a previous sentence. */
function measureSingle(among: readonly Language[], wordCount: number) {
  let [right, all] = [0, 0];
  for (const language of among) {
    for (const sentence of beginnings(language, wordCount, sentencesMax)) {
      all++;
      if (createSentenceLanguages()(sentence, among, among[0]!) === language) right++;
    }
  }
  return { right, all };
}

/** Returns a generator that gives the same random numbers in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Measures texts that switch to the voice's own or another language after one to four sentences of 1 to 12 words. */
function measureTexts(teller: Teller): Map<number, { right: number; all: number }> {
  const random = createRandom(7);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const counts = new Map([1, 2, 3, 5, 8, 12].map((words) => [words, { right: 0, all: 0 }]));
  const pools = new Map(
    languages.flatMap((language) =>
      [...counts.keys()].map((words) => [`${language} ${words}`, beginnings(language, words)] as const),
    ),
  );
  for (const set of [...typicalSets, languages]) {
    for (let i = 0; i < 40; i++) {
      const tell = teller();
      for (let block = 0; block < 6; block++) {
        const language = random() < 0.5 ? set[0]! : pick(set);
        for (let left = 1 + Math.floor(random() * 4); left > 0; left--) {
          const words = pick([...counts.keys()]);
          const count = counts.get(words)!;
          count.all++;
          if (tell(pick(pools.get(`${language} ${words}`)!), set, set[0]!) === language) count.right++;
        }
      }
    }
  }
  return counts;
}

export const bench: Bench = {
  about: 'the detected language of sentences in 20 languages, among all of them and among those of a voice',
  async run() {
    const before = process.cpuUsage();
    scoreLanguages('The first sentence loads the table.', languages);
    const loadMs = cpuMs(before);
    const rows: Cell[][] = [];
    const shares: number[] = [];
    for (const wordCount of lengths) {
      const whole = measureSingle(languages, wordCount);
      const sets = typicalSets.map((set) => measureSingle(set, wordCount));
      const [right, all] = [sets.reduce((sum, set) => sum + set.right, 0), sets.reduce((sum, set) => sum + set.all, 0)];
      shares.push(percent(whole.right, whole.all));
      rows.push([wordCount, whole.all, percent(whole.right, whole.all), all, percent(right, all)]);
    }
    const sentences = languages.flatMap((language) => beginnings(language, 20, sentencesMax));
    const started = process.cpuUsage();
    for (const sentence of sentences) scoreLanguages(sentence, languages);
    const costs = [['loading the table, once', loadMs, undefined] as const];
    const costEach = [['a sentence of 20 words', undefined, (1000 * cpuMs(started)) / sentences.length] as const];
    const tellers = { 'the highest score': byScore, 'as Sonant tells them': createSentenceLanguages } as const;
    const inTexts = Object.entries(tellers).map(([name, teller]) => {
      const counts = [...measureTexts(teller).values()];
      return [name, ...counts.map(({ right, all }) => percent(right, all))];
    });
    return {
      tables: [
        {
          title: 'Sentences told right, by their words, in %',
          columns: [
            { name: 'words' },
            { name: 'sentences' },
            { name: 'among all 20', digits: 1 },
            { name: 'sentences' },
            { name: 'among 2 to 5', digits: 1 },
          ],
          rows,
        },
        {
          title: 'Sentences of texts that change their language, told right by their words, in %',
          columns: [{ name: 'by' }, ...[1, 2, 3, 5, 8, 12].map((words) => ({ name: String(words), digits: 1 }))],
          rows: inTexts,
        },
        {
          title: 'CPU time',
          columns: [{ name: 'of' }, { name: 'ms', digits: 0 }, { name: 'µs', digits: 0 }],
          rows: [...costs, ...costEach],
        },
      ],
      goals: shares.map((figure, i) => ({ name: `${lengths[i]} words among 20, in %`, figure, digits: 1, min: 98 })),
    };
  },
};

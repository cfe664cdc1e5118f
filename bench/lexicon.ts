// Measures the cost of a lexicon of 10 000 entries for a text of 50 000 characters: the CPU time of planning and
// segmenting the text with and without the lexicon. Either no word of the text has an entry, or one word in six.
import { bestCasting, castSpeech } from '../src/speech/plan.ts';
import { parseSpeechRequest } from '../src/speech/request.ts';
import { createVoices } from '../src/speech/voice.ts';
import { compileLexicon, type Lexicon, type LexiconEntry } from '../src/text/lexicon.ts';
import { openTone } from '../test/engines/tone-engine.ts';
import type { Bench } from './measuring/bench.ts';
import { compare, cpuOf, cpuRatio } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const charsMax = 50_000;
const entryCount = 10_000;
const rounds = 9;
/** Ratio of the cost with a lexicon, if no word has an entry, to the cost without. */
const goalMax = 1.25;

const tone = openTone();
const voices = createVoices([tone]);
const caller = { callerId: 'bench', accountId: 'bench' };
const chunks = Array.from({ length: 10 }, () => passage(charsMax / 10 - 1).slice(0, charsMax / 10));

const entriesOf = (graphemes: readonly string[]): LexiconEntry[] =>
  Array.from({ length: entryCount }, (_, i) => {
    return { grapheme: graphemes[i] ?? `Q${i.toString(36)}x name ${i % 100}`, alias: 'another word' };
  });

async function plan(lexicon?: Lexicon): Promise<number> {
  const request = parseSpeechRequest({
    voice_id: 'tone-low',
    method: 'streaming',
    text_chunks: chunks,
    lexicon_ids: lexicon ? ['bench'] : [],
  });
  const lexicons = {
    find(lexiconId: string) {
      return (
        lexicon && {
          lexiconId,
          ownerId: 'bench',
          access: 'private' as const,
          version: '1',
          compile: async () => lexicon,
        }
      );
    },
  };
  const found = await castSpeech(voices, request, caller, lexicons);
  const { cuts } = await found.plan().planFor(bestCasting);
  let count = 0;
  for (let next = await cuts.next(); !next.done; next = await cuts.next()) count++;
  return count;
}

export const bench: Bench = {
  about: `CPU time of a text of ${charsMax} characters with a lexicon of ${entryCount} entries, compared with none`,
  async run() {
    const words = [...new Set(chunks[0]!.match(/[a-z]{5,}/g))].slice(0, 40);
    const unused = compileLexicon(entriesOf([]));
    const used = compileLexicon(entriesOf(words));
    const entries = entriesOf(words);
    const costs = await compare(
      {
        none: () => plan(),
        unused: () => plan(unused),
        used: () => plan(used),
        compiling: () => compileLexicon(entries),
      },
      { rounds },
    );
    await tone.close();
    const ratio = cpuRatio([costs.unused], [costs.none]);
    const rows = (['none', 'unused', 'used', 'compiling'] as const).map((name) => [
      name,
      cpuOf(costs[name]),
      cpuRatio([costs[name]], [costs.none]),
    ]);
    const columns = [{ name: 'lexicon' }, { name: 'CPU ms', digits: 1 }, { name: ': none', digits: 2 }];
    return {
      tables: [{ title: `${charsMax} characters, planned and cut`, columns, rows }],
      goals: [{ name: 'with an unused lexicon : without', figure: ratio, digits: 2, max: goalMax }],
    };
  },
};

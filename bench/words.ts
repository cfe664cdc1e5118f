// Speaks sentences of ten kinds through each installed engine, and compares what Whisper tiny hears with the text.
// Variables:
//   VOICES: ids of voices, separated by commas; by default the first English voice of each engine
//   SENTENCES: number of sentences of each kind; by default all
//   SONANT_TRANSCRIPTION_URL: another recognizer, with OpenAI's transcription API

import { openApp } from '../src/app/command-line.ts';
import { loadConfig } from '../src/app/config.ts';
import { registry } from '../src/engines.ts';
import { createHearing, type HeardWords, kindsOfSentences } from '../test/heard-words.ts';
import { openWhisper } from '../test/programs/clients/whisper.ts';
import { collectSpeech } from '../test/speech/collect-speech.ts';
import { parseSpeechRequest } from '../test/speech/parse-request.ts';
import type { Bench, Cell } from './measuring/bench.ts';

const { VOICES, SENTENCES = '1000', SONANT_TRANSCRIPTION_URL } = process.env;
const sample_rate = 24_000;
const kinds = [...kindsOfSentences].map(([kind, all]) => ({ kind, sentences: all.slice(0, Number(SENTENCES)) }));

export const bench: Bench = {
  about: 'words that a recognizer hears in sentences of ten kinds, compared with the text',
  async run() {
    await using opened = new AsyncDisposableStack();
    const whisper = SONANT_TRANSCRIPTION_URL ? undefined : await openWhisper();
    opened.defer(() => whisper?.close());
    const url = SONANT_TRANSCRIPTION_URL ?? whisper?.url;
    if (!url) throw new Error('Python and the packages of whisper.txt are needed for this');
    const app = await openApp(loadConfig({ env: process.env, folder: process.cwd(), engines: registry }), registry);
    opened.defer(() => app.close());
    const hear = createHearing(url);
    const rows: Cell[][] = [];
    for (const voice_id of VOICES?.split(',') ?? firstVoices(app)) {
      const speak = async (text: string) => {
        const request = parseSpeechRequest({ voice_id, text, sample_rate, output_format: 'pcm' });
        const events = app.speech.streamSpeech(
          request,
          { callerId: 'bench', accountId: 'bench' },
          new AbortController().signal,
        );
        const { audio } = await collectSpeech(events);
        const samples = new Int16Array(audio.buffer, audio.byteOffset, audio.length >> 1);
        return { samples, sampleRateHz: sample_rate };
      };
      const results: HeardWords[] = [];
      for (const { kind, sentences } of kinds) {
        const heard = await hear(sentences, speak);
        results.push(heard);
        rows.push(toRow(voice_id, kind, heard));
      }
      const sum = (name: keyof HeardWords) => results.reduce((total, each) => total + each[name], 0);
      const names = Object.keys(results[0]!) as (keyof HeardWords)[];
      const all = Object.fromEntries(names.map((name) => [name, sum(name)])) as unknown as HeardWords;
      rows.push(toRow(voice_id, 'all', all));
    }
    const figures = ['sentences', 'words', 'word error %', 'skipped', 'repeated', 'truncated'];
    const columns = [{ name: 'voice' }, { name: 'kind' }, ...figures.map((name) => ({ name, digits: digitsOf(name) }))];
    return { tables: [{ title: 'Words heard', columns, rows }], goals: [] };
  },
};

const digitsOf = (name: string): number => (name.endsWith('%') ? 1 : 0);

const toRow = (voice: string, kind: string, { sentences, words, wrong, ...faults }: HeardWords): Cell[] => [
  ...[voice, kind, sentences, words, (100 * wrong) / words],
  ...[faults.skipped, faults.repeated, faults.truncated],
];

/** The first English voice of each engine. */
function firstVoices({ voices }: Awaited<ReturnType<typeof openApp>>): string[] {
  const byEngine = new Map<string, string>();
  for (const { voice } of voices.list())
    if (voice.languageCodes[0]?.startsWith('en') && !byEngine.has(voice.engine))
      byEngine.set(voice.engine, voice.voiceId);
  return [...byEngine.values()];
}

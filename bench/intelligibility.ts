// Measures a speech recognizer's word errors on test/sentences.ts. Conditions: the default voice as wav and mp3 at
// every rate, compared with the bare engine; every voice; every speed; and reversed speech, which must not be
// understood.
import { availableParallelism } from 'node:os';
import type { Pcm } from '../src/audio/pcm.ts';
import { outputSampleRatesHz } from '../src/speech/fields.ts';
import { canRecognize, type EncodedSound, recognize, wordErrorRate } from '../test/recognizer.ts';
import { sentences } from '../test/sentences.ts';
import type { Bench, Findings } from './measuring/bench.ts';
import { type Fields, type OpenedSpeech, openSpeech } from './measuring/open-speech.ts';
import { openRawEngine } from './measuring/raw-engine.ts';

/** Two speaking rates give enough samples to distinguish a difference of two points from chance. */
const paces = [1, 1.1];
const speakingRates = [0.25, 0.5, 0.75, 1.25, 1.5, 2, 3, 4];
/** Half of the sentences, for slow speech, which takes long to recognize. */
const everyOtherSentence = sentences.filter((_, n) => n % 2 === 0);
const wav = { output_format: 'wav', sample_rate: 44_100 };
const goalMax = { wordErrors: 25, pointsOverRaw: 2 };
const reversedMin = 90;

type Group = 'raw' | 'output' | 'voice' | 'speed' | 'reversed';

interface Condition {
  group: Group;
  name: string;
  texts: readonly string[];
  speakingRates: readonly number[];
  say(text: string, speakingRate: number): Promise<Pcm | EncodedSound>;
}

interface Heard extends Condition {
  wordErrors: number;
}

export const bench: Bench = {
  about: 'word errors of a speech recognizer through the pipeline, compared with the raw program',
  async run() {
    if (!canRecognize()) {
      console.log('needs pocketsphinx, pocketsphinx-en-us and sox (apt-get install ...): nothing measured');
      return { tables: [], goals: [] };
    }
    const speech = await openSpeech();
    const heard = await recognizeAll(await listConditions(speech));
    await speech.close();
    return toFindings(heard);
  },
};

async function listConditions(speech: OpenedSpeech): Promise<Condition[]> {
  const raw = await openRawEngine();
  const { voiceId } = speech.voices[0]!;
  const through = (fields: Fields) => (text: string, rate: number) =>
    say(speech, { ...fields, text, speaking_rate: rate });
  const atPaces = { texts: sentences, speakingRates: paces };
  const plain = { texts: sentences, speakingRates: [1] };
  const outputs = outputSampleRatesHz.flatMap((sample_rate) =>
    ['wav', 'mp3'].map((output_format): Condition => {
      const name = `${voiceId}, ${sample_rate} Hz ${output_format}`;
      return { group: 'output', name, ...atPaces, say: through({ output_format, sample_rate }) };
    }),
  );
  const voices = speech.voices.map((voice): Condition => {
    return { group: 'voice', name: voice.voiceId, ...plain, say: through({ ...wav, voice_id: voice.voiceId }) };
  });
  const speeds = speakingRates.map((rate): Condition => {
    const name = `${voiceId}, rate ${rate}`;
    return { group: 'speed', name, texts: everyOtherSentence, speakingRates: [rate], say: through(wav) };
  });
  return [
    { group: 'raw', name: `${voiceId}, raw`, ...atPaces, say: async (text, rate) => raw.say(voiceId, [text], rate) },
    ...outputs,
    ...voices,
    ...speeds,
    { group: 'reversed', name: `${voiceId}, played backwards`, ...plain, say: through(wav) },
  ];
}

async function say(speech: OpenedSpeech, fields: Fields): Promise<EncodedSound> {
  const { audio, info } = await speech.whole(fields);
  return { bytes: audio, format: info.format, sampleRateHz: info.sampleRateHz };
}

/** Runs one recognizer per core. */
async function recognizeAll(conditions: readonly Condition[]): Promise<Heard[]> {
  const heard: Heard[] = [];
  const waiting = conditions.entries();
  const work = async () => {
    for (const [n, condition] of waiting) heard[n] = { ...condition, wordErrors: 100 * (await errorRateOf(condition)) };
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return heard;
}

async function errorRateOf({ group, texts, speakingRates, say }: Condition): Promise<number> {
  const said = speakingRates.flatMap((rate) => texts.map((text) => ({ text, rate })));
  const sounds: (Pcm | EncodedSound)[] = [];
  for (const { text, rate } of said) sounds.push(await say(text, rate));
  const heard = await recognize(sounds, { reversed: group === 'reversed' });
  return wordErrorRate(
    said.map(({ text }) => text),
    heard,
  );
}

function toFindings(heard: readonly Heard[]): Findings {
  const of = (group: Group) => heard.filter((each) => each.group === group).map(({ wordErrors }) => wordErrors);
  const [raw] = of('raw');
  const [reversed] = of('reversed');
  const worst = Math.max(...of('output'));
  const rows = heard.map(({ group, name, texts, speakingRates, wordErrors }) => {
    const overRaw = group === 'output' ? wordErrors - raw! : undefined;
    return [name, texts.length * speakingRates.length, wordErrors, overRaw];
  });
  const columns = [
    { name: 'what' },
    { name: 'sentences' },
    { name: 'word errors %', digits: 1 },
    { name: 'points over raw', digits: 1 },
  ];
  const title = `${sentences.length} sentences; raw and outputs at rates ${paces.join(', ')}`;
  return {
    tables: [{ title, columns, rows }],
    goals: [
      { name: 'default voice, word errors %, worst output', figure: worst, digits: 1, max: goalMax.wordErrors },
      { name: 'points over raw, worst output', figure: worst - raw!, digits: 1, max: goalMax.pointsOverRaw },
      { name: 'played backwards, word errors %', figure: reversed!, digits: 1, min: reversedMin },
    ],
  };
}

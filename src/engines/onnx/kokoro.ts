// The family kokoro: one model for many voices, which are styles. A graph has three parts: the front gives durations,
// pitch and features of all phonemes; the blocks turn them into what the generator makes samples of. Norms of the last
// two parts take their statistics from the whole utterance, so windows would differ. Here, each voice has statistics of
// its own, learned when it is imported, and the parts run in windows that overlap by what they see.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { faulty, framesPerDuration, openFront } from './durations.ts';
import type { Family, FamilyModel, FoundSpeaker, Vocabulary } from './family.ts';
import { toFloatConvolutions } from './float-convolutions.ts';
import { cutFrames, keepFrames } from './kept-frames.ts';
import { floatValue, type OnnxModel, type OnnxValue } from './onnx-file.ts';
import type { Inputs, OpenGraph, RuntimeStart, Session } from './onnx-runtime.ts';
import { openStages } from './staged-graph.ts';
import { cardName, vocabularyName } from './voice-folders.ts';

const decoder = '/decoder/decoder';
/** Results of the front: features for each duration; pitch, loudness and phases of the harmonics for each frame. */
const features = '/encoder/MatMul_1_output_0';
const pitch = `${decoder}/Unsqueeze_output_0`;
const loudness = `${decoder}/Unsqueeze_1_output_0`;
const phases = `${decoder}/generator/m_source/l_sin_gen/Mul_4_output_0`;
/** The result of the blocks. */
const blocks = `${decoder}/decode.3/Div_4_output_0`;
/** What the first stage of the generator gives to the last one, with a number of columns for each frame. */
const stage = `${decoder}/generator/Div_2_output_0`;
const stageColumns = 10;
const source = `${decoder}/generator/Concat_3_output_0`;
const sourceColumns = 60;
const boundaries = [features, pitch, loudness, phases, blocks, stage, source];
/** Sums in the generator at which a run pauses: in and after the noise, and in and after the blocks. Each costs time. */
const sumOf = (place: string) => `${decoder}/generator/${place}_output_0`;
const firstPauses = ['Add_2', 'resblocks.0/Add_8', 'Add_3'].map(sumOf);
const lastPauses = ['noise_res.1/Add_5', 'Add_5', 'resblocks.3/Add_8', 'Add_6', 'resblocks.5/Add_2'].map(sumOf);
const blockPauses = [`${decoder}/decode.0/Div_3_output_0`];
/** What the front needs beside the durations; the other shared results come from the style alone. */
const encoded = '/encoder/predictor/text_encoder/Concat_4_output_0';

/** The model is large, so that threads help its first sound more than workers. */
const threads = Math.min(availableParallelism(), availableParallelism() < 16 ? 2 : 4);
const sampleRateHz = 24_000;
const frameSamples = 300;
/** What the blocks and the two stages see at each side, in frames. */
const blockContext = 24;
const stageContext = 10;
const lastContext = 3;
/** A window is computed in less time than the sound before it lasts, if two threads compute it. */
const windowSeconds = [0.7, 0.9, 1.4, 2.2, 3.5];
const styleSize = 256;
/** A style has a row for each number of phonemes. */
const styleRows = 510;
const styleBytes = 4 * styleSize * styleRows;
/** The language of a voice by the first letter of its name, and eSpeak NG's name of it where its phonemes are needed. */
const languages: Readonly<Record<string, readonly [code: string, espeak?: string]>> = {
  a: ['en-US'],
  b: ['en-GB'],
  e: ['es', 'es'],
  f: ['fr-FR', 'fr-fr'],
  h: ['hi', 'hi'],
  i: ['it', 'it'],
  p: ['pt-BR', 'pt-br'],
};
const speakerForm = /^([abefhip])([fm])_([a-z0-9]+)$/;
const bestSpeaker = 'af_heart';

/** What a voice adds to the model. */
interface Style {
  rows: Float32Array;
  /** Undefined while the voice is being imported. */
  statistics: readonly [long: Statistics, short: Statistics] | undefined;
}

/** Means and variances of the norms, averaged over all frames of utterances of this length. */
interface Statistics {
  frames: number;
  lists: readonly Float32Array[];
}

/** Texts of one word, because the silence around a text has a larger share in the averages of a short text. */
const shortTexts = ['ˈOvəɹ.', 'plˈiz.', 'mˈʌni?', 'sˈɪks.'];

export const kokoro: Family = {
  name: 'kokoro',
  isOwn: ({ inputs, makers }) =>
    ['tokens', 'style', 'speed'].every((name) => inputs.includes(name)) && boundaries.every((each) => makers.has(each)),
  async describe({ files, installed }) {
    const styles = new Map<string, string>();
    for (const path of files) {
      const name = basename(path).replace(/\.(bin|npy)$/, '');
      if (speakerForm.test(name) && name !== basename(path)) styles.set(name, path);
    }
    const names = [...styles.keys()].sort();
    if (names.length === 0)
      throw new Failure('invalid_request', { message: 'Kokoro also needs the files of its voices' });
    const ordered = [...names.filter((name) => name === bestSpeaker), ...names.filter((name) => name !== bestSpeaker)];
    // All models with these voices have the same vocabulary, and hibari, too.
    const known = installed.map((folder) => join(folder, vocabularyName)).filter(existsSync);
    const vocabulary = files.find((path) => /\/(vocab|vocabulary)\.json$/.test(path)) ?? known[0];
    return {
      name: 'kokoro',
      files: {
        [vocabularyName]: vocabulary,
        ...Object.fromEntries([...styles].map(([name, path]) => [`${name}.bin`, path])),
      },
      speakers: ordered.map(toSpeaker),
    };
  },
  async open(model, openGraph, folder, is) {
    const vocabulary: Vocabulary = JSON.parse(await readFile(join(folder, vocabularyName), 'utf8'));
    const isLearning = !existsSync(join(folder, cardName));
    const parts = await openParts(model, openGraph, vocabulary, is, isLearning);
    const { front, norms, samples, blockPart, sourcePart, stagePart, lastPart, whole } = parts;
    const styles = new Map<string, Promise<Style>>();
    type Front = Awaited<ReturnType<typeof front>>;

    const toFront = (phonemes: readonly string[], rows: Float32Array, speed: number) =>
      front({ phonemes, speed }, (count) => {
        const row = styleSize * Math.min(styleRows - 1, count);
        return { style: { data: rows.slice(row, row + styleSize), dims: [1, styleSize] } };
      });

    async function openStyle(id: string): Promise<Style> {
      const bytes = await readFile(join(folder, `${id}.bin`));
      // A file of numpy has a header.
      const rows = toFloats(bytes.subarray(Math.max(0, bytes.length - styleBytes)));
      if (rows.length !== styleSize * styleRows) throw faulty(`a style of ${bytes.length} bytes`);
      return { rows, statistics: await readStatistics(statisticsPath(folder, id), norms.length) };
    }
    const styleOf = (id: string): Promise<Style> => {
      const style = styles.get(id) ?? openStyle(id);
      styles.set(id, style);
      style.catch(() => styles.delete(id));
      return style;
    };

    /** Computes the whole sound, and learns the statistics of the voice from it and from short texts. */
    async function learn(id: string, rows: Float32Array, long: Front): Promise<Float32Array> {
      const hear = async ({ asked, begun, frames }: Front) => {
        const heard = await whole!.run({ ...asked, ...begun });
        return { frames, lists: norms.map((name) => heard[name]!.data), sound: heard[samples]!.data };
      };
      const heard = await hear(long);
      const shorts: Statistics[] = [];
      for (const text of shortTexts) shorts.push(await hear(await toFront([...text], rows, 1)));
      const share = shorts.map(() => 1 / shorts.length);
      const short = {
        frames: shorts.reduce((sum, { frames }) => sum + frames, 0) / shorts.length,
        lists: norms.map((_, n) =>
          weigh(
            shorts.map(({ lists }) => lists[n]!),
            share,
          ),
        ),
      };
      const all = [heard, short].flatMap(({ frames, lists }) => [
        frames,
        ...lists.flatMap((list) => [list.length, ...list]),
      ]);
      await writeFile(statisticsPath(folder, id), new Uint8Array(Float32Array.from(all).buffer));
      styles.delete(id);
      return heard.sound;
    }

    const begin: FamilyModel['begin'] = async ({ phonemes, speakers, speed }) => {
      const spoken = await Promise.all(speakers.map(({ id }) => styleOf(id)));
      const blend = (lists: readonly Float32Array[]) =>
        weigh(
          lists,
          speakers.map(({ weight }) => weight),
        );
      const rows = blend(spoken.map((style) => style.rows));
      const front = await toFront(phonemes, rows, speed);
      const { asked, begun, frames, starts } = front;
      const learned = spoken.flatMap(({ statistics }) => (statistics ? [listsAt(statistics, frames)] : []));
      if (learned.length < spoken.length) {
        const sound = await learn(speakers[0]!.id, rows, front);
        const render = async (from: number, to: number) => sound.subarray(frameSamples * from, frameSamples * to);
        return { frames, frameSamples, starts, render };
      }
      const statistics = norms.map((name, n): [string, Inputs] => {
        const data = blend(learned.map((lists) => lists[n]!));
        return [name, { data, dims: [1, data.length, 1] }];
      });
      const fixed = { ...asked, ...Object.fromEntries(statistics) };
      const run = (part: Session, inputs: Readonly<Record<string, Inputs>>) => part.run({ ...fixed, ...inputs });
      const cut = (name: string, first: number, end: number) => ({ [name]: cutFrames(begun[name]!, first, end) });
      const blocksMade = keepFrames({
        frames,
        context: blockContext,
        step: framesPerDuration,
        async compute(first, end) {
          const durations = cut(features, first / framesPerDuration, end / framesPerDuration);
          const inputs = { ...durations, ...cut(pitch, first, end), ...cut(loudness, first, end) };
          return (await run(blockPart, inputs))[blocks]!;
        },
      });
      /** The source of the last range, which includes the frames that the last stage needs. */
      let sourceMade = { first: 0, values: begun[pitch]! };
      const stageMade = keepFrames({
        frames,
        context: stageContext,
        columns: stageColumns,
        async compute(first, end) {
          const { [source]: values } = await run(sourcePart, { ...cut(pitch, first, end), ...cut(phases, first, end) });
          sourceMade = { first, values: values! };
          const inputs = { [blocks]: await blocksMade(first, end), [source]: values! };
          return (await run(stagePart, inputs))[stage]!;
        },
      });
      const sound = keepFrames({
        frames,
        context: lastContext,
        columns: frameSamples,
        async compute(first, end) {
          const staged = await stageMade(first, end);
          const [left, right] = [first, end].map((frame) => sourceColumns * (frame - sourceMade.first));
          // There is one place more than columns.
          const inputs = { [stage]: staged, [source]: cutFrames(sourceMade.values, left!, right! + 1) };
          return (await run(lastPart, inputs))[samples]!;
        },
      });
      return { frames, frameSamples, starts, render: async (from, to) => (await sound(from, to)).data };
    };
    return { sampleRateHz, earlySeconds: 0.075, windowSeconds, begin };
  },
};

/** A function of its own, so that nothing that uses the parts keeps the file of the model in memory. */
async function openParts(
  model: OnnxModel,
  openGraph: OpenGraph,
  vocabulary: Vocabulary,
  is: RuntimeStart['is'],
  isLearning: boolean,
) {
  const change = is === 'native' ? toFloatConvolutions(model) : undefined;
  const openPart: OpenGraph = (bytes) => openGraph(bytes, { threads });
  const norms = statisticsOf(model);
  const given = [
    floatValue(features, 1, 'channels', 'durations'),
    floatValue(pitch, 1, 1, 'frames'),
    floatValue(loudness, 1, 1, 'frames'),
    floatValue(phases, 1, 'harmonics', 'frames'),
  ];
  const frozen = norms.map((name) => floatValue(name, 1, name, 1));
  const openDecoder = (outputs: readonly string[], given: readonly OnnxValue[], ends: readonly string[]) =>
    openStages(model, { outputs, given: [...given, ...frozen], ends, change }, openPart);
  const sourceGiven = floatValue(source, 1, 'bins', 'places');
  return {
    norms,
    samples: model.outputs[0]!,
    front: await openFront(model, openPart, vocabulary, {
      input: 'tokens',
      ends: [features, pitch, loudness, phases],
      durationSizes: ['batch', 'sounds'],
      carried: [encoded],
      change,
    }),
    blockPart: await openDecoder([blocks], given, blockPauses),
    sourcePart: await openDecoder([source], given, []),
    stagePart: await openDecoder(
      [stage],
      [...given, floatValue(blocks, 1, 'channels', 'frames'), sourceGiven],
      firstPauses,
    ),
    lastPart: await openDecoder(model.outputs, [floatValue(stage, 1, 'channels', 'columns'), sourceGiven], lastPauses),
    whole: isLearning ? await openPart(model.cut([...model.outputs, ...norms], given, change)) : undefined,
  };
}

function toSpeaker(id: string): FoundSpeaker {
  const [, language, gender, name] = speakerForm.exec(id)!;
  const [languageCode, espeak] = languages[language!]!;
  return {
    id,
    name: name!,
    languageCode,
    gender: gender === 'f' ? 'female' : 'male',
    ...(espeak && { reading: { by: 'espeak', voice: espeak, notation: 'kokoro' } }),
  };
}

const toFloats = (bytes: Buffer): Float32Array => new Float32Array(new Uint8Array(bytes).buffer);

/** The results of the decoder that are averages over all frames. */
const statisticsOf = ({ nodes }: OnnxModel): string[] =>
  nodes.flatMap(({ name, operation, outputs }) =>
    operation === 'ReduceMean' && name.startsWith(`${decoder}/`) ? [outputs[0]!] : [],
  );

const statisticsPath = (folder: string, speaker: string): string => join(folder, `${speaker}.statistics`);

/**
 * A file describes a long text, and then short ones. Each description is a number of frames and `count` lists. The length
 * of a list precedes it.
 */
async function readStatistics(path: string, count: number): Promise<Style['statistics']> {
  if (!existsSync(path) && !existsSync(join(dirname(path), cardName))) return undefined;
  const values = toFloats(await readFile(path));
  let at = 0;
  const read = (): Statistics => {
    const frames = values[at++]!;
    const lists = Array.from({ length: count }, () => {
      const from = at + 1;
      at = from + values[at]!;
      return values.slice(from, at);
    });
    return { frames, lists };
  };
  const statistics = [read(), read()] as const;
  if (at !== values.length) throw faulty('statistics of another version; install the voice again');
  return statistics;
}

/**
 * The statistics of an utterance of this length. The silence around an utterance always has the same length, so its share
 * in the averages depends on the inverse of the length.
 */
function listsAt([long, short]: NonNullable<Style['statistics']>, frames: number): Float32Array[] {
  const share = (1 / frames - 1 / long.frames) / (1 / short.frames - 1 / long.frames);
  const ofShort = Math.min(1, Math.max(0, share));
  return long.lists.map((list, n) => weigh([list, short.lists[n]!], [1 - ofShort, ofShort]));
}

/** The sum of the lists, by weight. */
function weigh(lists: readonly Float32Array[], weights: readonly number[]): Float32Array {
  if (lists.length === 1) return lists[0]!;
  return lists[0]!.map((_, i) => lists.reduce((sum, list, n) => sum + weights[n]! * list[i]!, 0));
}

// Compares the pipeline with its parts, each measured alone on the same text and audio: the raw program on the
// pipeline's segments, the resampler and the encoder. Level, limiter and segmentation are shown as shares of the
// pipeline's CPU time. The rest is the cost of threads, messages and events.
import { audioFormats, type FormatName } from '../src/audio/formats.ts';
import { limit, toFloat } from '../src/audio/level.ts';
import { Resampler } from '../src/audio/resample.ts';
import { segmentText } from '../src/text/segment.ts';
import type { Bench, Cell } from './measuring/bench.ts';
import { drain, type OpenedSpeech, openSpeech } from './measuring/open-speech.ts';
import { openRawEngine, type RawEngine, toRuns } from './measuring/raw-engine.ts';
import { type Cost, type Costs, compare, cpuOf, cpuRatio, type Work } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const sampleRateHz = { mp3: 44_100, wav: 44_100, pcm: 24_000 } as const satisfies Partial<Record<FormatName, number>>;
type Output = keyof typeof sampleRateHz;
const formats = Object.keys(sampleRateHz) as Output[];
/** The text is short: the engine needs a second for it, and a round measures each of fifteen contenders twice. */
const text = passage(600);
const rounds = 5;
const goalMax = 1.05;
/** The parts receive slices of this length, as in the pipeline. */
const sliceSeconds = 0.25;

export const bench: Bench = {
  about: 'CPU time of the whole pipeline, compared with the sum of its parts',
  async run() {
    const speech = await openSpeech();
    const raw = await openRawEngine();
    const { seconds } = await drain(speech.stream({ text, output_format: 'pcm' }));
    const costs = await compare({ ...engineWorks(speech, raw), ...outputWorks(speech, raw, seconds) }, { rounds });
    await speech.close();

    const ratios = formats.map((format) => {
      const { pipeline, parts } = pick(costs, format);
      return { format, ratio: cpuRatio([pipeline], parts) };
    });
    const shares = {
      title: `Default voice, ${text.length} characters: CPU per second of sound, and what of it each part takes alone, in %`,
      columns: [
        { name: 'output' },
        { name: 'CPU ms/s', digits: 2 },
        ...['engine', 'resampler', 'encoder', 'level', 'segmentation', 'rest'].map((name) => ({ name, digits: 1 })),
        { name: 'pipeline/parts', digits: 3 },
      ],
      rows: ratios.map(({ format, ratio }) => [nameOf(format), ...sharesOf(costs, format, seconds), ratio]),
    };
    const cutting = {
      title: 'The raw program: on the whole text in one run, and on the segments',
      columns: [
        { name: 'one run CPU ms/s', digits: 2 },
        { name: 'segments CPU ms/s', digits: 2 },
        { name: 'segments/one run', digits: 3 },
      ],
      rows: [[cpuOf(costs.oneRun) / seconds, cpuOf(costs.engine) / seconds, cpuRatio([costs.engine], [costs.oneRun])]],
    };
    const goals = ratios.map(({ format, ratio }) => {
      const name = `pipeline / (engine + resampler + encoder), ${nameOf(format)}`;
      return { name, figure: ratio, digits: 3, max: goalMax };
    });
    return { tables: [shares, cutting], goals };
  },
};

const nameOf = (format: Output): string => `${sampleRateHz[format]} Hz ${format}`;

type PartName = 'engine' | 'oneRun' | 'segmentation';
type OutputPart = 'pipeline' | 'resampler' | 'encoder' | 'level';
type Contender = PartName | `${OutputPart} ${Output}`;

/** The parts that do not depend on the output format. */
function engineWorks(speech: OpenedSpeech, raw: RawEngine): Record<PartName, Work> {
  const { languageCodes, voiceId } = speech.voices[0]!;
  const { readsNumbers, segmentCharsMax } = speech.engine.capabilities;
  const options = { languageCode: languageCodes[0]!, spellOut: !readsNumbers, segmentCharsMax, firstCharsMax: 60 };
  const runs = toRuns(speech.segments);
  return {
    engine: () => raw.say(voiceId, runs),
    oneRun: () => raw.say(voiceId, [text]),
    segmentation: () => [...segmentText(text, options)],
  };
}

function outputWorks(speech: OpenedSpeech, raw: RawEngine, seconds: number): Record<`${OutputPart} ${Output}`, Work> {
  const voice = speech.voices[0]!;
  const spoken = raw.say(voice.voiceId, toRuns(speech.segments));
  const inRateHz = spoken.sampleRateHz;
  // The audio is cut to the length of the pipeline's output, because the pipeline trims silence at the seams.
  const samples = spoken.samples.subarray(0, seconds * inRateHz);
  const sliceSamples = sliceSeconds * inRateHz;
  const slices = Array.from({ length: Math.ceil(samples.length / sliceSamples) }, (_, n) =>
    samples.subarray(n * sliceSamples, (n + 1) * sliceSamples),
  );
  const toLevel = () => slices.map((slice) => toFloat(slice, voice.gainDb));
  const levelled = toLevel();

  const works = formats.map((format) => {
    const outRateHz = sampleRateHz[format];
    const resampler = () => new Resampler({ inRateHz, outRateHz });
    const resampled = [...resample(resampler(), levelled)];
    return {
      [`pipeline ${format}`]: () => drain(speech.stream({ text, output_format: format, sample_rate: outRateHz })),
      [`resampler ${format}`]: () => resample(resampler(), levelled).forEach(() => {}),
      [`encoder ${format}`]: () => encode(format, resampled),
      [`level ${format}`]: () => [toLevel(), resampled.map(limit)],
    };
  });
  return Object.assign({}, ...works);
}

function* resample(resampler: Resampler, slices: readonly Float32Array[]): Generator<Float32Array> {
  for (const slice of slices) yield resampler.process(slice);
  yield resampler.flush();
}

async function encode(format: Output, slices: readonly Float32Array[]): Promise<void> {
  const encoder = await audioFormats[format].openEncoder(sampleRateHz[format]);
  for (const slice of slices) encoder.encode(slice);
  encoder.end();
}

function pick(costs: Costs<Contender>, format: Output) {
  const of = (part: OutputPart) => costs[`${part} ${format}`];
  return { pipeline: of('pipeline'), parts: [costs.engine, of('resampler'), of('encoder')], level: of('level') };
}

function sharesOf(costs: Costs<Contender>, format: Output, seconds: number): Cell[] {
  const { pipeline, parts, level } = pick(costs, format);
  const share = (part: readonly Cost[]) => 100 * cpuRatio([part], [pipeline]);
  const shares = [...parts, level, costs.segmentation].map(share);
  return [cpuOf(pipeline) / seconds, ...shares, 100 - shares.reduce((sum, each) => sum + each, 0)];
}

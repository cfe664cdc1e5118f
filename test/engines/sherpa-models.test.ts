// Tests the checks on a model folder before it is loaded: recognized kinds, every fault with its file, and the operator's
// settings. The models are headers without weights, except for tiny ones. Supertonic in the layout of its release is run
// with the real library: every language that a voice claims reaches the model, with its speaker, speed and steps.
import { mkdir, mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readModel } from '../../src/engines/sherpa-onnx/model-folder.ts';
import { toLibraryRequest, toModelText } from '../../src/engines/sherpa-onnx/model-request.ts';
import { speakersOf } from '../../src/engines/sherpa-onnx/model-voices.ts';
import { packReference, parseReference } from '../../src/engines/sherpa-onnx/reference.ts';
import { openSherpaEngine } from '../../src/engines/sherpa-onnx/sherpa-engine.ts';
import { findLibrary } from '../../src/engines/sherpa-onnx/sherpa-library.ts';
import { supertonicLanguages } from '../../src/engines/sherpa-onnx/supertonic-model.ts';
import { dominantFrequencyHz } from '../audio/measure-tone.ts';
import { wavOfBytes } from '../audio/recording-files.ts';
import { newFolder } from '../new-folder.ts';
import { speechOf } from '../speech/open-speech.ts';
import { float, floats, int64, node, type ValueShape, writeOnnx } from './onnx-writer.ts';
import { makeTinyPocket } from './tiny-pocket.ts';
import { hummed, makeTinySupertonic, makeTinyVoice, tinyVoiceFiles } from './tiny-supertonic.ts';

const root = newFolder(afterAll);

type ModelContents = Readonly<Record<string, string | Uint8Array>>;

/** A folder of this name, in a new folder. */
async function makeFolder(name: string, files: ModelContents): Promise<string> {
  const folder = join(await mkdtemp(join(root, 'case-')), name);
  await mkdir(join(folder, 'espeak-ng-data'), { recursive: true });
  for (const [file, content] of Object.entries(files)) await writeFile(join(folder, file), content);
  return folder;
}

const espeak: ModelContents = Object.fromEntries(
  ['phontab', 'phonindex', 'phondata', 'intonations'].map((file) => [`espeak-ng-data/${file}`, 'x']),
);
const phonemes = '_ 0\n^ 1\n$ 2\n  3\na 4\n, 5\n';

/** The header of a model with inputs of these types, and its metadata. */
function header(
  types: readonly number[],
  metadata: Readonly<Record<string, string>> = {},
  names: readonly string[] = [],
): Uint8Array {
  const inputs = types.map((type, n): ValueShape => [names[n] ?? `input${n}`, type, [1]]);
  return writeOnnx({
    inputs,
    outputs: [['y', 1, [1]]],
    constants: { weights: floats([4], [1, 2, 3, 4]) },
    nodes: [node('Identity', ['weights'], ['y'])],
    metadata,
  });
}

const i = int64;
const f = float;
const zipvoice: ModelContents = {
  ...espeak,
  'encoder.int8.onnx': header([i, i, i, f]),
  'decoder.int8.onnx': header([f, f, f, f, f], { sample_rate: '24000' }),
  'vocos_24khz.onnx': header([f], { model_type: 'vocos' }),
  'tokens.txt': phonemes,
  'lexicon.txt': 'a a\n',
};

describe('a folder is recognized as', () => {
  test('ZipVoice, which clones', async () => {
    const folder = await makeFolder('zipvoice', zipvoice);
    const { model, faults } = await readModel(folder);
    expect(faults).toEqual([]);
    expect(model).toMatchObject({
      kind: 'zipvoice',
      speakers: 0,
      languageCodes: ['zh', 'en'],
      zeroShot: { needsReferenceText: true, samples: [] },
      steps: 4,
      config: { zipvoice: { encoder: join(folder, 'encoder.int8.onnx'), vocoder: join(folder, 'vocos_24khz.onnx') } },
    });
  });

  test('Pocket, which clones', async () => {
    const { model, faults } = await readModel(await makeTinyPocket(join(root, 'hum')));
    expect(faults).toEqual([]);
    expect(model).toMatchObject({ kind: 'pocket', speakers: 0, sampleRateHz: 24_000, languageCodes: ['en'] });
  });
});

describe('a fault names its file:', () => {
  const vocoder = 'vocos_24khz.onnx';

  test.each<[name: string, files: ModelContents, fault: RegExp]>([
    ['a model cut short', { [vocoder]: header([f]).subarray(0, 90) }, /^vocos_24khz.onnx is damaged or incomplete/],
    ['a model that is text', { [vocoder]: '<!DOCTYPE html><p>Not found' }, /^vocos_24khz.onnx is not an ONNX file/],
    ['an empty model', { [vocoder]: '' }, /^vocos_24khz.onnx is not an ONNX file/],
    ['a pointer of Git LFS', { [vocoder]: 'version https://git-lfs.github.com/spec/v1\noid' }, /is not an ONNX file/],
    [
      'a sample rate that is none',
      { 'decoder.int8.onnx': header([f, f, f, f, f], { sample_rate: 'abc' }) },
      /has "abc" as sample_rate .* from 8000 to 48000/,
    ],
    [
      'a part of another model',
      { 'decoder.int8.onnx': header([f, f]) },
      /^decoder.int8.onnx has other inputs than a model of this kind/,
    ],
    [
      'a vocoder that the library cannot use',
      { [vocoder]: header([f], { model_type: 'hifigan' }) },
      /has "hifigan" as model_type; it must be vocos or matcha-tts vocos/,
    ],
    ['a line of tokens in another form', { 'tokens.txt': 'a b c\n' }, /^tokens.txt must have .* line 1 does not/],
    ['an empty line of tokens', { 'tokens.txt': 'a 1\n\nb 2\n' }, /line 2 does not/],
    ['a token without a number', { 'tokens.txt': `${phonemes}ö x\n` }, /line 7 does not/],
    ['tokens without the space', { 'tokens.txt': 'a 1\n' }, /^tokens.txt lacks the token " "/],
    ['no tokens', { 'tokens.txt': '' }, /^tokens.txt is empty/],
    ['a card that is no JSON', { 'sonant-model.json': '{' }, /^sonant-model.json is not JSON/],
    ['a card with an odd member', { 'sonant-model.json': '{"lang":"en"}' }, /has the unknown member lang; remove it/],
    [
      'a card with no such kind',
      { 'sonant-model.json': '{"kind":"vits"}' },
      /kind that must be one of supertonic, pocket, zipvoice/,
    ],
    [
      'an option that the kind does not have',
      { 'sonant-model.json': '{"options":{"voice_cache":4}}' },
      /^sonant-model.json has the unknown option voice_cache; a model of the kind zipvoice has the options steps, /,
    ],
    [
      'an option beyond its range',
      { 'sonant-model.json': '{"options":{"t_shift":7}}' },
      /has 7 as t_shift; it must be a number from 0 to 1/,
    ],
    [
      'options that are no numbers',
      { 'sonant-model.json': '{"options":{"steps":"many"}}' },
      /steps, which must be a number/,
    ],
  ])('%s', async (_, files, fault) => {
    const { model, faults } = await readModel(await makeFolder('tiny', { ...zipvoice, ...files }));
    expect(model).toBeUndefined();
    expect(faults.filter((facts) => fault.test(facts))).toHaveLength(1);
  });

  test('all of them at once, no data of eSpeak NG among them', async () => {
    const { 'tokens.txt': _, ...files } = zipvoice;
    const folder = await makeFolder('two faults', files);
    await rm(join(folder, 'espeak-ng-data/phontab'));
    expect((await readModel(folder)).faults).toEqual([
      expect.stringMatching(/^two faults must have a name/),
      'tokens.txt is missing',
      'espeak-ng-data/phontab is missing',
    ]);
  });

  // Earlier versions of Sonant spoke with these models.
  test.each<[name: string, files: ModelContents, told: RegExp]>([
    [
      'a voice of Piper',
      { 'en_US-joe-medium.onnx': header([i, i, f]), 'en_US-joe-medium.onnx.json': '{}', 'tokens.txt': phonemes },
      /^old has a voice of Piper.*: move the folder out of \S+, and run sonant voice import FOLDER --name old$/,
    ],
    [
      'Kokoro in the layout of sherpa-onnx',
      { 'model.onnx': header([i, f, f], { model_type: 'kokoro' }), 'voices.bin': '1234', 'tokens.txt': phonemes },
      /^old is a model of the kind Kokoro, .* no longer reads: sonant voice get kokoro installs Kokoro/,
    ],
    ['another model', { 'yolo.onnx': header([f]) }, /^old is not a model of the kinds supertonic, pocket, zipvoice$/],
  ])('%s, with what to do instead', async (_, files, told) => {
    const { model, faults } = await readModel(await makeFolder('old', { ...espeak, ...files }));
    expect(model).toBeUndefined();
    expect(faults).toEqual([expect.stringMatching(told)]);
  });

  test('a Pocket model that lacks a part, or whose tokens have numbers too high', async () => {
    const folder = await makeTinyPocket(join(root, 'torn-hum'));
    await rm(join(folder, 'encoder.onnx'));
    await writeFile(join(folder, 'vocab.json'), '{"a":7}');
    expect((await readModel(folder)).faults).toEqual([
      'encoder.onnx is missing',
      'vocab.json must give each token a number of its own, from 0 up',
      'vocab.json lacks the token <0x00>',
    ]);
  });
});

test('a model of a gigabyte is recognized from a few of its pages', async () => {
  const folder = await makeTinyVoice(join(root, 'huge'));
  const path = join(folder, 'vocoder.int8.onnx');
  const whole = tinyVoiceFiles()['vocoder.int8.onnx']!;
  // The version and the name of the producer precede the graph. Between them is field 15, an ignored gigabyte of zeros.
  const weights = 2 ** 30;
  const field = Buffer.from([15 * 8 + 2, 0x80, 0x80, 0x80, 0x80, 0x04]);
  await writeFile(path, Buffer.concat([whole.subarray(0, 2), field]));
  await truncate(path, 2 + field.length + weights);
  await using file = await open(path, 'a');
  await file.appendFile(whole.subarray(2));
  const before = process.memoryUsage().arrayBuffers;
  const { model, faults } = await readModel(folder);
  expect(faults).toEqual([]);
  expect(model).toMatchObject({ kind: 'supertonic', sampleRateHz: 44_100 });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
});

test('a reference is packed, and nothing else is taken for one', () => {
  const samples = Int16Array.from([0, 1, -1, 32_767, -32_768]);
  const reference = { modelId: 'zipvoice', samples, sampleRateHz: 24_000, text: '三十六年前, thirty-six' };
  const packed = packReference(reference);
  expect(parseReference(packed)).toEqual(reference);
  for (const wrong of [new Uint8Array(), packed.subarray(0, -1), Buffer.concat([packed, packed]), packed.with(4, 9)]) {
    expect(() => parseReference(wrong)).toThrow(expect.objectContaining({ reason: 'engine_error' }));
  }
});

const folder = newFolder(afterAll);

/** The silence before and after a text, which does not depend on the speed. */
const silenceSeconds = 0.025 + 0.135;
/** A few words in each language, without digits. */
const words: Readonly<Record<string, string>> = {
  ...{ ar: 'صباح الخير', bg: 'Добро утро', cs: 'Dobré ráno', da: 'Godmorgen', de: 'Guten Morgen', el: 'Καλημέρα' },
  ...{ en: 'Good morning', es: 'Buenos días', et: 'Tere hommikust', fi: 'Hyvää huomenta', fr: 'Bonjour madame' },
  ...{ hi: 'सुप्रभात मित्र', hr: 'Dobro jutro', hu: 'Jó reggelt', id: 'Selamat pagi', it: 'Buongiorno signora' },
  ...{ ja: 'おはようございます', ko: '좋은 아침입니다', lt: 'Labas rytas', lv: 'Labrīt draugs', nl: 'Goedemorgen' },
  ...{ pl: 'Dzień dobry', pt: 'Bom dia', ro: 'Bună dimineața', ru: 'Доброе утро', sk: 'Dobré ráno' },
  ...{ sl: 'Dobro jutro', sv: 'God morgon', tr: 'Günaydın dostum', uk: 'Доброго ранку', vi: 'Chào buổi sáng' },
};

describe('models of many languages', { timeout: 120_000 }, () => {
  beforeEach((context) => context.skip(!findLibrary(''), 'the package sherpa-onnx-node was not found'));

  /** Opens the service's path from a request to the child process, and records the child's input. */
  async function open(dataDir: string) {
    const requests: { text: string; generationConfig: Readonly<Record<string, unknown>> }[] = [];
    const engine = await openSherpaEngine({
      ...{ dataDir, threads: 1, processesMax: 2, modelProcessesMax: 1, idleSeconds: 600, steps: 7 },
      onStart(link) {
        const { send } = link;
        link.send = (request) => {
          requests.push(request);
          send(request);
        };
      },
    });
    onTestFinished(() => engine.close());
    const { whole } = speechOf([engine]);
    const say = async (voice: string, languageCode: string, text: string, rate = 1) => {
      const fields = { voice_id: voice, language_code: languageCode, text, speaking_rate: rate };
      const { audio } = await whole({ ...fields, output_format: 'pcm' });
      const samples = new Int16Array(audio.buffer, audio.byteOffset, audio.length / 2);
      return { samples, seconds: samples.length / 24_000 - silenceSeconds, told: requests.at(-1)! };
    };
    return { engine, say };
  }

  test('Supertonic speaks each of its 31 as itself, with the speaker, the speed and the steps', async () => {
    const dataDir = await mkdtemp(join(folder, 'data-'));
    await makeTinySupertonic(join(dataDir, 'models/supertonic'));
    const { engine, say } = await open(dataDir);
    expect(engine.voices).toHaveLength(10);
    for (const { languageCodes } of engine.voices) expect(languageCodes).toEqual([...supertonicLanguages]);
    for (const [n, language] of supertonicLanguages.entries()) {
      const { voiceId } = engine.voices[n % 10]!;
      const { told, samples } = await say(voiceId, language, `${words[language]}.`);
      expect(told.generationConfig).toMatchObject({ sid: n % 10, speed: 1, numSteps: 7, extra: { lang: language } });
      const { hz, amplitude } = hummed(language, n % 10);
      expect(Math.abs(dominantFrequencyHz(samples.subarray(2_400, 12_000), 24_000) / hz - 1), language).toBeLessThan(
        0.02,
      );
      expect(amplitude).toBeGreaterThan(0);
    }
    const usual = await say('supertonic-F1', 'de-AT', `${words.de}.`);
    const quick = await say('supertonic-F1', 'de-AT', `${words.de}.`, 1.25);
    expect(quick.told.generationConfig).toMatchObject({ speed: 1.25, extra: { lang: 'de' } });
    expect(Math.abs(usual.seconds / quick.seconds / 1.25 - 1)).toBeLessThan(0.03);
    // Beyond the model's range, the audio is stretched.
    const double = await say('supertonic-F1', 'de', `${words.de}.`, 2);
    expect(double.told.generationConfig.speed).toBe(1.5);
    expect(Math.abs(usual.seconds / double.seconds / 2 - 1)).toBeLessThan(0.03);
  });

  test('a model with a card has the steps of the card', async () => {
    const dataDir = await mkdtemp(join(folder, 'data-'));
    const model = await makeTinySupertonic(join(dataDir, 'models/fine'), { speakers: 1 });
    await writeFile(join(model, 'sonant-model.json'), '{"options":{"steps":12}}');
    const { say } = await open(dataDir);
    const { told } = await say('fine', 'en', 'Good morning.');
    expect(told.generationConfig.numSteps).toBe(12);
  });
});

describe('a model is read with what it brings:', () => {
  test('Supertonic, with its speakers, its languages and what it can write', async () => {
    const folder = await makeTinySupertonic(join(root, 'supertonic-3'), { lacking: 'é\u0301€' });
    await writeFile(join(folder, 'sonant-model.json'), '{"options":{"steps":8}}');
    const { model, faults } = await readModel(folder);
    expect(faults).toEqual([]);
    expect(model).toMatchObject({ kind: 'supertonic', speakers: 10, sampleRateHz: 44_100, steps: 8 });
    expect(model!.languageCodes).toHaveLength(31);
    const speakers = speakersOf(model!, () => 0).map(({ voice }) => [voice.voiceId, voice.labels.gender]);
    expect(speakers.filter((_, n) => n % 5 === 0)).toEqual([
      ['supertonic-3-F1', 'female'],
      ['supertonic-3-M1', 'male'],
    ]);
    const seedOf = (asked: { seed?: number; isAgain?: boolean }) => {
      const { extra } = toLibraryRequest({ model: model!, text: 'A.', ...asked }).generationConfig;
      return (extra as { seed: number }).seed;
    };
    const seeds = [{}, { isAgain: true }, { seed: 7 }, { seed: 7, isAgain: true }, { seed: 2 ** 32 - 1 }].map(seedOf);
    expect(seeds).toEqual([1, 2, 7, 7, 2 ** 31 - 1]);
    // The model has the letter, but not its accent. Language marks in the text are removed.
    expect(toModelText('Café für <ko>5 €.', model!)).toBe('Cafe für  ko 5 EUR.');
  });

  test('a model for cloning whose own recordings are voices', async () => {
    const folder = await makeTinyPocket(join(root, 'hum-samples'));
    await mkdir(join(folder, 'test_wavs'));
    await writeFile(join(folder, 'test_wavs/bria.wav'), wavOfBytes(24_000, Buffer.alloc(48_000, 5)));
    await writeFile(join(folder, 'test_wavs/readme.txt'), '');
    await writeFile(join(folder, 'sonant-model.json'), '{"options":{"voice_cache":7,"temperature":0.5}}');
    const { model, faults } = await readModel(folder);
    expect(faults).toEqual([]);
    expect(model).toMatchObject({
      config: { pocket: { voiceEmbeddingCacheCapacity: 7 } },
      extra: { temperature: 0.5 },
      zeroShot: { samples: [{ name: 'bria', text: '' }] },
    });
    const [bria] = speakersOf(model!, () => 0);
    expect(bria!.voice).toMatchObject({ voiceId: 'hum-samples-bria', kind: 'stock', languageCodes: ['en'] });
  });

  test('ZipVoice with its options, and those of its recordings whose words are known', async () => {
    const options = { guidance_scale: 1.5, t_shift: 0.4, target_rms: 0.2, steps: 6 };
    const folder = await makeFolder('zipvoice', {
      ...espeak,
      'encoder.int8.onnx': header([i, i, i, f]),
      'decoder.int8.onnx': header([f, f, f, f, f], { sample_rate: '24000' }),
      'vocos_24khz.onnx': header([f], { model_type: 'vocos' }),
      ...{ 'tokens.txt': phonemes, 'lexicon.txt': 'a a\n', 'sonant-model.json': JSON.stringify({ options }) },
    });
    await mkdir(join(folder, 'test_wavs'));
    for (const name of ['leijun-1.wav', 'unknown.wav', 'news.wav'])
      await writeFile(join(folder, 'test_wavs', name), 'x');
    await writeFile(join(folder, 'test_wavs/prompt.txt'), 'leijun-1.wav 那还是三十六年前。\nnews | Good evening.\n');
    const { model, faults } = await readModel(folder);
    expect(faults).toEqual([]);
    expect(model).toMatchObject({
      steps: 6,
      config: { zipvoice: { guidanceScale: 1.5, tShift: 0.4, targetRms: 0.2 } },
      zeroShot: {
        samples: [
          { name: 'leijun-1', text: '那还是三十六年前。' },
          { name: 'news', text: 'Good evening.' },
        ],
      },
    });
  });

  test('a Supertonic model whose parts are cut short or not what they must be', async () => {
    const folder = await makeTinySupertonic(join(root, 'torn-supertonic'));
    await rm(join(folder, 'vocoder.int8.onnx'));
    await truncate(join(folder, 'voice.bin'), 100);
    await truncate(join(folder, 'unicode_indexer.bin'), 7);
    await writeFile(join(folder, 'tts.json'), '{"ae":{"sample_rate":44100},"ttl":{"latent_dim":2}}');
    expect((await readModel(folder)).faults).toEqual([
      'vocoder.onnx is missing',
      'tts.json must have a whole number from 1 to 1000000 as ae.base_chunk_size',
      'tts.json must have a whole number from 1 to 10000 as ttl.chunk_compress_factor',
      'voice.bin has 100 bytes, but its header states 128; it is damaged or incomplete; copy it again',
      'unicode_indexer.bin has 7 bytes; it must have four for each of at most 65536 characters',
    ]);
  });
});

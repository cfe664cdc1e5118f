// Tests the checks on a model folder before it is loaded: recognized kinds, and every fault with its file. The models
// are headers without weights, except for tiny ones.
import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readModel } from '../../src/engines/sherpa-onnx/model-folder.ts';
import { toModelText } from '../../src/engines/sherpa-onnx/model-text.ts';
import { speakersOf } from '../../src/engines/sherpa-onnx/model-voices.ts';
import { packReference, parseReference } from '../../src/engines/sherpa-onnx/reference.ts';
import { espeak, header, type ModelContents, makeModelFolder, phonemes } from './model-folders.ts';
import { float, int64 } from './onnx-writer.ts';
import { makeTinyPocket } from './tiny-pocket.ts';
import { makeTinyVits, tinyTokens, writeTinyVits } from './tiny-vits.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'sonant-models-'));
});
afterAll(() => rm(root, { recursive: true }));

const makeFolder = (name: string, files: ModelContents) => makeModelFolder(root, name, files);

const i = int64;
const f = float;

describe('a folder is recognized as', () => {
  test('a Piper voice, with the language and the speakers that its makers name', async () => {
    const metadata = { sample_rate: '22050', n_speakers: '2', language: 'English', comment: 'piper', voice: 'en-us' };
    const config = { language: { code: 'en_GB' }, speaker_id_map: { 'Cori Smith': 0, jo: 1 } };
    const folder = await makeFolder('vits-piper-en_GB-cori', {
      ...espeak,
      'en_GB-cori.onnx': header([i, i, f, i], metadata, ['input', 'input_lengths', 'scales', 'sid']),
      'en_GB-cori.onnx.json': JSON.stringify(config),
      'tokens.txt': phonemes,
    });
    const { model, faults } = await readModel(folder);
    expect(faults).toEqual([]);
    expect(model).toMatchObject({
      kind: 'vits',
      sampleRateHz: 22_050,
      languageCodes: ['en-GB', 'en'],
      config: {
        vits: {
          model: join(folder, 'en_GB-cori.onnx'),
          tokens: join(folder, 'tokens.txt'),
          dataDir: join(folder, 'espeak-ng-data'),
        },
      },
    });
    const ids = speakersOf(model!, () => 0).map(({ voice }) => voice.voiceId);
    expect(ids).toEqual(['vits-piper-en_GB-cori-Cori-Smith', 'vits-piper-en_GB-cori-jo']);
  });

  test('Kokoro, whose speakers\u2019 names tell their languages', async () => {
    const facts = { sample_rate: '24000', n_speakers: '4', has_espeak: '1', style_dim: '2,1,3', version: '2' };
    const names = { speaker_names: 'af_bella,bm_george,zf_xiaobei,pf_dora', voice: 'en-us' };
    const folder = await makeFolder('kokoro', {
      ...espeak,
      'model.onnx': header([i, f, f], { model_type: 'kokoro', ...facts, ...names }),
      'voices.bin': new Uint8Array(4 * 2 * 3 * 4),
      'tokens.txt': phonemes,
      'lexicon-us-en.txt': 'a a\n',
      'lexicon-gb-en.txt': 'a a\n',
      'lexicon-zh.txt': 'a a\n',
    });
    const { model, faults } = await readModel(folder);
    expect(faults).toEqual([]);
    expect(model).toMatchObject({
      kind: 'kokoro',
      config: { kokoro: { lexicon: `${join(folder, 'lexicon-us-en.txt')},${join(folder, 'lexicon-zh.txt')}` } },
    });
    const speakers = speakersOf(model!, (sid) => sid);
    expect(
      speakers.map(({ voice, extra }) => [voice.voiceId, voice.languageCodes, voice.labels.gender, extra]),
    ).toEqual([
      ['kokoro-af_bella', ['en-US', 'en'], 'female', { lang: 'en-us' }],
      ['kokoro-bm_george', ['en-GB', 'en'], 'male', { lang: 'en' }],
      ['kokoro-zf_xiaobei', ['zh'], 'female', { lang: 'en-us' }],
      ['kokoro-pf_dora', ['pt-BR', 'pt'], 'female', { lang: 'pt-br' }],
    ]);
    expect(speakers[3]!.voice.gainDb).toBe(3);
  });

  test('Kitten', async () => {
    const facts = {
      model_type: 'kitten-tts',
      sample_rate: '24000',
      n_speakers: '2',
      has_espeak: '1',
      style_dim: '1,8',
    };
    const folder = await makeFolder('kitten', {
      ...espeak,
      'model.fp16.onnx': header([i, f, f], { ...facts, speaker_names: 'expr-voice-2-m,expr-voice-2-f' }),
      'voices.bin': new Uint8Array(4 * 8 * 2),
      'tokens.txt': phonemes,
    });
    const { model, faults } = await readModel(folder);
    expect(faults).toEqual([]);
    expect(model).toMatchObject({ kind: 'kitten', config: { kitten: { model: join(folder, 'model.fp16.onnx') } } });
  });

  test('Matcha, with the vocoder beside it', async () => {
    const facts = { sample_rate: '22050', n_speakers: '1', use_eos_bos: '1', pad_id: '0', has_espeak: '1' };
    const folder = await makeFolder('matcha-icefall-en_US-ljspeech', {
      ...espeak,
      'model-steps-3.onnx': header([i, i, f, f], { model_type: 'matcha-tts', voice: 'en-us', ...facts }),
      'vocos-22khz-univ.onnx': header([f], { model_type: 'vocos' }),
      'tokens.txt': phonemes,
    });
    const { model, faults } = await readModel(folder);
    expect(faults).toEqual([]);
    expect(model).toMatchObject({
      kind: 'matcha',
      languageCodes: ['en-US', 'en'],
      config: {
        matcha: { acousticModel: join(folder, 'model-steps-3.onnx'), vocoder: join(folder, 'vocos-22khz-univ.onnx') },
      },
    });
  });

  test('ZipVoice, which clones', async () => {
    const folder = await makeFolder('zipvoice', {
      ...espeak,
      'encoder.int8.onnx': header([i, i, i, f]),
      'decoder.int8.onnx': header([f, f, f, f, f], { sample_rate: '24000' }),
      'vocos_24khz.onnx': header([f], { model_type: 'vocos' }),
      'tokens.txt': phonemes,
      'lexicon.txt': 'a a\n',
    });
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

  test('VITS with a lexicon, whose words are all that it can say', async () => {
    const metadata = { sample_rate: '22050', n_speakers: '0', language: 'English', comment: 'ljspeech' };
    const folder = await makeFolder('vits-ljs', {
      'vits-ljs.onnx': header([i, i, f, f, f], metadata),
      'tokens.txt': '  0\na 1\nhh 2\n',
      'lexicon.txt': 'hello hh a\nworld a\na a\nb a\n',
    });
    const { model, faults } = await readModel(folder);
    expect(faults).toEqual([]);
    expect(await toModelText('Hello, World. Bab!', model!)).toBe('hello, world. b a b!');
    await expect(toModelText('hello zebra', model!)).rejects.toMatchObject({ reason: 'engine_error' });
  });
});

describe('a fault names its file:', () => {
  const vits = (metadata: Readonly<Record<string, string>>): ModelContents => ({
    'model.onnx': writeTinyVits({ metadata }),
  });

  const piper: ModelContents = { ...espeak, 'model.onnx': writeTinyVits({ isPiper: true }) };

  test.each<[name: string, files: ModelContents, fault: RegExp]>([
    ['a model cut short', { 'model.onnx': writeTinyVits().subarray(0, 1_000) }, /^model.onnx is damaged or incomplete/],
    ['a model that is text', { 'model.onnx': '<!DOCTYPE html><p>Not found' }, /^model.onnx is not an ONNX file/],
    ['an empty model', { 'model.onnx': '' }, /^model.onnx is not an ONNX file/],
    [
      'a pointer of Git LFS',
      { 'model.onnx': 'version https://git-lfs.github.com/spec/v1\noid' },
      /is not an ONNX file/,
    ],
    ['no sample rate', vits({ sample_rate: '' }), /^model.onnx has no sample_rate in its metadata/],
    ['a sample rate that is none', vits({ sample_rate: 'abc' }), /has "abc" as sample_rate .* from 8000 to 48000/],
    ['no number of speakers', vits({ n_speakers: '' }), /has no n_speakers/],
    ['no comment', vits({ comment: '' }), /has no comment/],
    ['a negative number', vits({ add_blank: '-1' }), /has "-1" as add_blank/],
    ['speakers without an input to choose by', vits({ n_speakers: '3' }), /has 3 speakers .* no input/],
    [
      'a comment that is another model\u2019s',
      vits({ comment: 'piper' }),
      /has other inputs than a model of this kind/,
    ],
    ['no way to read text', vits({ frontend: '' }), /lexicon.txt and espeak-ng-data are both missing/],
    ['a language that is none', vits({ language: 'Klingonish' }), /does not state its language/],
    ['a line of tokens in another form', { 'tokens.txt': 'a b c\n' }, /^tokens.txt must have .* line 1 does not/],
    ['an empty line of tokens', { 'tokens.txt': 'a 1\n\nb 2\n' }, /line 2 does not/],
    ['a token without a number', { 'tokens.txt': `${tinyTokens}ö x\n` }, /line 44 does not/],
    ['a token of two characters', { 'tokens.txt': 'ab 1\n' }, /tokens of one character; line 1/],
    ['a token twice', { 'tokens.txt': 'a 1\na 2\n' }, /has a duplicate token in line 2/],
    ['a Piper token of two characters', { ...piper, 'tokens.txt': `${phonemes}ab 6\n` }, /of one character; line 7/],
    ['a Piper token twice', { ...piper, 'tokens.txt': `${phonemes}a 6\n` }, /has a duplicate token in line 7/],
    ['Piper tokens without a mark', { ...piper, 'tokens.txt': '_ 0\n^ 1\na 2\n' }, /^tokens.txt lacks the token "\$"/],
    ['no tokens', { 'tokens.txt': '' }, /^tokens.txt is empty/],
    ['a card that is no JSON', { 'sonant-model.json': '{' }, /^sonant-model.json is not JSON/],
    ['a card with an odd member', { 'sonant-model.json': '{"lang":"en"}' }, /has the unknown member lang; remove it/],
    ['a card with no such kind', { 'sonant-model.json': '{"kind":"tacotron"}' }, /kind that must be one of vits, /],
    ['a card with no such model', { 'sonant-model.json': '{"model":"b.onnx"}' }, /^b.onnx is missing/],
    [
      'styles for other speakers',
      { 'voices.bin': '1234', 'model.onnx': kokoro() },
      /^voices.bin has 4 bytes, but .* 24/,
    ],
    [
      'an option that the kind does not',
      { 'sonant-model.json': '{"options":{"steps":4}}' },
      /^sonant-model.json has the unknown option steps; a model of the kind vits has the options noise_scale, noise_scale_w/,
    ],
    [
      'an option beyond its range',
      { 'sonant-model.json': '{"options":{"noise_scale":7}}' },
      /has 7 as noise_scale; it must be a number from 0 to 2/,
    ],
    [
      'options that are no numbers',
      { 'sonant-model.json': '{"options":{"steps":"many"}}' },
      /steps, which must be a number/,
    ],
    ['no data of eSpeak NG', { 'voices.bin': '1234', 'model.onnx': kokoro() }, /^espeak-ng-data\/phontab is missing/],
  ])('%s', async (_, files, fault) => {
    const folder = await makeFolder('tiny', { 'model.onnx': writeTinyVits(), 'tokens.txt': tinyTokens, ...files });
    const { model, faults } = await readModel(folder);
    expect(model).toBeUndefined();
    expect(faults.filter((facts) => fault.test(facts))).toHaveLength(1);
  });

  function kokoro() {
    const facts = { sample_rate: '24000', n_speakers: '1', has_espeak: '1', style_dim: '2,1,3' };
    return header([i, f, f], { model_type: 'kokoro', ...facts });
  }

  test('all of them at once', async () => {
    const folder = await makeFolder('two faults', { 'model.onnx': writeTinyVits({ metadata: { sample_rate: '' } }) });
    const { faults } = await readModel(folder);
    expect(faults).toMatchObject([
      expect.stringMatching(/^two faults must have a name/),
      expect.stringMatching(/sample_rate/),
      'tokens.txt is missing',
    ]);
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
  const folder = await makeTinyVits(join(root, 'huge'));
  const path = join(folder, 'model.onnx');
  const whole = writeTinyVits();
  // Field 15 of a model, an ignored gigabyte of zeros; later fields are still read.
  const weights = 2 ** 30;
  const field = Buffer.from([15 * 8 + 2, 0x80, 0x80, 0x80, 0x80, 0x04]);
  const metadataAt = Buffer.from(whole).indexOf('model_type') - 4;
  await writeFile(path, Buffer.concat([whole.subarray(0, metadataAt), field]));
  await truncate(path, metadataAt + field.length + weights);
  await using file = await open(path, 'a');
  await file.appendFile(whole.subarray(metadataAt));
  const before = process.memoryUsage().arrayBuffers;
  const { model, faults } = await readModel(folder);
  expect(faults).toEqual([]);
  expect(model).toMatchObject({ kind: 'vits', sampleRateHz: 16_000 });
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

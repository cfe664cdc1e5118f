// Tests the checks on a model folder before it is loaded: recognized kinds, and every fault with its file. The models
// are headers without weights, except for tiny ones.
import { open, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readModel } from '../../src/engines/sherpa-onnx/model-folder.ts';
import { packReference, parseReference } from '../../src/engines/sherpa-onnx/reference.ts';
import { newFolder } from '../new-folder.ts';
import { espeak, header, type ModelContents, makeModelFolder, phonemes } from './model-folders.ts';
import { float, int64 } from './onnx-writer.ts';
import { makeTinyPocket } from './tiny-pocket.ts';
import { makeTinyVoice, tinyVoiceFiles } from './tiny-supertonic.ts';

const root = newFolder(afterAll);

const makeFolder = (name: string, files: ModelContents) => makeModelFolder(root, name, files);

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

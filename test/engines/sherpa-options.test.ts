// Tests the languages, recordings and options of models, and the operator's settings for them.
import { mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readModel } from '../../src/engines/sherpa-onnx/model-folder.ts';
import { toLibraryRequest } from '../../src/engines/sherpa-onnx/model-request.ts';
import { toModelText } from '../../src/engines/sherpa-onnx/model-text.ts';
import { speakersOf } from '../../src/engines/sherpa-onnx/model-voices.ts';
import { newFolder } from '../new-folder.ts';
import { wavHeader } from './google-server.ts';
import { espeak, header, type ModelContents, makeModelFolder, phonemes } from './model-folders.ts';
import { float, int64 } from './onnx-writer.ts';
import { makeTinyPocket } from './tiny-pocket.ts';
import { makeTinySupertonic } from './tiny-supertonic.ts';

const root = newFolder(afterAll);

const makeFolder = (name: string, files: ModelContents) => makeModelFolder(root, name, files);
const i = int64;
const f = float;

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
    const sound = Buffer.alloc(48_000, 5);
    await writeFile(join(folder, 'test_wavs/bria.wav'), Buffer.concat([wavHeader(24_000, sound), sound]));
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

// Tests blends on the command line, with the real library: they are created from speakers by the suffixes of their ids,
// used for speech, exported, deleted and imported. An error for an invalid blend names the faulty argument.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findLibrary } from '../../../src/engines/sherpa-onnx/sherpa-library.ts';
import { dominantFrequencyHz } from '../../audio/measure-tone.ts';
import { hummed, makeTinySupertonic } from '../../engines/tiny-supertonic.ts';
import { newFolder } from '../../new-folder.ts';
import { runSonant } from './sonant-program.ts';

const folder = newFolder(afterAll);
beforeAll(async () => {
  const model = await makeTinySupertonic(join(folder, 'data/models/hum'), { speakers: 4 });
  const speakers = [{ name: 'Ada' }, { name: 'Bea' }, { name: 'Cleo', language_codes: ['de'] }, { name: 'Dot' }];
  await writeFile(join(model, 'sonant-model.json'), JSON.stringify({ language_codes: ['en'], speakers }));
  await makeTinySupertonic(join(folder, 'data/models/other'), { speakers: 2 });
  await writeFile(join(folder, 'data/models/other/sonant-model.json'), '{"speakers":[{"name":"Ada"},{"name":"Eve"}]}');
});

const sonant = (...args: string[]) => runSonant(folder, args, '', { SONANT_DATA_DIR: 'data' });

describe('sonant voice blend', { timeout: 240_000 }, () => {
  beforeEach((context) => context.skip(!findLibrary(''), 'the package sherpa-onnx-node was not found'));

  test('makes a voice of speakers, which is spoken with, exported, deleted and imported', async () => {
    const made = await sonant('voice', 'blend', 'warm', 'hum-Ada:3', 'Dot:1');
    expect(made).toMatchObject({ code: 0, err: '', out: 'warm is a blend of hum-Ada 0.75, hum-Dot 0.25.\n' });
    const say = () => sonant('say', 'Good morning.', '--voice', 'warm', '--format', 'wav', '-o', 'warm.wav');
    expect(await say()).toMatchObject({ code: 0 });
    const wav = await readFile(join(folder, 'warm.wav'));
    const rate = wav.readUInt32LE(24);
    const samples = new Int16Array(wav.buffer.slice(wav.byteOffset + 44 + rate / 5, wav.byteOffset + 44 + rate));
    // The fourth speaker hums two and a half times as high as the first.
    expect(Math.abs(dominantFrequencyHz(samples, rate) / hummed('en', 0).hz / 1.375 - 1)).toBeLessThan(0.02);

    expect(await sonant('voice', 'export', 'warm', '-o', 'warm.json')).toMatchObject({ code: 0 });
    expect(await sonant('voice', 'delete', 'warm')).toMatchObject({ code: 0 });
    expect(await sonant('voice', 'import', 'warm.json')).toMatchObject({ code: 0 });
    const voices = JSON.parse((await sonant('voice', 'list', '--json')).out) as { voice_id: string }[];
    expect(voices.find(({ voice_id }) => voice_id === 'warm')).toMatchObject({
      ...{ name: 'warm', owner: null, access: 'everyone', language_codes: ['en'], engine: 'sherpa-onnx' },
      blend: [
        { voice_id: 'hum-Ada', weight: 0.75 },
        { voice_id: 'hum-Dot', weight: 0.25 },
      ],
    });
    const named = await sonant('voice', 'blend', 'A warm one', 'Bea:1', 'Dot:.5', '--voice-id', 'warmer', '--json');
    expect(JSON.parse(named.out)).toMatchObject({ voice_id: 'warmer', name: 'A warm one' });
  });

  test.each<[parts: string[], said: RegExp]>([
    [['hum-Ada:1', 'Cleo:1'], /PART: must be voices that share a language; they speak: hum-Ada en; hum-Cleo de/],
    [['hum-Ada:1', 'Eve:1'], /Eve:1: must belong to the same model as hum-Ada/],
    [['Ada:1', 'Dot:1'], /Ada is ambiguous: it can be hum-Ada or other-Ada/],
    [['hum-Ada:1', 'nobody:1'], /nobody: no such voice can be blended/],
    [['hum-Ada:1', 'clara:1'], /clara:1: must be a voice of a model with styles/],
    [['hum-Ada:-1', 'Dot:1'], /hum-Ada:-1: must be a voice and its weight, such as af_heart:0.6/],
    [['hum-Ada:0', 'Dot:0'], /PART: must have weights that add up to more than 0/],
    [['hum-Ada:1'], /PART: must be 2 to 8 items/],
    [[], /usage: sonant voice blend NAME PART:WEIGHT/],
  ])('refuses %j', async (parts, said) => {
    expect(await sonant('voice', 'blend', 'x', ...parts)).toMatchObject({ code: 2, err: expect.stringMatching(said) });
  });
});

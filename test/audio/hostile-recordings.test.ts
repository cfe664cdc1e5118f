// Tests hundreds of damaged files (truncated, flipped, overwritten), the same in each run: each is read within
// limits or refused with a message. The checksums in Ogg files are corrected, so that the damage reaches the decoder.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeRecording } from '../../src/audio/recording/recording.ts';
import { createDice } from '../fuzz/mutate.ts';
import { tone } from './measure-tone.ts';
import { flacFile, mp3File, oggFlacFile, vorbisFile, wavFile, withChecksums } from './recording-files.ts';

const rate = 24_000;
const secondsMax = 5;
const roundsEach = 50;

const sound = tone({ frequencyHz: 330, sampleRateHz: rate, seconds: 0.4 });
const files: readonly (readonly [string, () => Buffer | Promise<Buffer>])[] = [
  ['WAV', () => wavFile([sound, sound], { sampleRateHz: rate, bits: 24, isExtensible: true })],
  ['FLAC', () => flacFile([sound, sound], rate)],
  ['MP3', () => mp3File(sound, rate)],
  ['Ogg Vorbis', () => vorbisFile([sound], rate)],
  ['Ogg Opus', () => readFile(new URL('three-tones.opus', import.meta.url))],
  ['Ogg FLAC', () => oggFlacFile([sound], rate)],
];

// Hides the warnings that decoders print.
const { error } = console;
beforeAll(() => {
  console.error = () => {};
});
afterAll(() => {
  console.error = error;
});

test.each(files)('a spoiled %s file is read or refused', async (_, make) => {
  const { below: dice } = createDice(7);
  const whole = await make();
  const outcomes = new Set<string>();
  for (let round = 0; round < roundsEach; round++) {
    const file = Buffer.from(whole);
    const reach = round % 2 === 0 ? Math.min(300, file.length) : file.length;
    for (let n = dice(round % 3 === 0 ? 100 : 4); n > 0; n--) file[dice(reach)] = dice(256);
    const spoiled = round % 5 === 0 ? file : withChecksums(file);
    const sent = round % 4 === 0 ? spoiled.subarray(0, dice(spoiled.length)) : spoiled;
    const heard = await decodeRecording(sent, { secondsMax }).catch((fault) => fault);
    outcomes.add(heard.name ?? 'read');
    if (heard.name) expect(heard.name, heard.stack).toBe('RecordingFault');
    else expect(heard.samples.length).toBeLessThanOrEqual(secondsMax * heard.sampleRateHz);
  }
  expect(outcomes).toEqual(new Set(['read', 'RecordingFault']));
});

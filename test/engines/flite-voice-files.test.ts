// Tests that a flitevox file in the data folder becomes a voice, and that an invalid file is reported.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { flite, openFlite } from '../../src/engines/flite/flite.ts';
import { dumpVoice } from './dumped-voice.ts';

let dataDir: string;
let voiceFile: Buffer;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sonant-'));
  await mkdir(join(dataDir, 'voices'));
  voiceFile = await dumpVoice();
});
afterAll(() => rm(dataDir, { recursive: true }));

/** Opens flite with these voice files, and closes it. */
async function withVoices<T>(files: Record<string, Uint8Array>, use: (engine: Engine) => Promise<T>): Promise<T> {
  await rm(join(dataDir, 'voices'), { recursive: true });
  await mkdir(join(dataDir, 'voices'));
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(dataDir, 'voices', name), bytes);
  const engine = await openFlite({ threads: 1, dataDir });
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
}

async function say(engine: Engine, voiceId: string): Promise<Buffer> {
  const voice = engine.voices.find((each) => each.voiceId === voiceId)!;
  const segment = { voice, text: 'Good day.', languageCode: 'en', speakingRate: 1, timings: true, urgent: false };
  const pieces = await Array.fromAsync(engine.speak(segment, new AbortController().signal));
  return Buffer.concat(pieces.map(({ samples }) => Buffer.from(samples.buffer)));
}

const inspect = () => flite.inspect({}, dataDir);

test('a voice file becomes a voice that sounds like itself and is as loud as the others', async () => {
  await withVoices({ 'my_voice-2.flitevox': voiceFile, 'notes.txt': Buffer.from('not a voice') }, async (engine) => {
    const voice = engine.voices.at(-1)!;
    const clara = engine.voices.find(({ voiceId }) => voiceId === 'clara')!;
    expect(voice).toMatchObject({
      voiceId: 'my_voice-2',
      name: 'My voice 2',
      languageCodes: ['en-US', 'en'],
      labels: { base: 'cmu_us_slt', country: 'usa' },
    });
    expect(engine.voices).toHaveLength(8);
    expect(Math.abs(voice.gainDb - clara.gainDb)).toBeLessThan(1);
    expect(await say(engine, 'my_voice-2')).toEqual(await say(engine, 'clara'));
  });
  expect(await inspect()).toEqual({ state: 'ready', message: '7 voices and 1 of your own, English' });
});

test.each([
  ['an empty file', 'a.flitevox', () => Buffer.alloc(0), 'is not a flitevox file'],
  ['another kind of file', 'a.flitevox', () => Buffer.from('RIFF'.repeat(1000)), 'is not a flitevox file'],
  ['a file cut within its header', 'a.flitevox', () => voiceFile.subarray(0, 200), 'is damaged: its header'],
  ['a file that lacks its last byte', 'a.flitevox', () => voiceFile.subarray(0, -1), 'is damaged: .* ends too soon'],
  [
    'a file cut in half',
    'a.flitevox',
    () => voiceFile.subarray(0, voiceFile.length / 2),
    'is damaged: .* ends too soon',
  ],
  ['a file with a hole', 'a.flitevox', () => Buffer.from(voiceFile).fill(0, 100_000, 200_000), 'is damaged'],
  ['another language', 'a.flitevox', () => Buffer.from(voiceFile).fill('hin', 0x2f, 0x32), 'speaks "hin"'],
  ['a name that callers cannot use', 'My voice.flitevox', () => voiceFile, 'must have a name'],
  ['a name that is taken', 'clara.flitevox', () => voiceFile, 'has the name of an existing voice'],
])('%s is named and refused, and doctor sees it', async (_, name, bytesOf, fault) => {
  const opened = withVoices({ [name]: bytesOf() }, async () => {});
  const words = new RegExp(`voices/${name} ${fault}`);
  await expect(opened).rejects.toThrow(words);
  expect(await inspect()).toMatchObject({ state: 'broken', message: expect.stringMatching(words) });
});

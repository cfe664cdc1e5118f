// Tests the engine of natural voices with Kokoro's real weights and three of its voices: what they say of themselves, the
// silence around the sound, windows, word times, speeds, blends and cancellation.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { measureLoudness } from '../../src/audio/loudness.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { importVoice } from '../../src/engines/onnx/import-voice.ts';
import { openOnnx } from '../../src/engines/onnx/onnx.ts';
import { blendingConformance } from '../conformance/blending.ts';
import { expectSilences, openSpeaking, timeConformance } from '../conformance/natural-voice.ts';
import { fetchKokoro, fetchVoice } from './fetched-voice.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'sonant-kokoro-'));
const brought = mkdtempSync(join(tmpdir(), 'sonant-brought-'));
const signal = new AbortController().signal;
const msMax = 600_000;
const hasEspeak = spawnSync('espeak-ng', ['--version']).status === 0;
let engine: Engine | undefined;
let why: string | undefined;
/** The package may have further voices. */
const voicesOf = (each: Engine) =>
  each.voices.filter(({ labels, languageCodes }) => labels.model === 'kokoro' && languageCodes.includes('en'));

/** A folder with the packages of the model, three voices, and the packages of the pronunciations. */
function gather(kokoro: string, hibari: string): void {
  for (const folder of [kokoro, hibari])
    for (const name of readdirSync(folder))
      if (/\.(whl|tgz)$/.test(name) && !name.startsWith('kokoro-js'))
        symlinkSync(join(folder, name), join(brought, name));
  for (const name of ['ef_dora.bin', 'bf_emma.bin', 'af_heart.bin'])
    cpSync(join(kokoro, 'unpacked/package/voices', name), join(brought, name));
}

beforeAll(async () => {
  const [kokoro, hibari] = [await fetchKokoro(), await fetchVoice()];
  why = kokoro.why ?? hibari.why;
  if (!kokoro.folder || !hibari.folder) return;
  gather(kokoro.folder, hibari.folder);
  const ids = await importVoice({ path: brought, dataDir, signal, print: () => {} });
  expect(ids).toEqual(['kokoro-af_heart', 'kokoro-bf_emma', 'kokoro-ef_dora']);
  engine = await openOnnx({ dataDir, workers: 1 });
}, msMax);
afterAll(async () => {
  await engine?.close();
  for (const folder of [dataDir, brought]) rmSync(folder, { recursive: true, force: true });
});

describe('the voices of Kokoro', { timeout: msMax }, () => {
  beforeEach((context) => context.skip(engine === undefined, why));

  const natural = () => ({ engine: engine!, voice: voicesOf(engine!)[0]!, sampleRateHz: 24_000 });
  const { say } = openSpeaking(natural);
  const sentence = 'The boat left the harbour early, long before noon.';

  test('are described as they are', () => {
    expect(voicesOf(engine!)).toMatchObject([
      { voiceId: 'kokoro-af_heart', name: 'Heart', languageCodes: ['en-US', 'en'], labels: { gender: 'female' } },
      { voiceId: 'kokoro-bf_emma', name: 'Emma', languageCodes: ['en-GB', 'en'], labels: { gender: 'female' } },
    ]);
  });

  test('speak Spanish with the phonemes of eSpeak NG', async (context) => {
    const voice = engine!.voices.find(({ voiceId }) => voiceId === 'kokoro-ef_dora')!;
    expect(voice).toMatchObject({ name: 'Dora', languageCodes: ['es'], labels: { gender: 'female' } });
    expect(engine!.toPhonemes!('ˈotʃo', voice, 'es')).toBe('ˈotʃo');
    context.skip(!hasEspeak, 'espeak-ng is not installed');
    const said = await say('Hay mucho trabajo hoy, señor.', { voice, languageCode: 'es' });
    expect(said.words).toHaveLength(5);
    expect(Math.abs(measureLoudness(said) + voice.gainDb + 21)).toBeLessThan(4);
  });

  test('have a short lead, a fixed tail, and the loudness of every voice, in several windows', async () => {
    for (const voice of voicesOf(engine!)) {
      const said = await say(sentence, { voice });
      expect(said.pieces.length).toBeGreaterThan(2);
      expectSilences(said, voice);
      // One sentence of a voice is up to 2 dB louder or quieter than another.
      expect(Math.abs(measureLoudness(said) + voice.gainDb + 21)).toBeLessThan(2.5);
    }
  });

  test.each(['Yes.', 'The.', 'No!', 'Hum', 'I?', 'Good morning.'])('are as loud in a short text: %s', async (text) => {
    for (const voice of voicesOf(engine!)) {
      const [short, long] = [await say(text, { voice }), await say(sentence, { voice })];
      const loudest = ({ samples }: { samples: Int16Array }) =>
        samples.reduce((most, s) => Math.max(most, Math.abs(s)), 0);
      expect(loudest(short) / loudest(long)).toBeGreaterThan(0.4);
      expect(loudest(short) / loudest(long)).toBeLessThan(2);
    }
  });

  timeConformance(natural, sentence, [1.4]);

  blendingConformance(() => ({
    engine: engine!,
    voice: voicesOf(engine!)[0]!,
    say: (voice) => say('Good morning.', { voice }),
  }));
});

// Tests the common properties of every voice: delay of the first sound, silence at the end, no offset, and equal
// loudness and bounded peaks in every format. ffmpeg measures loudness and true peaks. A table with one row per voice
// is written to the file that SONANT_LEVEL_TABLE names.
import { execFile } from 'node:child_process';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { openEspeakNg } from '../../src/engines/espeak-ng/espeak-ng.ts';
import { openFlite, stockSpeakers } from '../../src/engines/flite/flite.ts';
import { atOnce } from '../../src/platform/runtime/steps.ts';
import { LiveText } from '../../src/speech/live-text.ts';
import { isInstalled } from '../programs.ts';
import { sentences } from '../sentences.ts';
import { joined, samplesOf, speechOf } from './open-speech.ts';
import { parseSpeechRequest } from './parse-request.ts';
import { findGaps } from './silences.ts';

const sampleRateHz = 24_000;
const pcm = { output_format: 'pcm', sample_rate: sampleRateHz };
const caller = { callerId: 'test', accountId: 'test' };
const never = new AbortController().signal;
const run = promisify(execFile);
const hasEspeak = isInstalled('espeak-ng');
const voiceIds = [
  ...stockSpeakers.map(({ voice }) => voice.voiceId),
  ...(hasEspeak ? ['espeak-en-gb', 'espeak-en-us'] : []),
];

/** Each text begins with a soft consonant, and ends with a consonant that fades. */
const texts = [
  'Fish and chips.',
  'Three thin thieves left.',
  'She sells shells.',
  'He has a hat.',
  'Half is on the roof.',
];

let engines: Engine[];
let opened: ReturnType<typeof speechOf>;
beforeAll(async () => {
  const espeak = hasEspeak ? await openEspeakNg() : undefined;
  engines = [await openFlite({ threads: 2 }), ...(espeak ? [espeak] : [])];
  opened = speechOf(engines);
});
afterAll(() => Promise.all(engines.map((engine) => engine.close())));

const say = (fields: object) => opened.whole({ ...pcm, ...fields });

/** A turn whose parts end at the given places. */
async function sayLive(voice_id: string, parts: readonly string[]): Promise<Buffer> {
  const start = parseSpeechRequest({ ...pcm, voice_id, text: 'a', markup: 'pauses' });
  const planned = await opened.speech.plan({ ...start, texts: [], timestamps: true }, caller);
  const text = new LiveText('en', 'pauses');
  const place = { take: async () => {}, rest: () => {} };
  for (const part of parts) {
    atOnce(text.append(part));
    text.pause();
  }
  text.end();
  return joined(await Array.fromAsync(opened.speech.speakTurn(planned, text, { caller, signal: never, place })));
}

/** Seconds of silence before the first sound, and after the last. */
function edgesOf(audio: Uint8Array): { lead: number; tail: number } {
  const samples = samplesOf(audio);
  const seconds = samples.length / sampleRateHz;
  const gaps = findGaps(samples, sampleRateHz, 0);
  return { lead: gaps[0]!.endSeconds, tail: seconds - gaps.at(-1)!.startSeconds };
}

describe.each(voiceIds)('%s', (voice_id) => {
  test('is heard within 40 ms, and ends 120 to 150 ms after the last sound', async () => {
    for (const text of [...texts, texts.join(' '), 'Five']) {
      const { lead, tail } = edgesOf((await say({ voice_id, text })).audio);
      expect(lead, text).toBeLessThanOrEqual(0.04);
      expect(tail, text).toBeGreaterThanOrEqual(0.12);
      expect(tail, text).toBeLessThanOrEqual(0.15);
    }
  });

  test('pauses between sentences', async () => {
    const { audio } = await say({ voice_id, method: 'streaming', text_chunks: texts });
    const pauses = findGaps(samplesOf(audio), sampleRateHz, 0.15).length;
    expect(pauses).toBeGreaterThanOrEqual(texts.length - 1);
  });

  test('has the same bytes in a live turn, of which nobody knows where it ends', async () => {
    const [one, two] = ['Five of them left.', '[pause:300ms]She has the rest.'];
    const whole = await say({ voice_id, text: one });
    expect((await sayLive(voice_id, [one])).equals(whole.audio)).toBe(true);
    const both = await say({ voice_id, text: `${one}${two}`, markup: 'pauses' });
    expect((await sayLive(voice_id, [one, two])).equals(both.audio)).toBe(true);
  });

  test('pauses before and after everything are exact', async () => {
    const text = '[pause:500ms]Half of the fish left.[pause:60ms]';
    const { lead, tail } = edgesOf((await say({ voice_id, text, markup: 'pauses' })).audio);
    expect(lead).toBeCloseTo(0.5, 2);
    expect(tail).toBeCloseTo(0.06, 2);
  });

  test.skipIf(!isInstalled('ffmpeg'))('has no offset, no high peaks, and one loudness in all formats', async () => {
    const text = sentences.slice(0, 8).join(' ');
    const folder = await mkdtemp(join(tmpdir(), 'sonant-levels-'));
    try {
      const loudness: number[] = [];
      const row: string[] = [voice_id];
      for (const output_format of ['wav', 'mp3', 'opus', 'flac', 'pcm']) {
        const { audio } = await say({ voice_id, text, output_format });
        const file = join(folder, `sound.${output_format}`);
        await writeFile(file, audio);
        const { truePeakDb, lufs } = await measure(file, output_format);
        expect(truePeakDb, output_format).toBeLessThanOrEqual(-1.5);
        loudness.push(lufs);
        row.push(`${output_format} ${lufs} LUFS, peak ${truePeakDb} dB`);
        if (output_format !== 'pcm') continue;
        const samples = samplesOf(audio);
        const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length / 32768;
        const offsetDb = 20 * Math.log10(Math.abs(mean));
        expect(offsetDb).toBeLessThan(-70);
        const { lead, tail } = edgesOf(audio);
        row.push(`lead ${lead.toFixed(3)} s`, `tail ${tail.toFixed(3)} s`, `offset ${offsetDb.toFixed(0)} dB`);
      }
      const { SONANT_LEVEL_TABLE: table } = process.env;
      if (table) await appendFile(table, `${row.join(' | ')}\n`);
      expect(Math.max(...loudness) - Math.min(...loudness), String(loudness)).toBeLessThan(0.2);
      expect(Math.abs(loudness[0]! + 21), String(loudness)).toBeLessThan(0.75);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

async function measure(file: string, format: string): Promise<{ truePeakDb: number; lufs: number }> {
  const source = format === 'pcm' ? ['-f', 's16le', '-ar', `${sampleRateHz}`, '-ac', '1'] : [];
  const args = ['-hide_banner', '-nostats', ...source, '-i', file, '-af', 'ebur128=peak=true', '-f', 'null', '-'];
  const { stderr } = await run('ffmpeg', args);
  const summary = stderr.slice(stderr.lastIndexOf('Summary:'));
  const figure = (name: string) => Number(new RegExp(`${name}:\\s+(-?[\\d.]+)`).exec(summary)![1]);
  return { truePeakDb: figure('Peak'), lufs: figure('I') };
}

// Creates books of random chapters for tests, and reads their files with ffmpeg and ffprobe.
import { spawnSync } from 'node:child_process';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BookChapter, BookTags } from '../../../src/audio/book-file/audio-book.ts';
import { writeBookFile } from '../../../src/audio/book-file/book-file.ts';
import { audioFormats, type FormatName } from '../../../src/audio/formats.ts';
import { join as joined } from '../../../src/platform/pcm.ts';
import { createRandom } from '../../text/random-text.ts';
import { encode, encodedRateOf } from '../encode.ts';

export interface MadeChapter extends BookChapter {
  sound: Float32Array;
  bytes: Uint8Array;
}

/** A voice-like signal: a swelling buzz with some noise, from the first sample to the last. */
export function voiced(length: number, sampleRateHz: number, random: () => number): Float32Array {
  const pitch = 90 + 120 * random();
  return Float32Array.from({ length }, (_, i) => {
    const time = i / sampleRateHz;
    const buzz = [1, 5].reduce((sum, n) => sum + Math.sin(2 * Math.PI * pitch * n * time) / n, 0);
    return 0.15 * buzz * (0.6 + 0.4 * Math.cos(9 * time)) + 0.01 * (random() - 0.5);
  });
}

export interface ChapterShape {
  title: string;
  seconds: number;
  gapSeconds: number;
}

export async function makeChapters(
  format: FormatName,
  sampleRateHz: number,
  shapes: readonly ChapterShape[],
  random = createRandom(1),
): Promise<MadeChapter[]> {
  const rateHz = encodedRateOf(format, sampleRateHz);
  const chapters: MadeChapter[] = [];
  for (const { title, seconds, gapSeconds } of shapes) {
    const sound = voiced(Math.round(seconds * rateHz), rateHz, random);
    const { file: bytes } = await encode(audioFormats[format], sampleRateHz, [sound]);
    const gapSampleCount = Math.round(gapSeconds * rateHz);
    const file = () => inChunks(bytes, 1 + Math.floor(random() * 70_000));
    chapters.push({ title, sampleCount: sound.length, gapSampleCount, file, sound, bytes });
  }
  return chapters;
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function bookOf(
  format: FormatName,
  sampleRateHz: number,
  chapters: readonly BookChapter[],
  tags: BookTags = {},
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of writeBookFile(format, sampleRateHz, chapters, tags)) parts.push(part);
  return joined(Uint8Array, parts);
}

/** Input options that ffmpeg needs for headerless files. */
const rawInput: Partial<Record<FormatName, string>> = { pcm: 's16le', ulaw: 'mulaw', alaw: 'alaw' };

/** The audio of a file at its own rate; ffmpeg skips the samples that the file says to skip. */
export function decodedByFfmpeg(bytes: Uint8Array, format: FormatName, rateHz: number): Float32Array {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'sonant-book-'));
  const file = join(folder.path, 'book');
  writeFileSync(file, bytes);
  const raw = rawInput[format];
  const input = raw ? ['-f', raw, '-ar', `${rateHz}`, '-ac', '1'] : [];
  const args = ['-v', 'error', ...input, '-i', file, '-f', 'f32le', '-c:a', 'pcm_f32le', 'pipe:1'];
  const { stdout, stderr } = spawnSync('ffmpeg', args, { maxBuffer: 2 ** 30 });
  if (stderr.length > 0) throw new Error(`ffmpeg: ${stderr}`);
  return new Float32Array(stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + stdout.length));
}

export interface Probed {
  chapters: { start_time: string; end_time: string; tags?: { title?: string } }[];
  format: { duration?: string; tags?: Record<string, string> };
  streams: { codec_name: string; duration?: string; tags?: Record<string, string> }[];
}

export function probed(file: string): Probed {
  const args = ['-v', 'error', '-show_chapters', '-show_format', '-show_streams', '-of', 'json', file];
  const { stdout, stderr } = spawnSync('ffprobe', args, { maxBuffer: 2 ** 26 });
  if (stderr.length > 0) throw new Error(`ffprobe: ${stderr}`);
  return JSON.parse(stdout.toString());
}

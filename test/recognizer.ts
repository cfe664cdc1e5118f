// Recognizes speech with Debian's PocketSphinx, its American English model and a general language model, so that words
// must be recognized by their sound. Results vary slightly: 6 to 10 words of 220 are missed, rarely 11. sox converts
// audio to 16 kHz, so that Sonant's own code is not measured with itself.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FormatName } from '../src/audio/formats.ts';
import type { Pcm } from '../src/platform/pcm.ts';
import { isInstalled } from './programs.ts';

const run = promisify(execFile);

const modelFolder = '/usr/share/pocketsphinx/model/en-us';
const modelRateHz = 16_000;
const framesPerSecond = 100;
/** Silence around each recording, so that the recognizer finds its start and end. */
const marginSeconds = 0.2;

/** Largest number of states per frame: a tenth of the default, with the same results in less time. */
const statesMax = 3000;

/** A complete file, or headerless samples. */
export interface EncodedSound {
  format: FormatName;
  sampleRateHz: number;
  bytes: Uint8Array;
}

export const canRecognize = (): boolean =>
  isInstalled('pocketsphinx_batch') && isInstalled('sox') && existsSync(modelFolder);

/** The recognized words of each recording. `reversed` plays them backwards, which should be unintelligible. */
export async function recognize(
  sounds: readonly (Pcm | EncodedSound)[],
  { reversed = false } = {},
): Promise<string[][]> {
  return inFolder(sounds, reversed ? ['reverse'] : [], async (folder, stems) => {
    await decode(folder, { lm: join(modelFolder, 'en-us.lm.bin'), hyp: join(folder, 'heard') });
    // A line is `the words heard (stem -1234)`.
    const lines = (await readFile(join(folder, 'heard'), 'utf8')).trimEnd().split('\n');
    const heard = new Map(
      lines.map((line) => /^(.*)\((\S+) \S+\)$/.exec(line)!).map(([, words, stem]) => [stem, words]),
    );
    return stems.map((stem) => toWords(heard.get(stem)!));
  });
}

/**
 * Start times of the words of `text` in each recording, which must contain exactly this text; undefined if not all are
 * found.
 */
export async function recognizeWordStarts(
  text: string,
  sounds: readonly (Pcm | EncodedSound)[],
): Promise<(readonly number[] | undefined)[]> {
  const said = toWords(text);
  return inFolder(sounds, [], async (folder, stems) => {
    const [grammar, found] = [join(folder, 'grammar'), join(folder, 'found')];
    await writeFile(grammar, `#JSGF V1.0;\ngrammar text;\npublic <text> = ${said.join(' ')};\n`);
    await decode(folder, { jsgf: grammar, hypseg: found });
    // A line is `stem S 0 T -9 A -9 L -9 0 -9 -9 <sil> 34 -9 0 the 56`: before each word, the number of its first
    // frame.
    return (await readFile(found, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line, i) => {
        if (!line.startsWith(`${stems[i]} `)) throw new Error(`the recognizer answered: ${line}`);
        const words = [...line.matchAll(/(\d+) -?\d+ -?\d+ ([a-z'][a-z'()\d]*)/g)];
        const starts = words.map(([, frame]) => Number(frame) / framesPerSecond - marginSeconds);
        return words.length === said.length ? starts : undefined;
      });
  });
}

/** Runs `work` in a folder with the recordings in the model's format, named as in `list`. */
async function inFolder<T>(
  sounds: readonly (Pcm | EncodedSound)[],
  effects: readonly string[],
  work: (folder: string, stems: readonly string[]) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'sonant-heard-'));
  try {
    const stems = sounds.map((_, i) => `sound${i}`);
    for (const [i, sound] of sounds.entries()) await toModelSound(sound, join(folder, stems[i]!), effects);
    await writeFile(join(folder, 'list'), stems.map((stem) => `${stem}\n`).join(''));
    return await work(folder, stems);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function toModelSound(sound: Pcm | EncodedSound, stem: string, effects: readonly string[]): Promise<void> {
  const { format, sampleRateHz, bytes } = 'samples' in sound ? toEncoded(sound) : sound;
  const raw = (rateHz: number) => ['-t', 'raw', '-r', `${rateHz}`, '-c', '1', '-b', '16', '-e', 'signed'];
  const file = `${stem}.${format}`;
  await writeFile(file, bytes);
  const margin = ['pad', `${marginSeconds}`, `${marginSeconds}`];
  const source = format === 'pcm' ? raw(sampleRateHz) : [];
  await run('sox', [...source, file, ...raw(modelRateHz), `${stem}.raw`, ...effects, ...margin]);
  await rm(file);
}

const toEncoded = ({ samples, sampleRateHz }: Pcm): EncodedSound => {
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  return { format: 'pcm', sampleRateHz, bytes };
};

/** Decodes the recordings in `list` with these options. */
async function decode(folder: string, means: Readonly<Record<string, string>>): Promise<void> {
  const options = {
    hmm: join(modelFolder, 'en-us'),
    dict: join(modelFolder, 'cmudict-en-us.dict'),
    ...means,
    adcin: 'yes',
    cepdir: folder,
    cepext: '.raw',
    ctl: join(folder, 'list'),
    logfn: '/dev/null',
    maxhmmpf: String(statesMax),
  };
  await run(
    'pocketsphinx_batch',
    Object.entries(options).flatMap(([name, value]) => [`-${name}`, value]),
  );
}

/** The words of a text, normalized for comparison. */
export const toWords = (text: string): string[] => text.toLowerCase().match(/[a-z']+/g) ?? [];

/** Wrong, missing and invented words per spoken word; above 1 if more words were invented than spoken. */
export function wordErrorRate(said: readonly string[], heard: readonly (readonly string[])[]): number {
  const words = said.map(toWords);
  const errors = words.map((reference, i) => editDistance(reference, heard[i]!));
  return sum(errors) / sum(words.map((reference) => reference.length));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The smallest number of words changed, dropped or added (Levenshtein). */
export function editDistance(from: readonly string[], to: readonly string[]): number {
  let row = [0, ...to.map((_, j) => j + 1)];
  for (const [i, word] of from.entries()) {
    const next = [i + 1];
    for (const [j, other] of to.entries())
      next.push(Math.min(row[j]! + (word === other ? 0 : 1), row[j + 1]! + 1, next[j]! + 1));
    row = next;
  }
  return row.at(-1)!;
}

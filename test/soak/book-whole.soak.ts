// Tests a whole book, which `sonant book` reads to the end with the embedded voice: its memory and its folder are
// watched, ffprobe reads its chapter marks, every word is in the captions, and a recognizer checks sentences
// throughout.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import type { Pcm } from '../../src/platform/pcm.ts';
import { isInstalled } from '../programs.ts';
import { canRecognize, recognize, toWords } from '../recognizer.ts';
import { createRandom } from '../text/random-text.ts';
import { describeSlope, memorySlopeOf } from './memory-slope.ts';
import { mib } from './open-service.ts';

interface BookText {
  chapters: { title: string; sentences: string[] }[];
  markdown: string;
}

const people =
  'the doctor|my sister|the old farmer|her brother|the teacher|our neighbor|the captain|a young lawyer|the baker|his uncle|the judge|a tired soldier|the painter|my grandfather|the little girl|the priest|a stranger|the widow|her oldest friend|the sailor';
const deeds =
  'carried|found|painted|forgot|borrowed|repaired|described|sold|watched|washed|remembered|followed|studied|ordered|lifted|covered|broke|admired|counted|opened';
const kinds =
  'heavy|brown|wooden|broken|silver|empty|yellow|narrow|famous|ancient|frozen|gentle|purple|crooked|golden|quiet|square|foreign|dusty|enormous';
const things =
  'table|letter|winter coat|bicycle|basket|window|mirror|ladder|picture|bottle|garden chair|blanket|suitcase|kettle|piano|lantern|carpet|newspaper|umbrella|cupboard';
const places =
  'behind the church|along the river|at the market|near the harbor|under the bridge|beside the road|in the village|on the balcony|at the station|across the valley|inside the barn|before the museum|by the fireplace|over the mountain|outside the school';
const times =
  'in the early morning|after dinner|during the storm|on Thursday afternoon|before the summer|for more than an hour|without a sound|every second winter|late in October|at half past nine|until it was dark|on the first Sunday|between two meetings|once again|with his own hands';
const joints = 'while|because|before|after|and';

const charsPerChapter = 25_000;

function bookOf(chars: number): BookText {
  const random = createRandom(chars);
  const oneOf = (words: string): string => {
    const all = words.split('|');
    return all[Math.floor(random() * all.length)]!;
  };
  const clause = () => `${oneOf(people)} ${oneOf(deeds)} the ${oneOf(kinds)} ${oneOf(things)} ${oneOf(places)}`;
  const shapes = [
    () => `${clause()} ${oneOf(times)}.`,
    () => `${oneOf(times)}, ${clause()}.`,
    () => `${clause()} ${oneOf(joints)} ${clause()}.`,
    () => `"Was it true," asked ${oneOf(people)}, "that ${clause()}?"`,
  ];
  const said = new Set<string>();
  const sentence = (): string => {
    for (;;) {
      const made = shapes[Math.floor(random() * shapes.length)]!().replace(/[a-z]/, (first) => first.toUpperCase());
      if (!said.has(made)) {
        said.add(made);
        return made;
      }
    }
  };
  const chapters: BookText['chapters'] = [];
  let markdown = '';
  while (markdown.length < chars) {
    const title = `Chapter ${chapters.length + 1}`;
    const sentences: string[] = [];
    const end = Math.min(chars, markdown.length + charsPerChapter);
    markdown += `# ${title}\n\n`;
    while (markdown.length < end) {
      const paragraph = Array.from({ length: 3 + Math.floor(random() * 5) }, sentence);
      sentences.push(...paragraph);
      markdown += `${paragraph.join(' ')}\n\n`;
    }
    chapters.push({ title, sentences });
  }
  return { chapters, markdown };
}

/** `count` different items; the same items give the same sample. */
function sampleOf<T>(items: readonly T[], count: number): T[] {
  const random = createRandom(items.length);
  const left = [...items];
  return Array.from(
    { length: Math.min(count, left.length) },
    () => left.splice(Math.floor(random() * left.length), 1)[0]!,
  );
}

const { CHARS = '1000000', FORMAT = 'wav', VOICE = 'arthur', PLACES = '200', HOURS = '6' } = process.env;
const main = join(import.meta.dirname, '../../src/sonant.js');
const sampleMs = 10_000;
const markToleranceSeconds = 0.05;
/**
 * Share of a sentence's words that must be recognized. If the recognizer misses more, the sentence still counts if no
 * other sentence fits the audio as well.
 */
const heardMin = 0.5;
/** Rate of the engine's 2-byte samples. */
const engineRateHz = 16_000;

const folder = mkdtempSync(join(tmpdir(), 'sonant-book-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Sample {
  atMs: number;
  rss: number;
  stored: number;
}

interface Cue {
  start: number;
  end: number;
  words: string[];
}

test(`a book of ${CHARS} characters`, { timeout: Number(HOURS) * 3_600_000 }, async () => {
  const book = bookOf(Number(CHARS));
  writeFileSync(join(folder, 'book.md'), book.markdown);
  const { samples, made } = await speak();
  const whole = statSync(join(folder, `book.${FORMAT}`)).size;
  const longest = Math.max(...made.chapters.map(({ start, end }) => end - start));
  const peak = Math.max(...samples.map(({ stored }) => stored));
  reportMemory(samples);
  console.log(
    `sound: ${(made.seconds / 3600).toFixed(2)} h, ${mib(whole)}; work folder at most ${mib(peak)}, ` +
      `segments of the longest chapter ${mib(longest * engineRateHz * 2)}`,
  );
  // The folder holds the chapters, the joined file, the segments of one chapter, and the database.
  expect(peak).toBeLessThan(2 * whole + 2 * longest * engineRateHz * 2 + 2 ** 26);

  const marks = await marksOf(join(folder, `book.${FORMAT}`));
  const errors = marks.flatMap(({ start, end }, i) => {
    const told = made.chapters[i]!;
    return i === marks.length - 1 ? [start - told.start] : [start - told.start, end - made.chapters[i + 1]!.start];
  });
  console.log(
    `${marks.length} chapter marks, off by at most ${(1000 * Math.max(...errors.map(Math.abs))).toFixed(1)} ms`,
  );
  expect(marks.map(({ title }) => title)).toEqual(book.chapters.map(({ title }) => title));
  for (const error of errors) expect(Math.abs(error)).toBeLessThanOrEqual(markToleranceSeconds);

  const cues = readCues(join(folder, 'book.vtt'));
  const said = book.chapters.flatMap(({ title, sentences }) => [title, ...sentences].map(toWords));
  expect(cues.flatMap(({ words }) => words)).toEqual(said.flat());
  reportPace(book.chapters, made.chapters);
  if (canRecognize()) await expectHeard(said, cues);
  else console.log('no recognizer here: nothing was heard');
});

interface Place {
  words: readonly string[];
  start: number;
  end: number;
}

interface Made {
  seconds: number;
  chapters: { title: string; start: number; end: number }[];
}

async function speak(): Promise<{ samples: Sample[]; made: Made }> {
  const args = ['book', 'book.md', '-o', `book.${FORMAT}`, '--sample-rate', '24000', '--voice', VOICE];
  const startedMs = performance.now();
  const child = spawn(process.execPath, [main, ...args, '--captions', 'vtt', '--json'], {
    cwd: folder,
    env: { PATH: process.env.PATH, SONANT_DATA_DIR: join(folder, 'data'), SONANT_ESPEAK_LIBRARY: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const samples: Sample[] = [];
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  const timer = setInterval(async () => {
    const stored = await bytesIn(join(folder, `book.${FORMAT}.work`));
    if (child.exitCode !== null) return;
    const rss = Number(readFileSync(`/proc/${child.pid}/statm`, 'latin1').split(' ')[1]) * 4096;
    samples.push({ atMs: performance.now() - startedMs, rss, stored });
    if (samples.length % 30 === 0) console.log(`${samples.length * 10} s: ${mib(rss)}, work folder ${mib(stored)}`);
  }, sampleMs);
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearInterval(timer);
  expect(code).toBe(0);
  console.log(`spoken in ${((performance.now() - startedMs) / 60_000).toFixed(1)} min`);
  return { samples, made: JSON.parse(out) };
}

async function bytesIn(path: string): Promise<number> {
  // A file may disappear while the folder is read.
  const names = await readdir(path, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(path, name)).then(
        (each) => (each.isFile() ? each.size : 0),
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function reportMemory(samples: readonly Sample[]): void {
  const slope = memorySlopeOf(samples.map(({ atMs, rss }) => [atMs, rss]));
  console.log(`RSS at most ${mib(Math.max(...samples.map(({ rss }) => rss)))}; ${describeSlope(slope)}`);
  if (slope) expect(slope.mibPerHour).toBeLessThan(3 * slope.standardError + slopeMax);
}

/** Allowed growth in MiB per hour; keeping 18 hours of audio would need gigabytes. */
const slopeMax = 8;
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]) => sum(values) / values.length;

async function marksOf(path: string): Promise<{ title: string; start: number; end: number }[]> {
  if (!isInstalled('ffprobe')) throw new Error('needs ffprobe');
  const { stdout } = await promisify(execFile)('ffprobe', ['-v', 'error', '-show_chapters', '-of', 'json', path]);
  return JSON.parse(stdout).chapters.map(
    ({ start_time, end_time, tags }: { start_time: string; end_time: string; tags: { title: string } }) => {
      return { title: tags.title, start: Number(start_time), end: Number(end_time) };
    },
  );
}

function readCues(path: string): Cue[] {
  const toSeconds = (time: string) => time.split(':').reduce((total, part) => total * 60 + Number(part), 0);
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n\n')
    .slice(1)
    .map((cue) => {
      const [times, ...lines] = cue.split('\n');
      const [start, end] = times!.split(' --> ').map(toSeconds);
      return { start: start!, end: end!, words: toWords(lines.join(' ')) };
    });
}

/** A chapter that lacks sentences would be shorter than others, relative to its text. */
function reportPace(texts: readonly { sentences: string[] }[], made: Made['chapters']): void {
  const paces = made.map(({ start, end }, i) => (end - start) / texts[i]!.sentences.join(' ').length);
  const usual = mean(paces);
  const worst = Math.max(...paces.map((pace) => Math.abs(pace / usual - 1)));
  console.log(
    `${(1000 * usual).toFixed(2)} ms a character; chapters differ from that by at most ${(100 * worst).toFixed(1)} %`,
  );
  expect(worst).toBeLessThan(0.1);
}

/** Recognizes the sampled sentences at the times in the captions. */
async function expectHeard(said: readonly string[][], cues: readonly Cue[]): Promise<void> {
  const cueOf = cues.flatMap((cue) => cue.words.map(() => cue));
  let at = 0;
  const placed = said.map((words) => {
    const [first, last] = [cueOf[at]!, cueOf[at + words.length - 1]!];
    at += words.length;
    return { words, start: first.start, end: last.end };
  });
  const places = sampleOf(
    placed.filter(({ words }) => words.length > 5),
    Number(PLACES),
  );
  const hear = async (wanted: readonly Place[], margin: number): Promise<string[][]> => {
    const sounds: Pcm[] = [];
    for (const { start, end } of wanted)
      sounds.push(await cutOut(Math.max(0, start - margin), end - start + 2 * margin));
    return recognize(sounds);
  };
  const heard = await hear(places, 0.1);
  const heardAs = (i: number, j: number) => shareOf(places[j]!.words, heard[i]!);
  const shares = places.map((_, i) => heardAs(i, i));
  const control = places.map((_, i) => heardAs((i + 1) % heard.length, i));
  // A sentence that is missed is often recognized with a little more or less audio around it.
  for (const margin of [0.02, 0.3]) {
    const again = [...shares.keys()].filter((i) => shares[i]! < heardMin);
    const better =
      again.length > 0
        ? await hear(
            again.map((i) => places[i]!),
            margin,
          )
        : [];
    for (const [n, i] of again.entries()) {
      const share = shareOf(places[i]!.words, better[n]!);
      if (share <= shares[i]!) continue;
      shares[i] = share;
      heard[i] = better[n]!;
    }
  }
  const others = places.map((_, i) => Math.max(...places.map((_, j) => (i === j ? 0 : heardAs(i, j)))));
  const missing = places.filter((_, i) => shares[i]! < heardMin && shares[i]! <= others[i]!);
  const best = shares.filter((share, i) => share > others[i]!).length;
  console.log(
    `${places.length} sentences: ${(100 * mean(shares)).toFixed(1)} % of their words heard, in order, the worst ` +
      `${(100 * Math.min(...shares)).toFixed(0)} %; in the sound of another sentence ${(100 * mean(control)).toFixed(1)} %, ` +
      `at most ${(100 * Math.max(...control)).toFixed(0)} %; ${best} fit their sound better than any other sentence`,
  );
  expect(missing.map(({ words, start }) => `${start}: ${words.join(' ')}`)).toEqual([]);
}

async function cutOut(start: number, seconds: number): Promise<Pcm> {
  const cut = ['-v', 'error', '-ss', `${start}`, '-t', `${seconds}`, '-i', join(folder, `book.${FORMAT}`)];
  const raw = ['-f', 's16le', '-ar', '16000', '-ac', '1', '-'];
  const options = { encoding: 'buffer', maxBuffer: 2 ** 26 } as const;
  const { stdout } = await promisify(execFile)('ffmpeg', [...cut, ...raw], options);
  return { samples: new Int16Array(Uint8Array.from(stdout).buffer), sampleRateHz: 16_000 };
}

/** The share of the words that were recognized in order: the longest common subsequence. */
function shareOf(words: readonly string[], heard: readonly string[]): number {
  let row = new Array<number>(heard.length + 1).fill(0);
  for (const word of words) {
    const next = [0];
    for (const [j, other] of heard.entries()) next.push(word === other ? row[j]! + 1 : Math.max(row[j + 1]!, next[j]!));
    row = next;
  }
  return row.at(-1)! / words.length;
}

// The command line as a person meets it: the program is run, and its files, exit codes and words are looked at.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const main = join(import.meta.dirname, '../../src/main.ts');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-cli-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

async function sonant(args: string[], input = '', env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env: { PATH: process.env.PATH, ...env } });
  child.stdin.end(input);
  child.stdout.setEncoding('latin1');
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err, code] = await Promise.all([readAll(child.stdout), readAll(child.stderr), ended]);
  return { code, out, err };
}

/** Rate, channels and seconds of a WAV file, from its header. */
function wavOf(bytes: Buffer) {
  expect(bytes.toString('latin1', 0, 4) + bytes.toString('latin1', 8, 12)).toBe('RIFFWAVE');
  const [channels, rateHz, dataBytes] = [bytes.readUInt16LE(22), bytes.readUInt32LE(24), bytes.readUInt32LE(40)];
  return { channels, rateHz, dataBytes, seconds: dataBytes / 2 / rateHz };
}

describe('say', () => {
  test('speaks the argument into a file with true sizes', async () => {
    const { code, err } = await sonant(['say', 'Hello. This is Sonant.', '-o', 'hello.wav']);
    expect([code, err]).toEqual([0, '']);
    const file = readFileSync(join(folder, 'hello.wav'));
    const wav = wavOf(file);
    expect(wav).toMatchObject({ channels: 1, rateHz: 44100, dataBytes: file.length - 44 });
    expect(wav.seconds).toBeGreaterThan(1);
    expect(wav.seconds).toBeLessThan(4);
  });

  test('speaks standard input into a pipe, with sizes that say they are not known', async () => {
    const { code, out } = await sonant(['say'], 'Hello from a pipe.');
    const bytes = Buffer.from(out, 'latin1');
    expect(code).toBe(0);
    expect(wavOf(bytes)).toMatchObject({ rateHz: 44100, dataBytes: 0xffffffff });
  });

  test('speaks a file, in the format of the ending, and tells of it as JSON', async () => {
    writeFileSync(join(folder, 'letter.txt'), 'Dear reader,\n\nthis is a letter.\n');
    const { code, out } = await sonant([
      'say',
      '-i',
      'letter.txt',
      '-o',
      'letter.mp3',
      '--sample-rate',
      '24000',
      '--json',
      '--timestamps',
    ]);
    const told = JSON.parse(out);
    const bytes = readFileSync(join(folder, 'letter.mp3'));
    expect(code).toBe(0);
    expect(told).toMatchObject({
      output: 'letter.mp3',
      format: 'mp3',
      sample_rate: 24000,
      chars: 32,
      bytes: bytes.length,
      warnings: [],
    });
    expect(told.words.map(({ text }: { text: string }) => text).join(' ')).toBe('Dear reader this is a letter');
    expect(bytes.readUInt16BE(0) & 0xffe0).toBe(0xffe0);
  });

  test('speaks a text far over the limit of a request', async () => {
    const { code, out } = await sonant(
      ['say', '-o', 'long.pcm', '-r', '4', '--sample-rate', '24000', '--json'],
      'A short sentence. '.repeat(1200),
    );
    expect(code).toBe(0);
    expect(JSON.parse(out).chars).toBe(21_600);
    expect(readFileSync(join(folder, 'long.pcm')).length).toBe(JSON.parse(out).bytes);
  });

  test('says that nothing could be spoken', async () => {
    const { code, err } = await sonant(['say', '🎉', '-o', 'silence.wav']);
    expect(code).toBe(0);
    expect(err).toContain('nothing');
  });

  test.each<[string, string[], number, RegExp]>([
    ['an unknown voice', ['say', 'Hi.', '-o', 'x.wav', '-v', 'nobody'], 2, /no such voice/],
    [
      'several faults',
      ['say', 'Hi.', '-o', 'x.wav', '--sample-rate', '8000', '-r', '9'],
      2,
      /--sample-rate.*\n.*--speaking-rate/,
    ],
    ['an unknown ending', ['say', 'Hi.', '-o', 'x.flac'], 2, /\.flac/],
    ['an unknown format', ['say', 'Hi.', '-o', 'x', '-f', 'flac'], 2, /wav, pcm, mp3/],
    ['an unknown flag', ['say', 'Hi.', '--loud'], 2, /--loud/],
    ['a folder for a file', ['say', 'Hi.', '-o', '.', '-f', 'wav'], 2, /folder/],
    ['a folder that is not there', ['say', 'Hi.', '-o', 'nowhere/x.wav'], 2, /nowhere/],
    ['an input that is not there', ['say', '-i', 'nowhere.txt', '-o', 'x.wav'], 2, /nowhere\.txt/],
    ['text in several arguments', ['say', 'Hi', 'you', '-o', 'x.wav'], 2, /quotes/],
    ['no command of that name', ['sing'], 2, /sing/],
  ])('%s is explained, and leaves no file', async (_, args, code, words) => {
    const ended = await sonant(args);
    expect(ended.err).toMatch(words);
    expect(ended.err).not.toMatch(/\n\s+at /);
    expect(ended.code).toBe(code);
    expect(readdirSync(folder).filter((name) => name.startsWith('x'))).toEqual([]);
  });

  test('interrupted, it leaves no file and exits with 130', async () => {
    const child = spawn(process.execPath, [main, 'say', '-o', 'never.wav'], { cwd: folder });
    child.stdin.end('This will take a while. '.repeat(20_000));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    await expect
      .poll(() => readdirSync(folder).some((name) => name.startsWith('never.wav.part')), { timeout: 20_000 })
      .toBe(true);
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(readdirSync(folder).filter((name) => name.startsWith('never'))).toEqual([]);
  });

  test('interrupted while it waits for its text, it ends too', async () => {
    const child = spawn(process.execPath, [main, 'say', '-o', 'never.wav'], { cwd: folder });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    child.kill('SIGINT');
    expect(await ended).toBe(130);
  });

  test('a reader that has had enough ends it quietly', async () => {
    for (const command of ['say', 'voice list --json']) {
      const script = `"${process.execPath}" "${main}" ${command} | head -c 10 >/dev/null; exit \${PIPESTATUS[0]}`;
      const child = spawn('bash', ['-c', script], { cwd: folder });
      child.stdin.end('This goes on. '.repeat(500));
      const [err, code] = await Promise.all([
        readAll(child.stderr),
        new Promise((resolve) => child.once('close', resolve)),
      ]);
      expect(err).toBe('');
      expect([0, 141]).toContain(code);
    }
  });

  test('a text may look like a flag, and an empty name is no file', async () => {
    expect((await sonant(['say', '-o', 'flag.wav', '--', '--help'])).code).toBe(0);
    expect(existsSync(join(folder, 'flag.wav'))).toBe(true);
    expect((await sonant(['say', 'Hi.', '-o', '', '-f', 'wav'])).code).toBe(2);
    expect(readdirSync(folder).filter((name) => name.includes('.part'))).toEqual([]);
  });

  test('a device is written to, not replaced', async () => {
    expect((await sonant(['say', 'Hi.', '-o', '/dev/null', '-f', 'wav'])).code).toBe(0);
    expect(readFileSync('/dev/null').length).toBe(0);
    expect(existsSync('/dev/null')).toBe(true);
  });
});

test('voice list names the voices, the default first, for people and for programs', async () => {
  const table = await sonant(['voice', 'list']);
  const voices = JSON.parse(Buffer.from((await sonant(['voice', 'list', '--json'])).out, 'latin1').toString());
  expect(table.code).toBe(0);
  expect(table.out.split('\n')[1]).toContain(voices[0].voice_id);
  expect(voices[0].language_codes).toEqual(['en-US', 'en']);
  const french = JSON.parse((await sonant(['voice', 'list', '--json', '--language', 'fr'])).out);
  expect(french.some(({ voice_id }: { voice_id: string }) => voice_id === voices[0].voice_id)).toBe(false);
});

test('doctor looks at everything, and a broken setting is explained', async () => {
  const { code, out } = await sonant(['doctor']);
  expect(code).toBe(0);
  expect(out).toMatch(/^ready +node/m);
  const broken = await sonant(['doctor'], '', { SONANT_SPEAKING_MAX: 'x', SONANT_WAITING_MAX: 'y' });
  expect(broken.code).toBe(2);
  expect(broken.err).toMatch(/SONANT_SPEAKING_MAX.*SONANT_WAITING_MAX/s);
});

test('a broken optional engine stops only who asked for it', async () => {
  const broken = join(folder, 'bin');
  mkdirSync(broken);
  writeFileSync(join(broken, 'espeak-ng'), '#!/bin/sh\nexit 3\n', { mode: 0o755 });
  const path = `${broken}:${process.env.PATH}`;
  expect((await sonant(['say', 'Hi.', '-o', 'hi.wav'], '', { PATH: path })).code).toBe(0);
  expect(
    (await sonant(['say', 'Hi.', '-o', 'hi.wav'], '', { SONANT_ESPEAK_PROGRAM: join(broken, 'espeak-ng') })).code,
  ).toBe(1);
});

test('config prints what is in force and where it comes from', async () => {
  const { out } = await sonant(['config'], '', { SONANT_SPEAKING_MAX: '7' });
  expect(out).toMatch(/SONANT_SPEAKING_MAX +7 +environment/);
  expect((await sonant(['config', '--help'])).out).toContain('SONANT_DATA_DIR');
});

test.each(['', 'say', 'voice', 'doctor', 'config'])('sonant %s --help helps', async (command) => {
  const { code, out } = await sonant([...(command ? [command] : []), '--help']);
  expect(code).toBe(0);
  expect(out).toContain('Usage: sonant');
});

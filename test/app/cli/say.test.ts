// Tests `sonant say`: its files, exit codes and messages. say.programs.ts tests shells, pipes and disks.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readFileHead } from '../../../src/audio/file-head.ts';
import { newFolder } from '../../new-folder.ts';
import { runMain } from './run-main.ts';
import { main, runSonant } from './sonant-program.ts';
import { wavOf } from './wav-header.ts';

const folder = newFolder(afterAll);

const sonant = (args: string[], input?: string | Uint8Array, env?: Record<string, string>) =>
  runMain(folder, args, input, env);

test('speaks the argument into a file with true sizes', async () => {
  const { code, err } = await runSonant(folder, ['say', 'Hello. This is Sonant.', '-o', 'hello.wav']);
  expect([code, err]).toEqual([0, '']);
  const file = readFileSync(join(folder, 'hello.wav'));
  const wav = wavOf(file);
  expect(wav).toMatchObject({ channels: 1, rateHz: 44100 });
  // The manifest follows the samples.
  const end = wav.start + wav.dataBytes;
  expect(file.toString('latin1', end, end + 4)).toBe('C2PA');
  expect([end + 8 + file.readUInt32LE(end + 4), file.readUInt32LE(4) + 8]).toEqual([file.length, file.length]);
  expect(wav.seconds).toBeGreaterThan(1);
  expect(wav.seconds).toBeLessThan(4);
});

test('speaks standard input into a pipe, with sizes that say they are not known', async () => {
  const { code, out } = await runSonant(folder, ['say'], 'Hello from a pipe.');
  const bytes = Buffer.from(out, 'latin1');
  expect(code).toBe(0);
  expect(wavOf(bytes)).toMatchObject({ rateHz: 44100, dataBytes: 0xffffffff });
});

test('speaks a file, in the format of the extension, and reports it as JSON', async () => {
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
  const printed = JSON.parse(out);
  const bytes = readFileSync(join(folder, 'letter.mp3'));
  expect(code).toBe(0);
  expect(printed).toMatchObject({
    output: 'letter.mp3',
    format: 'mp3',
    sample_rate: 24000,
    chars: 32,
    bytes: bytes.length,
    warnings: [],
  });
  expect(printed.words.map(({ text }: { text: string }) => text).join(' ')).toBe('Dear reader this is a letter');
  expect(Object.keys(printed.words[0])).toEqual(['text', 'offset', 'length', 'start', 'end']);
  expect(bytes.readUInt16BE(readFileHead(bytes)!.start) & 0xffe0).toBe(0xffe0);
  expect((await sonant(['inspect', 'letter.mp3'])).code).toBe(0);
  expect(readFileHead(bytes)).toMatchObject({ format: 'mp3', tags: [{ name: 'COMM' }, {}, {}, {}, {}] });
});

test('a FLAC file states its length, though it was written as a stream', async () => {
  const { code, out } = await sonant(['say', 'Hello.', '-o', 'hello.flac', '--json']);
  const bytes = readFileSync(join(folder, 'hello.flac'));
  const { seconds, format } = JSON.parse(out);
  const sampleCount = bytes.readUInt32BE(bytes.indexOf('fLaC') + 22);
  expect([code, format, sampleCount]).toEqual([0, 'flac', Math.round(seconds * 44_100)]);
});

test('the manifest of an Opus file is beside it, and inspect checks both', async () => {
  await sonant(['say', 'Hello.', '-o', 'hello.opus']);
  const file = readFileSync(join(folder, 'hello.opus'));
  const checked = await sonant(['inspect', 'hello.opus', '--json']);
  const manifest = { valid: true, problems: [], issuer: 'O=Sonant, CN=Sonant self-signed' };
  expect([checked.code, JSON.parse(checked.out)]).toMatchObject([0, { authentic: true, manifest }]);
  writeFileSync(join(folder, 'hello.opus'), Buffer.concat([file, Buffer.alloc(1)]));
  const changed = await sonant(['inspect', 'hello.opus']);
  expect([changed.code, changed.out]).toEqual([1, expect.stringContaining('assertion.dataHash.mismatch')]);
  expect((await sonant(['provenance', 'show'])).out).toContain('self-signed');
});

test('without provenance, files have no manifest', async () => {
  await sonant(['say', 'Hello.', '-o', 'plain.mp3'], undefined, { SONANT_PROVENANCE: 'off' });
  const { code, out } = await sonant(['inspect', 'plain.mp3', '--json']);
  expect([code, JSON.parse(out)]).toMatchObject([1, { authentic: false, manifest: null, record: null }]);
});

test.each([
  ['named.mp3', 'wav', 'sonant: warning: writing wav to named.mp3, despite its extension\n'],
  ['named.ogg', 'opus', ''],
  ['named.WAV', 'wav', ''],
  ['named.sound', 'wav', ''],
])('%s as %s is made, with a warning where its name says another format', async (output, format, told) => {
  const { code, err } = await sonant(['say', 'Hi.', '-o', output, '--format', format]);
  expect([code, err]).toEqual([0, told]);
  const magic = readFileSync(join(folder, output)).toString('latin1', 0, 4);
  expect(magic).toBe(format === 'wav' ? 'RIFF' : 'OggS');
});

test('speaks a text over the limit of a request', async () => {
  const { code, out } = await sonant(
    ['say', '-o', 'long.pcm', '-r', '4', '--sample-rate', '24000', '--json'],
    'A short sentence. '.repeat(400),
  );
  expect(code).toBe(0);
  expect(JSON.parse(out).chars).toBe(7_200);
  expect(readFileSync(join(folder, 'long.pcm')).length).toBe(JSON.parse(out).bytes);
});

test('says that the engine follows no instructions and takes no seed', async () => {
  const asked = ['--instructions', 'Whisper.', '--seed', '7', '--json'];
  const { code, out, err } = await sonant(['say', 'Hi.', '-o', 'whisper.wav', ...asked]);
  expect([code, err]).toEqual([0, 'sonant: warning: ignored, no effect here: instructions, seed\n']);
  expect(JSON.parse(out).warnings).toEqual(['ignored:instructions', 'ignored:seed']);
});

test('says that nothing could be spoken', async () => {
  const { code, err } = await sonant(['say', '🎉', '-o', 'silence.wav']);
  expect(code).toBe(0);
  expect(err).toContain('nothing');
});

test.each<[string, string[], number, RegExp]>([
  ['an unknown voice', ['say', 'Hi.', '-o', 'x.wav', '-v', 'nobody'], 2, /voice not found/],
  [
    'several faults',
    ['say', 'Hi.', '-o', 'x.wav', '--sample-rate', '8000', '-r', '9', '--seed', '1.5'],
    2,
    /--sample-rate.*\n.*--seed.*\n.*--speaking-rate/,
  ],
  ['an unknown ending', ['say', 'Hi.', '-o', 'x.aac'], 2, /\.aac/],
  ['an unknown format', ['say', 'Hi.', '-o', 'x', '-f', 'aac'], 2, /wav, pcm, mp3, opus, flac/],
  ['an unknown flag', ['say', 'Hi.', '--loud'], 2, /--loud/],
  ['a folder for a file', ['say', 'Hi.', '-o', '.', '-f', 'wav'], 2, /folder/],
  ['text in several arguments', ['say', 'Hi', 'you', '-o', 'x.wav'], 2, /quotes: it arrived as several arguments\n/],
  ['an option that npm took', ['say', 'Hi', 'x.wav'], 2, /npm run -s sonant -- say "Hello." -o hello.wav/],
  ['no text', ['say', '-o', 'x.wav'], 2, /standard input is empty; add a text: sonant say "Hello." -o hello.wav/],
  [
    'a language that the voice does not speak',
    ['say', 'Hi.', '-o', 'x.wav', '-v', 'arthur', '-l', 'de'],
    2,
    /--language/,
  ],
  ['no command of that name', ['sing'], 2, /sing/],
  ['half a command', ['voice'], 2, /usage: sonant voice list/],
])('%s is explained, and leaves no file', async (_, args, code, words) => {
  const ended = await sonant(args);
  expect(ended.err).toMatch(words);
  expect(ended.err).not.toMatch(/\n\s+at |\bE[A-Z]{4,}|\.part-/);
  expect(ended.code).toBe(code);
  expect(readdirSync(folder).filter((name) => name.startsWith('x'))).toEqual([]);
});

test('interrupted, it leaves no file and exits with 130', async () => {
  const child = spawn(process.execPath, [main, 'say', '-o', 'never.wav'], { cwd: folder });
  child.stdin.end('This will take a while. '.repeat(20_000));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  await expect.poll(() => readdirSync(folder).some((name) => name.startsWith('never.wav.part'))).toBe(true);
  child.kill('SIGINT');
  expect(await ended).toBe(130);
  expect(readdirSync(folder).filter((name) => name.startsWith('never'))).toEqual([]);
});

test('a language chooses its voice', async () => {
  const noEspeak = { SONANT_ESPEAK_LIBRARY: '' };
  const scottish = await sonant(['say', 'Hi.', '-o', 'scottish.wav', '-l', 'en-GB', '--json'], '', noEspeak);
  const voices = JSON.parse((await sonant(['voice', 'list', '--language', 'en-GB', '--json'], '', noEspeak)).out);
  expect(JSON.parse(scottish.out).voice_id).toBe(voices[0].voice_id);
  const german = await sonant(['say', 'Hallo.', '-o', 'x.wav', '-l', 'de'], '', noEspeak);
  expect(german).toMatchObject({ code: 2, err: expect.stringContaining('no voice speaks de') });
});

test('a language that is found for each sentence chooses no voice', async () => {
  const spoken = await sonant(['say', 'Hi there.', '-o', 'auto.wav', '-l', 'auto', '--json', '--timestamps']);
  const voices = JSON.parse((await sonant(['voice', 'list', '--json'])).out);
  const { voice_id, words } = JSON.parse(spoken.out);
  expect(voice_id).toBe(voices[0].voice_id);
  expect(words).toMatchObject([
    { text: 'Hi', language_code: voices[0].language_codes[0] },
    { text: 'there', language_code: voices[0].language_codes[0] },
  ]);
});

test('a text may look like a flag, and an empty name is no file', async () => {
  expect((await sonant(['say', '-o', 'flag.wav', '--', '--help'])).code).toBe(0);
  expect(existsSync(join(folder, 'flag.wav'))).toBe(true);
  expect((await sonant(['say', 'Hi.', '-o', '', '-f', 'wav'])).code).toBe(2);
  expect(readdirSync(folder).filter((name) => name.includes('.part'))).toEqual([]);
});

test.each<[string, Buffer, RegExp]>([
  ['in Latin-1', Buffer.from('caf\xe9 au lait', 'latin1'), /it is not UTF-8 \(byte 0xe9 at offset 3\);/],
  ['that ends within a character', Buffer.from('\ufffd is fine, \u20ac').subarray(0, -1), /byte 0xe2 at offset 13\)/],
  ['without an end', Buffer.alloc(17 << 20, 'yes\n'), /it is longer than 16 MiB;/],
])('a text %s is refused, in a file and on standard input', async (_, bytes, fault) => {
  writeFileSync(join(folder, 'odd.txt'), bytes);
  const read = await sonant(['say', '-i', 'odd.txt', '-o', 'x.wav']);
  const piped = await sonant(['say', '-o', 'x.wav'], bytes);
  expect(read).toMatchObject({ code: 2, err: expect.stringMatching(/^sonant: cannot read odd\.txt: [^\n]*\n$/) });
  expect(piped).toMatchObject({ code: 2, err: expect.stringMatching(/^sonant: cannot read standard input: /) });
  for (const words of [read.err, piped.err]) expect(words).toMatch(fault);
  expect(existsSync(join(folder, 'x.wav'))).toBe(false);
});

test.skipIf(!existsSync('/dev/urandom'))('random bytes are no text', async () => {
  const { code, err } = await sonant(['say', '-i', '/dev/urandom', '-o', 'x.wav']);
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringMatching(/^[^\n]*not UTF-8 \(byte 0x\w\w at offset \d+\);/),
  });
});

test('a device is written to, not replaced', async () => {
  expect((await sonant(['say', 'Hi.', '-o', '/dev/null', '-f', 'wav'])).code).toBe(0);
  expect(readFileSync('/dev/null').length).toBe(0);
  expect(existsSync('/dev/null')).toBe(true);
});

test('a file is inspected where no database is', async () => {
  const { code, out, err } = await runSonant(folder, ['inspect', 'hello.wav']);
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/MADE HERE +no record/);
  expect(out).toMatch(/MANIFEST +valid/);
});

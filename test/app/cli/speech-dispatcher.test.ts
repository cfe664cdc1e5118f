// Tests the module for Speech Dispatcher through its protocol, and the file that `install` writes.
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { serveSpeechDispatcher } from '../../../src/app/cli/speech-dispatcher-module.ts';
import { openApp } from '../../../src/app/command-line.ts';
import { loadConfig } from '../../../src/app/config.ts';
import { defineTone } from '../../engines/tone-engine.ts';
import { newFolder } from '../../new-folder.ts';
import { runMain } from './run-main.ts';

/** Opens the module, and collects its output: lines, and the samples of the audio events. */
async function openModule() {
  const definitions = [defineTone()];
  const folder = newFolder();
  const config = loadConfig({ env: { SONANT_DATA_DIR: folder }, folder, engines: definitions });
  const app = await openApp(config, definitions);
  const input = new PassThrough();
  let written = Buffer.alloc(0);
  const ended = serveSpeechDispatcher(app, input, (data) => {
    written = Buffer.concat([written, Buffer.from(data)]);
  });
  onTestFinished(async () => {
    input.end('QUIT\n');
    await ended;
    await app.close();
  });
  let readTo = 0;
  /** Sends commands, waits for the line `last`, and returns all lines since the previous call. */
  const send = async (text: string, last: string) => {
    input.write(text);
    const lines = () => split(written.subarray(readTo));
    await expect.poll(() => lines().some(({ line }) => line === last), { timeout: 20_000, interval: 5 }).toBe(true);
    const found = lines();
    readTo = written.length;
    return { lines: found.map(({ line }) => line), samples: found.flatMap(({ samples }) => samples ?? []) };
  };
  return { send, readRest: () => split(written.subarray(readTo)) };
}

/** Splits the output into lines. A line of audio has its samples, without the escapes. */
function split(data: Buffer): { line: string; samples?: number[] }[] {
  const lines: { line: string; samples?: number[] }[] = [];
  for (let at = 0; at < data.length; ) {
    const end = data.indexOf('\n', at);
    if (end < 0) break;
    const line = data.subarray(at, end);
    at = end + 1;
    const zero = line.indexOf(0);
    if (zero < 0 || !line.toString('latin1').startsWith('705-AUDIO')) lines.push({ line: String(line) });
    else {
      const bytes: number[] = [];
      for (let i = zero + 1; i < line.length; i++) bytes.push(line[i] === 0x7d ? line[++i]! ^ 0x20 : line[i]!);
      const samples = Buffer.from(bytes);
      lines.push({
        line: '705-AUDIO',
        samples: Array.from({ length: samples.length / 2 }, (_, i) => samples.readInt16LE(2 * i)),
      });
    }
  }
  return lines;
}

const events = (lines: readonly string[]) => lines.filter((line) => !line.startsWith('705'));
const peakOf = (samples: readonly number[]) => samples.reduce((peak, each) => Math.max(peak, Math.abs(each)), 0);
const set = (settings: string) => `SET\n${settings}\n.\n`;

test('it starts, has the audio played by the server, and lists its voices', async () => {
  const { send } = await openModule();
  expect((await send('INIT\n', '299 OK LOADED SUCCESSFULLY')).lines).toHaveLength(2);
  await send('AUDIO\naudio_output_method=server\n.\n', '203 OK AUDIO INITIALIZED');
  await send('AUDIO\naudio_output_method=alsa\n.\n', '300 MODULE ERROR');
  await send('LOGLEVEL\nlog_level=4\n.\n', '203 OK LOG LEVEL SET');
  await send('DEBUG ON /tmp/x\n', '200 OK DEBUGGING');
  const { lines } = await send('LIST VOICES\n', '200 OK VOICE LIST SENT');
  expect(lines).toContain('200-tone-low\ten\tnone');
  await send('NONSENSE\n', '300 ERR UNKNOWN COMMAND');
});

test('a message is spoken with its marks, then characters, keys and names of icons', async () => {
  const { send } = await openModule();
  const { lines, samples } = await send('SPEAK\n<speak>One <mark name="__spd_0"/>two three.</speak>\n\n.\n', '702 END');
  expect(events(lines)).toEqual([
    '202 OK RECEIVING MESSAGE',
    '200 OK SPEAKING',
    '701 BEGIN',
    '700-__spd_0',
    '700 INDEX MARK',
    '702 END',
  ]);
  const counts = lines.flatMap((line) => (line.startsWith('705-num_samples=') ? [Number(line.slice(16))] : []));
  expect(counts.reduce((all, count) => all + count, 0)).toBe(samples.length);
  expect(samples.length).toBeGreaterThan(12_000);
  expect(peakOf(samples)).toBeGreaterThan(1000);
  for (const [command, text] of [
    ['CHAR', 'a'],
    ['CHAR', ' '],
    ['CHAR', '&'],
    ['KEY', 'Control_a'],
    ['SOUND_ICON', 'message'],
    ['SPEAK', 'broken & <speak> text'],
    ['SPEAK', '..a line that begins with a dot'],
  ]) {
    const spoken = await send(`${command}\n${text}\n.\n`, '702 END');
    expect([text, peakOf(spoken.samples) > 1000]).toEqual([text, true]);
  }
  await send('SPEAK\n\n.\n', '301 ERROR CANT SPEAK');
});

test('rate, volume and voice are those that the client sets', async () => {
  const { send } = await openModule();
  const speak = async (settings: string) => {
    await send(
      set(`pitch=0\nrate=0\nvolume=100\nlanguage=en\nsynthesis_voice=NULL\nvoice=MALE1\n${settings}`),
      '203 OK SETTINGS RECEIVED',
    );
    return (await send('SPEAK\n<speak>One two three four.</speak>\n.\n', '702 END')).samples;
  };
  const usual = await speak('');
  expect((await speak('rate=50')).length / usual.length).toBeCloseTo(0.5, 1);
  expect((await speak('rate=-50')).length / usual.length).toBeCloseTo(2, 0);
  expect(peakOf(await speak('volume=0')) / peakOf(usual)).toBeCloseTo(0.5, 1);
  const other = await speak('synthesis_voice=tone-high');
  expect(other.slice(0, 4000)).not.toEqual(usual.slice(0, 4000));
  expect(await speak('language=xx')).toHaveLength(usual.length);
});

test('STOP and PAUSE end the message at once, and nothing follows but the next one', async () => {
  const { send, readRest } = await openModule();
  const long = `SPEAK\n<speak>${'word '.repeat(200)}</speak>\n.\n`;
  for (const [command, event] of [
    ['STOP', '703 STOP'],
    ['PAUSE', '704 PAUSE'],
  ] as const) {
    await send(long, '705 AUDIO');
    const { lines } = await send(`${command}\n`, event);
    expect(events(lines)).toEqual([event]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(readRest()).toEqual([]);
  }
  // While no message is spoken, these commands have no effect.
  const { lines } = await send('STOP\nPAUSE\nLIST VOICES\n', '200 OK VOICE LIST SENT');
  expect(lines.every((line) => line.startsWith('200'))).toBe(true);
  await send('SPEAK\n<speak>Next.</speak>\n.\n', '702 END');
});

test('install writes one program, which uninstall removes, and neither touches a file of another program', async () => {
  const home = newFolder();
  const run = (action: string, env = {}) => runMain(home, ['speech-dispatcher', action], '', { HOME: home, ...env });
  const path = join(home, '.local/libexec/speech-dispatcher-modules/sd_sonant');
  const { code, out } = await run('install', { SONANT_DATA_DIR: "it's here" });
  expect([code, out]).toEqual([0, expect.stringContaining(path)]);
  expect(statSync(path).mode & 0o777).toBe(0o755);
  expect(existsSync(join(home, '.local/share'))).toBe(true);
  expect(readFileSync(path, 'utf8')).toMatch(/SONANT_DATA_DIR='.*it'\\''s here' exec '.*node' '.*sonant.js'/);
  expect((await run('install')).code).toBe(0);
  expect((await run('uninstall')).out).toContain(`removed ${path}`);
  expect((await run('uninstall')).out).toContain('nothing was installed');
  expect(existsSync(path)).toBe(false);
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, 0o755);
  for (const action of ['install', 'uninstall'])
    expect(await run(action)).toMatchObject({ code: 1, err: expect.stringContaining('not Sonant') });
  expect(readFileSync(path, 'utf8')).toBe('#!/bin/sh\n');
  expect((await run('remove')).code).toBe(2);
});

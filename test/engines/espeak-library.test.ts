// Tests eSpeak NG's library in child processes: the engine contract, the same audio as eSpeak NG's own program, word
// times, and segments whose process crashes, hangs or is missing.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Engine, Segment, WordTime } from '../../src/engines/engine.ts';
import { type EspeakNgOptions, espeakNg, openEspeakNg, toSpokenText } from '../../src/engines/espeak-ng/espeak-ng.ts';
import { parseEspeakVoices } from '../../src/engines/espeak-ng/espeak-voices.ts';
import { type LibraryRequest, libraryCodec } from '../../src/engines/espeak-ng/library-frames.ts';
import { withoutInnerStops } from '../../src/engines/inner-stops.ts';
import { join as joinPieces } from '../../src/platform/pcm.ts';
import { engineConformance } from '../conformance/engine.ts';
import { newFolder } from '../new-folder.ts';
import { isInstalled } from '../programs.ts';
import { isAlive } from './is-alive.ts';
import { type OpenedGuard, openGuard } from './open-guard.ts';

const library = 'libespeak-ng.so.1';
const sources = join(import.meta.dirname, '../../src');

engineConformance('espeak-ng', () => openEspeakNg(), { needs: `the library ${library}` });

const longText = 'The boat left the harbour early, long before the sun came up. Nobody on the quay had seen it go.';

describe('the library of eSpeak NG', { timeout: 60_000 }, () => {
  const opened: OpenedGuard[] = [];
  let hasLibrary = false;

  beforeAll(async () => {
    const engine = await openEspeakNg();
    hasLibrary = engine !== undefined;
    await engine?.close();
  });
  beforeEach((context) => context.skip(!hasLibrary, 'the library of eSpeak NG was not found'));
  afterAll(() => Promise.all(opened.map((guard) => guard.close())));

  /** Opens the engine. Also returns the ids of the started processes. */
  const open = async (options: Partial<EspeakNgOptions> = {}) => {
    const pids: number[] = [];
    const engine = (await openEspeakNg({ ...options, onStart: (pid) => pids.push(pid!) }))!;
    const guard = openGuard(engine);
    opened.push(guard);
    return { engine, guard, pids };
  };
  const segment = (engine: Engine, text: string, asked: Partial<Segment> = {}): Segment => {
    const voice = engine.voices.find(({ voiceId }) => voiceId === 'espeak-en-us')!;
    return { voice, text, languageCode: 'en-US', speakingRate: 1, timings: false, urgent: false, ...asked };
  };
  const never = new AbortController().signal;
  const hear = async (engine: Engine, text: string, asked?: Partial<Segment>, signal = never) => {
    const heard: Int16Array[] = [];
    const words: WordTime[] = [];
    for await (const piece of engine.speak(segment(engine, text, asked), signal)) {
      heard.push(piece.samples);
      words.push(...(piece.words ?? []));
    }
    return { samples: joinPieces(Int16Array, heard), words };
  };
  const bytesOf = ({ samples }: { samples: Int16Array }): Buffer =>
    Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  test.skipIf(!isInstalled('espeak-ng'))(
    'sounds as its own program does, byte for byte, and has the same voices',
    async () => {
      const { engine } = await open();
      const outputOf = (args: readonly string[], input = '') => execFileSync('espeak-ng', args, { input });
      const voices = parseEspeakVoices(outputOf(['--voices']).toString());
      expect(engine.voices).toMatchObject(voices.map(({ file: _, ...voice }) => voice));
      const texts = [
        longText,
        'Good morning.',
        'Dr. Smith paid $1,234.50 on 3rd May 1999; (who knew?)',
        'Привет, Hello, 你好!',
      ];
      const speeds = [
        { speakingRate: 0.93, wordsPerMinute: 164 },
        { speakingRate: 1, wordsPerMinute: 175 },
        { speakingRate: 1.07, wordsPerMinute: 186 },
      ];
      for (const [n, { voiceId, file }] of voices.entries()) {
        // Tests every eighth voice, and a voice with noisy breath. The program itself does not repeat Arabic exactly.
        if ((n % 8 !== 0 && voiceId !== 'espeak-lv') || voiceId === 'espeak-ar') continue;
        const voice = engine.voices.find((each) => each.voiceId === voiceId)!;
        const { speakingRate, wordsPerMinute } = speeds[n % speeds.length]!;
        const text = texts[n % texts.length]!;
        const heard = await hear(engine, text, { voice, speakingRate, timings: n % 2 === 0 });
        const how = ['-v', file, '-s', `${wordsPerMinute}`, '-a', '80'];
        const wav = outputOf(
          ['--stdin', '--stdout', '-b', '1', ...how],
          toSpokenText({ text: withoutInnerStops(text) }).text,
        );
        expect(bytesOf(heard).equals(wav.subarray(44)), `${voiceId} ${text}`).toBe(true);
      }
    },
  );

  test('its processes see none of the secrets in the environment', async (context) => {
    context.skip(process.platform !== 'linux', 'reads /proc');
    process.env.SONANT_SECRET_OF_THE_HOUSE = 'hush';
    context.onTestFinished(() => {
      delete process.env.SONANT_SECRET_OF_THE_HOUSE;
    });
    const { pids } = await open();
    expect(readFileSync(`/proc/${pids[0]}/environ`, 'latin1')).not.toContain('SONANT');
  });

  test('a segment is stopped also by what its process reads along with it', async () => {
    const file = join(sources, 'engines/espeak-ng/library-child.ts');
    const soundOf = async (...more: string[]) => {
      const child = spawn(process.execPath, [file, library], { stdio: ['pipe', 'pipe', 'inherit'] });
      const { promise, resolve } = Promise.withResolvers<void>();
      let sampleCount = 0;
      const parse = libraryCodec.createParser((reply) => {
        if (reply.is === 'pieces') sampleCount += reply.pieces[0]!.length;
        if (reply.is === 'done') resolve();
      });
      child.stdout.on('data', parse);
      const how = { voice: 'gmw/en-US', wordsPerMinute: 175, amplitude: 80, pitch: 50, marks: false };
      const request: LibraryRequest = { text: longText, ...how };
      child.stdin.write([JSON.stringify(request), ...more, ''].join('\n'));
      await promise;
      child.stdin.end();
      return sampleCount;
    };
    expect(await soundOf('stop')).toBeLessThan((await soundOf()) / 2);
  });

  test('times each word where it is heard', async () => {
    const { engine } = await open();
    const text = 'One [[two]] \u0001three, 你好 1999 — “four” of the 😀 five.';
    const { words, samples } = await hear(engine, text, { timings: true });
    const found = words.map(({ from, to }) => text.slice(from, to));
    expect(found.map((each) => each.replace(/\s+/g, ' ')).join(' ')).toContain('three,');
    for (const word of ['One', '“four”', 'five.'])
      expect(
        found.some((each) => each.includes(word)),
        word,
      ).toBe(true);
    const five = words.at(-1)!;
    expect(text.slice(five.from, five.to)).toBe('five.');
    const heardAt = (seconds: number) =>
      samples.slice(Math.round(seconds * 22_050), Math.round(seconds * 22_050) + 1_000);
    expect(heardAt(five.startSeconds).some((sample) => Math.abs(sample) > 500)).toBe(true);
    // The pause at the end belongs to no word.
    expect(five.endSeconds).toBeLessThan(samples.length / 22_050 - 0.1);
    const [one, four] = ['One', '“four”'].map(
      (word) => words.find(({ from, to }) => text.slice(from, to).includes(word))!,
    );
    expect(four!.startSeconds).toBeGreaterThan(one!.endSeconds);
  });

  test('speaks 64 segments at once, in as many processes as there are cores at most', async () => {
    const { engine, guard, pids } = await open({ processesMax: 2 });
    const alone = await hear(engine, longText);
    const sizes = Array.from({ length: 64 }, async (_, n) => {
      let size = 0;
      for await (const { samples } of guard.speak(segment(engine, longText), `caller-${n % 7}`, never))
        size += samples.length;
      return size;
    });
    expect(new Set(await Promise.all(sizes))).toEqual(new Set([alone.samples.length]));
    expect(pids.length).toBeLessThanOrEqual(2);
  });

  test('a crash fails its segment only, and it may be tried again', async () => {
    const { engine, guard, pids } = await open();
    const before = await hear(engine, longText);
    const speech = engine.speak(segment(engine, longText), never)[Symbol.asyncIterator]();
    await speech.next();
    process.kill(pids[0]!, 'SIGSTOP');
    const other = hear(engine, longText);
    process.kill(pids[0]!, 'SIGSEGV');
    process.kill(pids[0]!, 'SIGCONT');
    const rest = async () => {
      while (!(await speech.next()).done);
    };
    await expect(rest()).rejects.toMatchObject({
      reason: 'engine_error',
      facts: { retryAfterSeconds: 0 },
      cause: expect.objectContaining({ message: expect.stringContaining('SIGSEGV') }),
    });
    expect(bytesOf(await other).equals(bytesOf(before))).toBe(true);
    // With the guard, if a process dies before any audio, the next process speaks the segment.
    process.kill(pids.at(-1)!, 'SIGKILL');
    let size = 0;
    for await (const { samples } of guard.speak(segment(engine, longText), 'caller', never)) size += samples.length;
    expect(size).toBe(before.samples.length);
  });

  test('a process that hangs is killed after an abort, and replaced', async () => {
    const { engine, pids } = await open({ stopMsMax: 100 });
    const before = await hear(engine, longText);
    const leaving = new AbortController();
    process.kill(pids[0]!, 'SIGSTOP');
    const left = hear(engine, longText, {}, leaving.signal).catch((error: unknown) => error);
    await sleep(50);
    leaving.abort('left');
    expect(await left).toBe('left');
    await expect.poll(() => isAlive(pids[0]!)).toBe(false);
    expect(bytesOf(await hear(engine, longText)).equals(bytesOf(before))).toBe(true);
    expect(pids.length).toBe(2);
  });

  test('an abort stops the synthesis, and the process speaks the next segment', async () => {
    const { engine, pids } = await open();
    const before = await hear(engine, longText);
    const longest = `${longText} `.repeat(200);
    for (let n = 0; n < 5; n++) {
      for await (const { samples } of engine.speak(segment(engine, longest), never)) {
        expect(samples.length).toBeGreaterThan(0);
        break;
      }
    }
    expect(bytesOf(await hear(engine, longText)).equals(bytesOf(before))).toBe(true);
    expect(pids.length).toBe(1);
  });

  test('a reader that stalls stops its process, and gets the rest when it reads on', async () => {
    const { engine } = await open();
    const longest = `${longText} `.repeat(40);
    const whole = await hear(engine, longest);
    const pieces: Int16Array[] = [];
    const held = process.memoryUsage().arrayBuffers;
    for await (const { samples } of engine.speak(segment(engine, longest), never)) {
      pieces.push(samples);
      if (pieces.length === 1) await sleep(500);
      // Only a small part of the 10 MB was produced in the meantime.
      if (pieces.length === 1) expect(process.memoryUsage().arrayBuffers - held).toBeLessThan(2_000_000);
    }
    expect(bytesOf({ samples: joinPieces(Int16Array, pieces) }).equals(bytesOf(whole))).toBe(true);
  });

  test('a process that is idle or worn out is ended, and closing ends all', async () => {
    const { engine, pids } = await open({ idleMsMax: 50 });
    await expect.poll(() => isAlive(pids[0]!)).toBe(false);
    await Promise.all([hear(engine, longText), hear(engine, longText)]);
    expect(pids.length).toBe(3);
    await engine.close();
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
    await expect(hear(engine, longText)).rejects.toMatchObject({ reason: 'engine_unavailable' });
  });

  test('a process ends with its parent, also while it hangs', async () => {
    const script = `
      let started;
      const { openEspeakNg } = await import(${JSON.stringify(join(sources, 'engines/espeak-ng/espeak-ng.ts'))});
      await openEspeakNg({ onStart: (pid) => (started = pid) });
      process.kill(started, 'SIGSTOP');
      console.log(started);
      process.kill(process.pid, 'SIGKILL');`;
    let output = '';
    try {
      execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    } catch (error) {
      output = String((error as { stdout: string }).stdout);
    }
    expect(output).toMatch(/^\d+\n$/);
    await expect.poll(() => isAlive(Number(output))).toBe(false);
  });

  test('is absent where it or koffi is not installed, and doctor says which package brings it', async () => {
    const folder = newFolder();
    // Copies the sources, with only the package that reads their tables.
    await cp(sources, join(folder, 'src'), { recursive: true });
    await mkdir(join(folder, 'node_modules/koffi'), { recursive: true });
    await symlink(join(sources, '../node_modules/smol-toml'), join(folder, 'node_modules/smol-toml'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const script = `
      const { espeakNg } = await import('./src/engines/espeak-ng/espeak-ng.ts');
      const settings = { library: '${library}' };
      console.log(JSON.stringify([await espeakNg.inspect(settings, '.'), (await espeakNg.open(settings, '.')) ?? null]));`;
    const args = ['--input-type=module', '-e', script];
    const absent = () => JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }));
    const report = (message: string) => [{ state: 'absent', message }, null];
    expect(absent()).toEqual(report('koffi is not installed; install it with "npm install koffi"'));
    // This package loads nothing, like koffi on a machine without the library.
    await writeFile(join(folder, 'node_modules/koffi/package.json'), '{"exports":"./koffi.js"}');
    const fault = `Failed to load shared library: ${library}: cannot open shared object file: No such file or directory`;
    const loader = `exports.load = () => { throw new Error('${fault}'); };`;
    await writeFile(join(folder, 'node_modules/koffi/koffi.js'), loader);
    expect(absent()).toEqual(report(`${library} is not installed; install it with "apt install libespeak-ng1"`));
  });

  test('is ready, or turned off, or broken where another was asked for', async () => {
    const folder = newFolder();
    const inspect = (name: string) => espeakNg.inspect({ library: name }, folder);
    const open = async (name: string) => espeakNg.open({ library: name }, folder);
    expect(await inspect(library)).toMatchObject({
      state: 'ready',
      message: expect.stringMatching(/^version \d\S*, \d+ voices$/),
    });
    expect(await inspect('')).toMatchObject({ state: 'absent', message: expect.stringContaining('turned off') });
    expect(await open('')).toBeUndefined();
    const message = expect.stringContaining('libnone-such.so');
    expect(await inspect('libnone-such.so')).toEqual({ state: 'broken', message });
    await expect(open('libnone-such.so')).rejects.toMatchObject({ reason: 'engine_unavailable', cause: { message } });
  });
});

// eSpeak NG itself where it is installed, and programs that only pretend to be it: whatever they do, a segment ends in
// sound or a Failure, and no process is left.
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine, Segment } from '../../src/engines/engine.ts';
import type { EspeakNgOptions } from '../../src/engines/espeak-ng/espeak-ng.ts';
import { espeakNg, openEspeakNg } from '../../src/engines/espeak-ng/espeak-ng.ts';
import { parseEspeakVoices } from '../../src/engines/espeak-ng/espeak-voices.ts';
import { engineConformance } from '../conformance/engine.ts';
import { isAlive } from './is-alive.ts';
import { type OpenedGuard, openGuard } from './open-guard.ts';

engineConformance('espeak-ng, by its program,', () => openEspeakNg({ program: 'espeak-ng' }), {
  needs: 'the program espeak-ng',
});

const header = 'Pty Language       Age/Gender VoiceName          File                 Other Languages';
const table = (...rows: string[]): string => [header, ...rows, ''].join('\n');

describe('the table of voices', () => {
  test('gives each language a voice with canonical tags and a name for people', () => {
    const voices = parseEspeakVoices(
      table(
        ' 5  cmn             --/M      Chinese_(Mandarin) sit/cmn              (zh-cmn 5)(zh 5)',
        ' 5  en-gb-x-rp      --/M      English_(Received_Pronunciation) gmw/en-GB-x-rp       (en-gb 4)(en 5)',
        ' 5  en-us-nyc       --/M      English_(America,_New_York_City) gmw/en-US-nyc        ',
        ' 5  pt-br           --/F      Portuguese_(Brazil) roa/pt-BR            (pt 6)',
        ' 5  sjn             --/M      Sindarin           art/sjn              ',
      ),
    );
    expect(voices.map(({ voiceId, name, languageCodes }) => [voiceId, name, languageCodes])).toEqual([
      ['espeak-cmn', 'Chinese (eSpeak NG)', ['zh']],
      ['espeak-en-gb-x-rp', 'English (Received Pronunciation) (eSpeak NG)', ['en-GB-x-rp', 'en', 'en-GB']],
      ['espeak-en-us-nyc', 'English (America, New York City) (eSpeak NG)', ['en-US-x-nyc', 'en']],
      ['espeak-pt-br', 'Portuguese (Brazil) (eSpeak NG)', ['pt-BR', 'pt']],
      ['espeak-sjn', 'Sindarin (eSpeak NG)', ['sjn']],
    ]);
    expect(voices.map(({ labels }) => labels.gender)).toEqual(['male', 'male', 'male', 'female', 'male']);
  });

  test('leaves out second voices of a language, what has no tag, and what is no row', () => {
    const rows = [
      ' 5  yue  --/M  Chinese_(Cantonese)  sit/yue  (zh 8)',
      ' 5  yue  --/M  Chinese_(Jyutping)  sit/yue-Latn-jyutping',
      ' 5  piqd  --/M  Klingon  art/piqd',
      ' 5  de  --/M  german-mbrola  mb/mb-de1',
      ' 5  --help  --/M  Option  gmw/en',
      ' 5  fr  --/M  Escape  ../../etc/passwd',
      'espeak-ng: something is wrong with the data',
      '\0\u001b[31m',
    ];
    expect(parseEspeakVoices(table(...rows)).map(({ file }) => file)).toEqual(['sit/yue']);
    expect(parseEspeakVoices('')).toEqual([]);
  });
});

describe('a program in place of eSpeak NG', { timeout: 20_000 }, () => {
  let folder: string;
  const guards = new Map<Engine, OpenedGuard>();

  const inFolder = (name: string): string => join(folder, name);
  const textOf = async (name: string): Promise<string> => (await readFile(inFolder(name), 'utf8')).trim();

  /** A shell script that lists one voice and then does what it is told to. It notes its process in `pids`. */
  const write = async (name: string, does: string): Promise<string> => {
    const lists = `[ "$1" = --voices ] && { printf '%s\\n' ' 5  en-us  --/M  English  gmw/en-US  (en 3)'; exit 0; }
[ "$1" = --version ] && { echo 'eSpeak NG text-to-speech: 1.51.1'; exit 0; }`;
    await writeFile(inFolder(name), `#!/bin/sh\ncd '${folder}'\n${lists}\necho $$ >> pids\n${does}\n`);
    await chmod(inFolder(name), 0o755);
    return inFolder(name);
  };
  const openWith = async (does: string, options: Partial<EspeakNgOptions> = {}): Promise<Engine> => {
    const program = await write(`program-${guards.size}`, does);
    const engine = (await openEspeakNg({ program, waitMsMax: 5_000, ...options }))!;
    guards.set(engine, openGuard(engine));
    return engine;
  };

  const segmentFor = (engine: Engine, text: string, urgent = false): Segment => {
    return { voice: engine.voices[0]!, text, languageCode: 'en-US', speakingRate: 1, timings: false, urgent };
  };
  const speak = (engine: Engine, text = 'Good morning.', signal = new AbortController().signal, urgent = false) =>
    guards.get(engine)!.speak(segmentFor(engine, text, urgent), 'caller', signal);
  /** How many samples come, if the sound comes to a good end. */
  const hear = async (...asked: Parameters<typeof speak>): Promise<number> => {
    let samples = 0;
    for await (const piece of speak(...asked)) samples += piece.samples.length;
    return samples;
  };
  const failureOf = (...asked: Parameters<typeof speak>) =>
    hear(...asked).then(
      () => expect.fail(),
      (error) => error,
    );

  const expectNoneAlive = async () => {
    expect(isAlive(process.pid)).toBe(true);
    const pids = (await textOf('pids')).split('\n');
    await expect.poll(() => pids.filter((pid) => isAlive(Number(pid)))).toEqual([]);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sonant-espeak-'));
    const wav = Buffer.alloc(44 + 2 * 11_025);
    wav.write('RIFF    WAVEfmt ', 0, 'latin1');
    for (const [at, value] of [
      [16, 16],
      [24, 22_050],
      [28, 44_100],
      [40, 0x7ffff000],
    ] as const)
      wav.writeUInt32LE(value, at);
    for (const [at, value] of [
      [20, 1],
      [22, 1],
      [32, 2],
      [34, 16],
    ] as const)
      wav.writeUInt16LE(value, at);
    wav.write('data', 36, 'latin1');
    for (let n = 0; n < 11_025; n++) wav.writeInt16LE(Math.round(4_000 * Math.sin(n / 10)), 44 + 2 * n);
    await writeFile(inFolder('good.wav'), wav);
    await writeFile(inFolder('header'), wav.subarray(0, 44));
    await writeFile(inFolder('cut.wav'), wav.subarray(0, 1_001));
    wav.writeUInt16LE(2, 22);
    await writeFile(inFolder('stereo.wav'), wav);
  });
  afterAll(async () => {
    await Promise.all(guards.values().map((guard) => guard.close()));
    await rm(folder, { recursive: true });
  });

  test('gets the text on stdin only, and none of the secrets in the environment', async () => {
    process.env.SONANT_SECRET_OF_THE_HOUSE = 'hush';
    const engine = await openWith('cat > input; echo "$@" > arguments; env > environment; cat good.wav');
    expect(await hear(engine, 'Say \u0001 40P [[[h@loU]] \0 now')).toBe(11_025);
    expect(await textOf('input')).toBe('Say   40P [ [ [h@loU]]   now');
    expect(await textOf('arguments')).toBe('--stdin --stdout -b 1 -v gmw/en-US -s 175 -a 80 -p 50');
    expect(await textOf('environment')).not.toContain('SONANT');
    delete process.env.SONANT_SECRET_OF_THE_HOUSE;
  });

  test.each([
    ['says nothing', 'exit 0'],
    ['says nothing and fails', 'exit 7'],
    ['says no WAV without end', 'exec yes nonsense'],
    ['says a WAV without end', 'cat header; exec cat /dev/zero'],
    ['says a header only', 'cat header'],
    ['says half a header', 'head -c 20 header'],
    ['says half a sample at the end', 'cat cut.wav'],
    ['says silence', 'cat header; head -c 40000 /dev/zero'],
    ['says stereo', 'cat stereo.wav'],
    ['fails after its sound', 'cat good.wav; exit 3'],
    ['is killed after its sound', 'cat good.wav; kill -SEGV $$'],
  ])('that %s is an engine_error', async (_, does) => {
    const engine = await openWith(does);
    expect(await failureOf(engine)).toMatchObject({
      name: 'Failure',
      reason: 'engine_error',
      cause: expect.any(Error),
    });
    await expectNoneAlive();
  });

  test('has the beginning of its error output logged', async () => {
    const engine = await openWith(
      'echo no such voice >&2; head -c 100000 /dev/zero | tr "\\0" x >&2; cat > /dev/null; exit 1',
    );
    const { cause } = await failureOf(engine);
    expect(cause.message).toMatch(/ended with 1: no such voice\nx{400}/);
    expect(cause.message.length).toBeLessThan(1_000);
  });

  test.each([
    ['does nothing', 'sleep 100 & echo $! >> pids; wait'],
    ['stops in the midst of its sound', 'cat good.wav; sleep 100'],
    ['closes its output and stays', 'cat good.wav; exec >&-; sleep 100'],
    ['trickles', 'cat header; while :; do printf aa; sleep 0.05; done'],
    ['complains without end', 'exec yes >&2'],
    ['ignores signals', 'trap "" TERM INT HUP PIPE; sleep 100'],
  ])('that %s is an engine_timeout, and is killed with all it has started', async (_, does) => {
    const engine = await openWith(does, { waitMsMax: 300 });
    expect(await failureOf(engine)).toMatchObject({ reason: 'engine_timeout' });
    await expectNoneAlive();
  });

  test('that leaves a process behind is heard, and the process ended', async () => {
    const engine = await openWith('sleep 100 & echo $! >> pids; cat good.wav');
    expect(await hear(engine)).toBe(11_025);
    await expectNoneAlive();
  });

  test('waits for a stalled reader without a timeout, and is killed when the reader aborts', async () => {
    const engine = await openWith('cat good.wav; head -c 6000000 /dev/zero; touch ended; sleep 100', {
      waitMsMax: 400,
    });
    for await (const piece of engine.speak(segmentFor(engine, 'Good morning.'), new AbortController().signal)) {
      expect(piece.samples.length).toBeGreaterThan(0);
      await sleep(800);
      break;
    }
    await expect(textOf('ended')).rejects.toThrow('ENOENT');
    await expectNoneAlive();
  });

  test('frees its slot when it exits, not when its sound has been read', async () => {
    const engine = await openWith('cat good.wav', { runsAtOnce: 1 });
    const slowReader = speak(engine)[Symbol.asyncIterator]();
    await slowReader.next();
    expect(await hear(engine)).toBe(11_025);
    expect((await slowReader.next()).done).toBe(true);
  });

  test('runs urgent segments first, and none that were aborted in the queue', async () => {
    const engine = await openWith('cat >> order; echo >> order; sleep 0.1; cat good.wav', { runsAtOnce: 1 });
    const leaving = new AbortController();
    const { signal } = new AbortController();
    const all = [
      hear(engine, 'first'),
      hear(engine, 'third'),
      failureOf(engine, 'never', leaving.signal),
      hear(engine, 'second', signal, true),
    ];
    leaving.abort('left');
    expect(await Promise.all(all)).toEqual([11_025, 11_025, 'left', 11_025]);
    expect((await textOf('order')).split('\n')).toEqual(['first', 'second', 'third']);
  });

  test('is killed by an abort, and by closing, while it hangs', async () => {
    const engine = await openWith('sleep 100 & echo $! >> pids; wait', { runsAtOnce: 2 });
    const leaving = new AbortController();
    const left = failureOf(engine, 'one', leaving.signal);
    const others = [failureOf(engine, 'two'), failureOf(engine, 'three')];
    await sleep(100);
    leaving.abort('left');
    expect(await left).toBe('left');
    await guards.get(engine)!.close();
    await expectNoneAlive();
    for (const failure of await Promise.all(others)) expect(failure).toMatchObject({ reason: 'engine_unavailable' });
  });

  test('is absent where it is missing or turned off, and broken where it lists no voices', async () => {
    const cannot = inFolder('no-voices');
    await writeFile(cannot, '#!/bin/sh\necho bad data >&2\nexit 1\n', { mode: 0o755 });
    const ready = await write('ready', 'echo "eSpeak NG text-to-speech: 1.51.1  Data at: /x"');
    const open = (program: string) => espeakNg.open({ program, library: 'auto' }, folder);
    const inspect = (program: string) => espeakNg.inspect({ program, library: 'auto' }, folder);
    const missing = inFolder('none-such');

    expect(await open('')).toBeUndefined();
    expect(await open(missing)).toBeUndefined();
    await expect(open(cannot)).rejects.toMatchObject({ reason: 'engine_unavailable' });
    expect(await inspect('')).toMatchObject({ state: 'absent' });
    expect(await inspect(missing)).toMatchObject({ state: 'absent', message: expect.stringContaining('apt install') });
    expect(await inspect(cannot)).toMatchObject({ state: 'broken', message: expect.stringContaining('bad data') });
    expect(await inspect(ready)).toEqual({ state: 'ready', message: 'version 1.51.1, 1 voices, by its program' });
  });
});

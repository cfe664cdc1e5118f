// eSpeak NG: its bare library in a loop, the engine, and the way through the pipeline, at the library's own rate and at 24 kHz.
// CPU is that of all processes. Contenders have their turns in each round, and only costs of the same round are divided.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApp } from '../src/app/command-line.ts';
import { loadConfig } from '../src/config.ts';
import type { Engine, EngineDefinition } from '../src/engines/engine.ts';
import { espeakNg, openEspeakNg } from '../src/engines/espeak-ng/espeak-ng.ts';
import { parseSpeechRequest } from '../src/speech/request.ts';
import type { RawWork } from './espeak/raw-library.ts';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import { ownCpuMs } from './measuring/machine.ts';
import { drain } from './measuring/open-speech.ts';
import { type Cost, compare, cpuOf, cpuRatio } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const voiceId = 'espeak-en-us';
const rounds = 3;
/** Texts of a turn, by their length: the ticks in which the CPU of another process is told are 10 ms. */
const countOf = new Map([
  [60, 40],
  [1000, 3],
]);
const goalsMax = new Map([
  [60, { 22050: 1.5, 24000: 2 }],
  [1000, { 22050: 1.15, 24000: 1.5 }],
]);
const never = new AbortController().signal;
const tickMs = 10;

export const bench: Bench = {
  about: "eSpeak NG's bare library : the engine : through the pipeline (CPU of all processes)",
  async run() {
    const pids: number[] = [];
    let engine: Engine | undefined;
    const definition: EngineDefinition = {
      ...espeakNg,
      async open() {
        const library = 'libespeak-ng.so.1';
        engine = await openEspeakNg({ program: 'espeak-ng', library, onStart: (pid) => pids.push(pid!) });
        return engine;
      },
    };
    const folder = join(tmpdir(), 'sonant-bench-without-settings');
    const app = await openApp(loadConfig({ env: {}, folder, engines: [definition] }), [definition]);
    if (!engine?.capabilities.timings) throw new Error('libespeak-ng.so.1 and koffi are needed for this');
    const raw = fork(join(import.meta.dirname, 'espeak/raw-library.ts'), { execArgv: [] });
    const voice = engine.voices.find((each) => each.voiceId === voiceId)!;
    const asked = { voice, languageCode: 'en', speakingRate: 1, timings: false, urgent: false };
    const say = async (whole: string) => {
      for (const text of whole.match(/.{1,200}(\s|$)/gs)!)
        for await (const _ of engine!.speak({ ...asked, text }, never));
    };
    const speak = async (text: string, sampleRateHz: number) => {
      const request = parseSpeechRequest({ voice_id: voiceId, text, language_code: 'en', output_format: 'pcm' });
      await drain(app.speech.streamSpeech({ ...request, sampleRateHz }, { callerId: 'bench' }, never));
    };
    const measure = async (work: () => Promise<number | undefined>): Promise<Cost> => {
      const before = ownCpuMs() + cpuMsOf(pids);
      const told = await work();
      return { wallMs: 0, cpuMs: told ?? ownCpuMs() + cpuMsOf(pids) - before };
    };
    const rows: Cell[][] = [];
    const goals: Goal[] = [];
    for (const [chars, count] of countOf) {
      const texts = Array.from({ length: count }, (_, n) => passage(chars, n));
      const each = (work: (text: string) => Promise<void>) => async () => {
        for (const text of texts) await work(text);
        return undefined;
      };
      const contenders = {
        raw: () => rawCpuMs(raw, { texts, rounds: 1 }),
        engine: each(say),
        own: each((text) => speak(text, 22_050)),
        wanted: each((text) => speak(text, 24_000)),
      };
      const costs = await compare<keyof typeof contenders, () => Promise<number | undefined>>(contenders, {
        rounds,
        measure,
      });
      const ratio = (name: keyof typeof contenders) => cpuRatio([costs[name]], [costs.raw]);
      const cpu = Object.values(costs).map((cost) => cpuOf(cost) / count);
      rows.push([`${chars}`, ...cpu, ratio('engine'), ratio('own'), ratio('wanted')]);
      const max = goalsMax.get(chars)!;
      goals.push({
        name: `pipeline at 22 050 Hz/raw, ${chars} characters`,
        figure: ratio('own'),
        digits: 2,
        max: max[22_050],
      });
      goals.push({
        name: `pipeline at 24 kHz/raw, ${chars} characters`,
        figure: ratio('wanted'),
        digits: 2,
        max: max[24_000],
      });
    }
    raw.disconnect();
    await app.close();
    const names = ['raw ms', 'engine ms', '22 050 Hz ms', '24 kHz ms', 'engine/raw', '22 050 Hz/raw', '24 kHz/raw'];
    const columns = [{ name: 'characters' }, ...names.map((name) => ({ name, digits: 2 }))];
    return { tables: [{ title: 'CPU for a text, PCM, and its ratio to the bare library', columns, rows }], goals };
  },
};

async function rawCpuMs(child: ChildProcess, work: RawWork): Promise<number> {
  child.send(work);
  return (await once(child, 'message'))[0];
}

/** proc(5): fields 14 and 15; the second is a name in brackets. */
const cpuMsOf = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return sum + (Number(fields[11]) + Number(fields[12])) * tickMs;
  }, 0);

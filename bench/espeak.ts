// Compares eSpeak NG's bare library in a loop with the engine and the pipeline, at the library's own rate and at 24
// kHz. CPU time includes all processes. All contenders run in each round; ratios compare costs of one round only.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApp } from '../src/app/command-line.ts';
import { loadConfig } from '../src/app/config.ts';
import type { Engine, EngineDefinition } from '../src/engines/engine.ts';
import { espeakNg, openEspeakNg } from '../src/engines/espeak-ng/espeak-ng.ts';
import { parseSpeechRequest } from '../test/speech/parse-request.ts';
import { openRawLibrary } from './espeak/raw-process.ts';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import { ownCpuMs, threadsCpuMs } from './measuring/machine.ts';
import { drain } from './measuring/open-speech.ts';
import { compareCpu, cpuOf, cpuRatio } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const voiceId = 'espeak-en-us';
const rounds = 5;
/** V8 compiles the pipeline during the first few hundred texts. The bare library needs no warm-up. */
const warmUps = 16;
/** Number of texts per measurement, by length of text. */
const countOf = new Map([
  [60, 40],
  [1000, 4],
]);
const goalsMax = new Map([
  [60, { own: 1.5, wanted: 2, mp3: 5 }],
  [1000, { own: 1.15, wanted: 1.5, mp3: 5 }],
]);
const titles = { raw: 'raw', engine: 'engine', own: '22 050 Hz', wanted: '24 kHz', mp3: '24 kHz mp3' };
const never = new AbortController().signal;

export const bench: Bench = {
  about: "eSpeak NG's bare library, the engine, and the whole pipeline (CPU time of all processes)",
  async run() {
    const pids: number[] = [];
    let engine: Engine | undefined;
    const definition: EngineDefinition = {
      ...espeakNg,
      async open() {
        engine = await openEspeakNg({ onStart: (pid) => pids.push(pid!) });
        return engine;
      },
    };
    const folder = join(tmpdir(), 'sonant-bench-without-settings');
    const app = await openApp(loadConfig({ env: {}, folder, engines: [definition] }), [definition]);
    if (!engine) throw new Error('libespeak-ng.so.1 and koffi are needed for this');
    const raw = await openRawLibrary();
    const voice = engine.voices.find((each) => each.voiceId === voiceId)!;
    const asked = { voice, languageCode: 'en', speakingRate: 1, timings: false, urgent: false };
    const say = async (whole: string) => {
      for (const text of whole.match(/.{1,200}(\s|$)/gs)!)
        for await (const _ of engine!.speak({ ...asked, text }, never));
    };
    const speak = async (text: string, sampleRateHz: number, format = 'pcm') => {
      const request = parseSpeechRequest({ voice_id: voiceId, text, language_code: 'en', output_format: format });
      await drain(
        app.speech.streamSpeech({ ...request, sampleRateHz }, { callerId: 'bench', accountId: 'bench' }, never),
      );
    };
    const rows: Cell[][] = [];
    const goals: Goal[] = [];
    for (const [chars, count] of countOf) {
      const texts = Array.from({ length: count }, (_, n) => passage(chars, n));
      const cpuMs = () => ownCpuMs() + threadsCpuMs(pids);
      const each = (work: (text: string) => Promise<void>) => async () => {
        const before = cpuMs();
        for (const text of texts) await work(text);
        return cpuMs() - before;
      };
      const contenders = {
        raw: () => raw.cpuMsOf(texts),
        engine: each(say),
        own: each((text) => speak(text, 22_050)),
        wanted: each((text) => speak(text, 24_000)),
        mp3: each((text) => speak(text, 24_000, 'mp3')),
      };
      const costs = await compareCpu<keyof typeof contenders>(contenders, { rounds, warmUps });
      const ratio = (name: keyof typeof contenders) => cpuRatio([costs[name]], [costs.raw]);
      const cpu = Object.values(costs).map((cost) => cpuOf(cost) / count);
      rows.push([`${chars}`, ...cpu, ...(['engine', 'own', 'wanted', 'mp3'] as const).map(ratio)]);
      const max = goalsMax.get(chars)!;
      for (const way of ['own', 'wanted', 'mp3'] as const) {
        const name = `${titles[way]} / raw, ${chars} characters`;
        goals.push({ name, figure: ratio(way), digits: 2, max: max[way] });
      }
    }
    await raw.close();
    await app.close();
    const all = Object.values(titles);
    const names = [...all.map((name) => `${name} ms`), ...all.slice(1).map((name) => `${name}/raw`)];
    const columns = [{ name: 'characters' }, ...names.map((name) => ({ name, digits: 2 }))];
    return { tables: [{ title: 'CPU for a text, and its ratio to the bare library', columns, rows }], goals };
  },
};

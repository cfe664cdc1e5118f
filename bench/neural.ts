// Measures natural voices in the service, with real weights: the time to the first sound by each API, the real-time
// factor, CPU time and memory, several callers at once, and the first sound after an interrupt. "Sound" is a sample
// above -40 dBFS. Without further voices, the default voice is measured. Variables:
//   SONANT_BENCH_MODELS: a folder of installed models, such as data/models; one voice of each family is measured
//   SONANT_BENCH_PIPER, SONANT_BENCH_KOKORO: commands that start Piper's HTTP server, and a server of Kokoro with
//     OpenAI's API, on the port {port}; each is measured in turn with the voice of its family
//   NODE_PATH: the folder of onnxruntime-node; without it, the service computes in WebAssembly
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { importVoice } from '../src/engines/onnx/import-voice.ts';
import { fetchVoice } from '../test/engines/fetched-voice.ts';
import { cpuMsOf, makeKey, openService, rssOf, type Service } from '../test/soak/open-service.ts';
import type { Bench, Cell, Goal, Table } from './measuring/bench.ts';
import { childrenOf } from './measuring/machine.ts';
import { median } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';
import { openPeer } from './neural/peers.ts';
import { type Speak, sampleRateHz, waysOf } from './neural/ways.ts';

const { ROUNDS = '7', SECONDS = '6', NODE_PATH, SONANT_BENCH_MODELS: models } = process.env;
const lengths = [30, 100, 300];
const callers = [1, 2, 4, 8];
const callersChars = 100;
const listeners = 8;
/** Pause of a caller after a refusal. */
const refusedMs = 1000;
/** -40 dBFS. */
const soundLevel = 328;
const firstMsMax = NODE_PATH ? [40, 40, 60] : [70, 90, 150];
const listenersMsMax = 150;
const perSecondMin = 50;
/** The share of a peer's time to the first sound: at each length, or of all lengths together. */
const peers = {
  vits: { name: "Piper's server", command: process.env.SONANT_BENCH_PIPER, max: 0.8 },
  kokoro: { name: 'a Kokoro server', command: process.env.SONANT_BENCH_KOKORO, max: 0.7 },
} as const;

/** The names of families that readers may not know. */
const shownNames: Readonly<Record<string, string>> = { vits: 'Piper' };
const shown = (family: string): string => shownNames[family] ?? family;

/** What speaks, and the processes that are its own. */
interface Speaker {
  name: string;
  rateHz: number;
  ways: Readonly<Record<string, Speak>>;
  pids(): readonly (string | number)[];
}

interface Heard {
  /** Time to the first sound. */
  firstMs: number;
  wallMs: number;
  /** Length of the audio. */
  seconds: number;
}

export const bench: Bench = {
  about: 'natural voices: first sound, speed, CPU time, memory, several callers, interrupts',
  async run() {
    await using opened = new AsyncDisposableStack();
    const service = await openWithVoices(opened);
    const rows = { first: [] as Cell[][], cost: [] as Cell[][], callers: [] as Cell[][] };
    const goals: Goal[] = [];
    for (const [family, voiceId] of await voicesOf(service)) {
      await using own = new AsyncDisposableStack();
      const speakers = await speakersOf(service, family, voiceId, own);
      const firsts: number[][] = [];
      for (const [n, chars] of lengths.entries()) {
        const measured = await measureInTurn(speakers, chars);
        rows.first.push(...measured.map(({ name, firstMs }) => [name, `${chars}`, ...Object.values(firstMs)]));
        rows.cost.push(...measured.map(({ name, cost }) => [name, `${chars}`, ...cost]));
        firsts.push(measured.map(({ firstMs }) => firstMs.REST!));
        if (family !== 'hibari') continue;
        for (const [way, figure] of Object.entries(measured[0]!.firstMs))
          goals.push({ name: `first sound, ${way}, ${chars} characters`, figure, digits: 0, max: firstMsMax[n]! });
      }
      if (speakers.length > 1) goals.push(peerGoal(family as keyof typeof peers, firsts));
      for (const speaker of speakers)
        for (const count of callers) {
          const crowd = await crowdOf(speaker, count, false);
          rows.callers.push([speaker.name, `${count}`, ...crowd]);
          if (family === 'hibari' && count === 4)
            goals.push({
              name: 'seconds of audio per second, 4 callers',
              figure: crowd[2]!,
              digits: 0,
              min: perSecondMin,
            });
        }
      for (const speaker of speakers) {
        const crowd = await crowdOf(speaker, listeners, true);
        rows.callers.push([speaker.name, `${listeners}, listening`, ...crowd]);
        if (family === 'hibari')
          goals.push({
            name: `first sound, p95 of ${listeners} listeners`,
            figure: crowd[1]!,
            digits: 0,
            max: listenersMsMax,
          });
      }
    }
    return { tables: tablesOf(rows), goals };
  },
};

const tablesOf = (rows: Readonly<Record<'first' | 'cost' | 'callers', Cell[][]>>): Table[] => {
  const cpu = { name: 'CPU ms per second of audio', digits: 1 };
  const table = (title: string, names: readonly (string | Table['columns'][0])[], cells: Cell[][]): Table => ({
    title,
    columns: names.map((name) => (typeof name === 'string' ? { name } : name)),
    rows: cells,
  });
  const ways = ['REST', 'SSE', 'gRPC', 'live', 'live, after an interrupt'];
  const speed = { name: 'seconds of audio per second', digits: 1 };
  return [
    table('Time to the first sound in ms', ['voice', 'characters', ...ways], rows.first),
    table(
      'Requests over REST',
      ['voice', 'characters', { name: 'real-time factor', digits: 3 }, cpu, 'resident MiB'],
      rows.cost,
    ),
    table(
      `Callers at once, ${callersChars} characters`,
      ['voice', 'callers', 'first sound ms', 'p95', speed, cpu, 'refused'],
      rows.callers,
    ),
  ];
};

function peerGoal(family: keyof typeof peers, firsts: readonly (readonly number[])[]): Goal {
  const { name, max } = peers[family];
  const sum = (n: number) => firsts.reduce((total, each) => total + each[n]!, 0);
  const figure = family === 'vits' ? Math.max(...firsts.map(([own, peer]) => own! / peer!)) : sum(0) / sum(1);
  return { name: `first sound, ${shown(family)} / ${name}`, figure, digits: 2, max };
}

/** Opens the service with the models of the given folder, or else with the default voice. */
async function openWithVoices(opened: AsyncDisposableStack): Promise<Service> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sonant-bench-neural-'));
  opened.defer(() => rmSync(dataDir, { recursive: true }));
  if (models) symlinkSync(resolve(models), join(dataDir, 'models'));
  else {
    const { folder, why } = await fetchVoice();
    if (folder === undefined) throw new Error(why);
    mkdirSync(join(dataDir, 'models'));
    await importVoice({ path: folder, dataDir, signal: new AbortController().signal, print: () => {} });
  }
  const left = { dataDir, key: makeKey(dataDir) };
  const service = await openService({ left, settings: NODE_PATH ? { NODE_PATH } : {} });
  opened.defer(service.stop);
  return service;
}

/** The first voice of each family. */
async function voicesOf(service: Service): Promise<Map<string, string>> {
  const answer = await service.ask('/api/voices?engine=onnx&page_size=100');
  const { voices } = (await answer.json()) as { voices: { voice_id: string; labels: { model: string } }[] };
  return new Map(voices.toReversed().map(({ voice_id, labels }) => [labels.model, voice_id]));
}

async function speakersOf(service: Service, family: string, voiceId: string, opened: AsyncDisposableStack) {
  const pids = () => [service.pid, ...childrenOf(service.pid)];
  const speakers: Speaker[] = [
    { name: shown(family), rateHz: sampleRateHz, ways: waysOf(service, voiceId, opened), pids },
  ];
  const { name, command } = peers[family as keyof typeof peers] ?? {};
  if (name && command) speakers.push({ name, ...(await openPeer(command, family as keyof typeof peers, opened)) });
  // Each worker of the service loads the voice.
  for (const speaker of speakers) await crowdOf(speaker, 4, false);
  return speakers;
}

/** Includes threads that have ended, such as those of Python's servers. */
const cpuMsOfAll = ({ pids }: Speaker): number =>
  pids().reduce<number>((sum, pid) => sum + cpuMsOf({ pid: Number(pid) }), 0);

async function listen({ rateHz }: Speaker, speak: Speak, text: string): Promise<Heard> {
  let begunMs = performance.now();
  let firstMs: number | undefined;
  let byteCount = 0;
  const hear = (pcm: Buffer) => {
    for (let i = byteCount % 2; firstMs === undefined && i + 1 < pcm.length; i += 2)
      if (Math.abs(pcm.readInt16LE(i)) > soundLevel) firstMs = performance.now() - begunMs;
    byteCount += pcm.length;
  };
  await speak(text, hear, () => (begunMs = performance.now()));
  if (firstMs === undefined) throw new Error(`there is no sound: ${text}`);
  return { firstMs, wallMs: performance.now() - begunMs, seconds: byteCount / 2 / rateHz };
}

/** All speakers speak the same text, in each way, in each round. */
async function measureInTurn(speakers: readonly Speaker[], chars: number) {
  const measured = speakers.map((speaker) => ({
    speaker,
    cpuMs: 0,
    heard: Object.fromEntries(Object.keys(speaker.ways).map((way) => [way, [] as Heard[]])),
  }));
  for (let round = 0; round < Number(ROUNDS); round++)
    for (const each of measured)
      for (const [way, speak] of Object.entries(each.speaker.ways)) {
        const before = cpuMsOfAll(each.speaker);
        each.heard[way]!.push(await listen(each.speaker, speak, passage(chars, round)));
        if (way === 'REST') each.cpuMs += cpuMsOfAll(each.speaker) - before;
      }
  return measured.map(({ speaker: { name, pids }, heard, cpuMs }) => {
    const seconds = heard.REST!.reduce((sum, each) => sum + each.seconds, 0);
    const residentMiB = pids().reduce<number>((sum, pid) => sum + rssOf({ pid: Number(pid) }) / 2 ** 20, 0);
    const cost = [median(heard.REST!.map((each) => each.wallMs / 1000 / each.seconds)), cpuMs / seconds, residentMiB];
    const firstMs = Object.fromEntries(
      Object.entries(heard).map(([way, all]) => [way, median(all.map((each) => each.firstMs))]),
    );
    return { name, firstMs, cost };
  });
}

/** Callers that speak one text after the other, or that listen to each text before the next one. */
async function crowdOf(speaker: Speaker, count: number, isListening: boolean) {
  const heard: Heard[] = [];
  const [sinceMs, cpuMs] = [performance.now(), cpuMsOfAll(speaker)];
  let refused = 0;
  const onRefusal = async (error: Error) => {
    if (!error.message.startsWith('503')) throw error;
    refused++;
    await sleep(refusedMs);
  };
  const untilMs = sinceMs + 1000 * Number(SECONDS) * (isListening ? 2 : 1);
  const call = async (n: number) => {
    if (isListening) await sleep(n * 400);
    for (let round = n; performance.now() < untilMs; round += count) {
      const each = await listen(speaker, speaker.ways.REST!, passage(callersChars, round)).catch(onRefusal);
      if (!each) continue;
      heard.push(each);
      if (isListening) await sleep(1000 * each.seconds - each.wallMs);
    }
  };
  await Promise.all(Array.from({ length: count }, (_, n) => call(n)));
  const seconds = heard.reduce((sum, each) => sum + each.seconds, 0);
  const firsts = heard.map(({ firstMs }) => firstMs).toSorted((a, b) => a - b);
  const perSecond = (1000 * seconds) / (performance.now() - sinceMs);
  const p95 = firsts[Math.ceil(0.95 * firsts.length) - 1]!;
  return [median(firsts), p95, perSecond, (cpuMsOfAll(speaker) - cpuMs) / seconds, refused];
}

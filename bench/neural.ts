// Measures natural voices in the service, with real weights: the time to the first sound by each API, the real-time
// factor, CPU time and memory, several callers at once, and the first sound after an interrupt. "Sound" is a sample
// above -40 dBFS. Without further voices, the default voice is measured. Variables:
//   SONANT_BENCH_MODELS: a folder of installed models, such as data/models; the first voice of each is measured
//   SONANT_BENCH_PIPER, SONANT_BENCH_KOKORO: commands that start Piper's HTTP server, and a server of Kokoro with
//     OpenAI's API, on the port {port}; each is measured in turn with the voice of its family
//   SONANT_BENCH_SHERPA, SONANT_BENCH_KOKORO_ONNX: the same for neural/peer.py with Piper's voice, and with Kokoro
//   NODE_PATH: the folder of onnxruntime-node; without it, the service computes in WebAssembly
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { importVoice } from '../src/engines/onnx/import-voice.ts';
import { fetchVoice } from '../test/engines/fetched-voice.ts';
import { cpuMsOf, makeKey, openService, rssOf } from '../test/soak/open-service.ts';
import type { Bench, Goal, Table } from './measuring/bench.ts';
import { childrenOf } from './measuring/machine.ts';
import { median } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';
import { measureRawGraph } from './neural/raw-graph.ts';
import { openPeer, openWays, type PeerApi, type Speak } from './neural/ways.ts';

const { ROUNDS = '7', SECONDS = '6', NODE_PATH, SONANT_BENCH_MODELS: models } = process.env;
const { SONANT_BENCH_PIPER, SONANT_BENCH_SHERPA, SONANT_BENCH_KOKORO, SONANT_BENCH_KOKORO_ONNX } = process.env;
const lengths = [30, 100, 300];
const callersChars = 100;
const rawChars = 300;
/** Pause of a caller after a refusal. */
const refusedMs = 1000;
/** -40 dBFS. */
const soundLevel = 328;
const firstMsMax = NODE_PATH ? [40, 40, 60] : [70, 90, 150];
const waysOfOwn = ['REST', 'SSE', 'gRPC', 'live', 'live, after an interrupt'];
const piperServer = "Piper's server";
const kokoroServer = 'a Kokoro server';
/** Names and commands of the peers of each family; the first one is that of the goal. */
const peers: Readonly<Record<string, readonly (readonly [name: string, command: string | undefined, api: PeerApi])[]>> =
  {
    Piper: [
      [piperServer, SONANT_BENCH_PIPER, 'piper'],
      ['sherpa-onnx', SONANT_BENCH_SHERPA, 'openai'],
    ],
    kokoro: [
      [kokoroServer, SONANT_BENCH_KOKORO, 'openai'],
      ['kokoro-onnx', SONANT_BENCH_KOKORO_ONNX, 'openai'],
    ],
  };

interface Speaker {
  name: string;
  rateHz: number;
  ways: Readonly<Record<string, Speak>>;
  pids(): readonly (string | number)[];
}
type Row = [name: string, of: string, ...figures: number[]];

export const bench: Bench = {
  about: 'natural voices: first sound, speed, CPU time, memory, several callers, interrupts',
  async run() {
    const [first, cost, crowds]: Row[][] = [[], [], []];
    let rawCpuMs: number | undefined;
    for (const folder of models ? readdirSync(models) : [undefined]) {
      // Each voice has a service of its own, because a service keeps workers of the voices before.
      await using opened = new AsyncDisposableStack();
      const speakers = await openSpeakers(folder, opened);
      // Each worker of the service loads the voice.
      for (const speaker of speakers) await measureCallers(speaker, '4');
      for (const chars of lengths)
        for (const { name, firstMs, costs } of await measureInTurn(speakers, chars)) {
          first!.push([name, `${chars}`, ...firstMs]);
          cost!.push([name, `${chars}`, ...costs]);
        }
      for (const callers of ['1', '2', '4', '8', '8, listening'])
        for (const speaker of speakers)
          crowds!.push([speaker.name, callers, ...(await measureCallers(speaker, callers))]);
      const texts = Array.from({ length: Number(ROUNDS) }, (_, round) => passage(rawChars, round));
      const isKokoro = folder && speakers[0]!.name === 'kokoro';
      rawCpuMs ??= isKokoro ? await measureRawGraph(join(models!, folder), texts) : undefined;
    }
    const cpu = 'CPU ms per second of audio:1';
    return {
      tables: [
        toTable('Time to the first sound in ms', waysOfOwn.join('|'), first!, 'characters'),
        toTable('Requests over REST', `real-time factor:3|${cpu}|CPU ms per text|resident MiB`, cost!, 'characters'),
        toTable(
          `Callers at once, ${callersChars} characters`,
          `first sound ms|p95|seconds of audio per second:1|${cpu}|refused`,
          ...([crowds!, 'callers'] as const),
        ),
      ],
      goals: [...goalsOf(first!, crowds!), ...rawGoal(cost!, rawCpuMs)],
    };
  },
};

/** Columns are separated by bars; a number of digits may follow a name. */
function toTable(title: string, columns: string, rows: Row[], of: string): Table {
  const toColumn = ([name, digits]: string[]) => ({ name: name!, ...(digits && { digits: Number(digits) }) });
  return { title, columns: ['voice', of, ...columns.split('|')].map((each) => toColumn(each.split(':'))), rows };
}

function goalsOf(first: readonly Row[], crowds: readonly Row[]): Goal[] {
  const goal = (name: string, figure: number, limit: Pick<Goal, 'max' | 'min'>, digits = 0) => ({
    ...{ name, figure, digits },
    ...limit,
  });
  const of = (name: string, rows = first) => rows.filter((row) => row[0] === name);
  const shares = Object.entries(peers).flatMap(([name, all]) => {
    const peer = all[0]![0];
    const [own, other] = [name, peer].map((each) => of(each).map((row) => row[2]!));
    if (other!.length === 0) return [];
    const sum = (figures: number[]) => figures.reduce((total, each) => total + each, 0);
    // Piper's share counts at each length, Kokoro's over all lengths.
    const figure = name === 'Piper' ? Math.max(...own!.map((ms, n) => ms / other![n]!)) : sum(own!) / sum(other!);
    return [goal(`first sound, ${name} / ${peer}`, figure, { max: name === 'Piper' ? 0.8 : 0.7 }, 2)];
  });
  return [
    ...of('hibari').flatMap(([, chars, ...figures], n) =>
      figures.map((ms, way) =>
        goal(`first sound, ${waysOfOwn[way]}, ${chars} characters`, ms, { max: firstMsMax[n]! }),
      ),
    ),
    ...of('hibari', crowds).flatMap(([, count, , p95, perSecond]) => {
      if (count === '4') return [goal('seconds of audio per second, 4 callers', perSecond!, { min: 50 })];
      return count.length > 1 ? [goal('first sound, p95 of 8 listeners', p95!, { max: 150 })] : [];
    }),
    ...shares,
  ];
}

/**
 * CPU time of the whole service for a text with Kokoro, relative to that of the graph alone. It is measured per text and
 * not per second of sound, because a fifth of the graph's sound is silence, which the service cuts.
 */
function rawGoal(cost: readonly Row[], rawCpuMs: number | undefined): Goal[] {
  const own = cost.find(([name, of]) => name === 'kokoro' && of === `${rawChars}`)?.[4];
  if (!own || rawCpuMs === undefined) return [];
  return [{ name: 'CPU time, kokoro / its graph alone', figure: own / rawCpuMs, max: 1.1, digits: 2 }];
}

/** The service with a model, or else with the default voice, and the peers of the voice's family. */
async function openSpeakers(folder: string | undefined, opened: AsyncDisposableStack): Promise<Speaker[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sonant-bench-neural-'));
  opened.defer(() => rmSync(dataDir, { recursive: true }));
  mkdirSync(join(dataDir, 'models'));
  if (folder) symlinkSync(resolve(models!, folder), join(dataDir, 'models', folder));
  else {
    const { folder: path, why } = await fetchVoice();
    if (path === undefined) throw new Error(why);
    await importVoice({ path, dataDir, signal: new AbortController().signal, print: () => {} });
  }
  const left = { dataDir, key: makeKey(dataDir) };
  const service = await openService({ left, settings: NODE_PATH ? { NODE_PATH } : {} });
  opened.defer(service.stop);
  const answer = await service.ask('/api/voices?engine=onnx&page_size=1');
  const [voice] = ((await answer.json()) as { voices: { voice_id: string; labels: { model: string } }[] }).voices;
  // Readers may not know the family of Piper's voices.
  const name = voice!.labels.model.replace('vits', 'Piper');
  const pids = () => [service.pid, ...childrenOf(service.pid)];
  const speakers: Speaker[] = [{ name, ...openWays(service, voice!.voice_id, opened), pids }];
  for (const [peer, command, api] of peers[name] ?? []) {
    const rateHz = name === 'Piper' ? 22_050 : 24_000;
    if (command) speakers.push({ name: peer, ...(await openPeer(command, api, rateHz, opened)) });
  }
  return speakers;
}

/** Includes threads that have ended, such as those of Python's servers. */
const sumOf = ({ pids }: Speaker, measure: (of: { pid: number }) => number): number =>
  pids().reduce<number>((sum, pid) => sum + measure({ pid: Number(pid) }), 0);

async function listen({ rateHz }: Speaker, speak: Speak, text: string) {
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
type Heard = Awaited<ReturnType<typeof listen>>;
const secondsOf = (heard: readonly Heard[]) => heard.reduce((sum, each) => sum + each.seconds, 0);

/** All speakers speak the same text, in each way, in each round. */
async function measureInTurn(speakers: readonly Speaker[], chars: number) {
  const measured = speakers.map((speaker) => ({
    speaker,
    cpuMs: 0,
    heard: Object.keys(speaker.ways).map((): Heard[] => []),
  }));
  for (let round = 0; round < Number(ROUNDS); round++)
    for (const each of measured)
      for (const [n, speak] of Object.values(each.speaker.ways).entries()) {
        const before = sumOf(each.speaker, cpuMsOf);
        each.heard[n]!.push(await listen(each.speaker, speak, passage(chars, round)));
        if (n === 0) each.cpuMs += sumOf(each.speaker, cpuMsOf) - before;
      }
  return measured.map(({ speaker, heard, cpuMs }) => {
    const factor = median(heard[0]!.map(({ wallMs, seconds }) => wallMs / 1000 / seconds));
    const firstMs = heard.map((each) => median(each.map((one) => one.firstMs)));
    const costs = [factor, cpuMs / secondsOf(heard[0]!), cpuMs / Number(ROUNDS), sumOf(speaker, rssOf) / 2 ** 20];
    return { name: speaker.name, firstMs, costs };
  });
}

/** Callers that speak one text after the other, or that listen to each text before the next one. */
async function measureCallers(speaker: Speaker, callers: string): Promise<number[]> {
  const [count, isListening] = [Number.parseInt(callers, 10), callers.includes('listening')];
  const heard: Heard[] = [];
  const [sinceMs, cpuMs] = [performance.now(), sumOf(speaker, cpuMsOf)];
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
      if (each) heard.push(each);
      if (each && isListening) await sleep(Math.max(0, 1000 * each.seconds - each.wallMs));
    }
  };
  await Promise.all(Array.from({ length: count }, (_, n) => call(n)));
  const seconds = secondsOf(heard);
  const firsts = heard.map(({ firstMs }) => firstMs).toSorted((a, b) => a - b);
  const perSecond = (1000 * seconds) / (performance.now() - sinceMs);
  const p95 = firsts[Math.ceil(0.95 * firsts.length) - 1]!;
  return [median(firsts), p95, perSecond, (sumOf(speaker, cpuMsOf) - cpuMs) / seconds, refused];
}

// Measures the time to the first audio of an interactive request beside four running jobs, and without them. The
// service runs in its own process and is called over HTTP at random intervals. Blocks with and without jobs alternate
// (A B B A), so a machine that slows down affects both equally.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeKey, openService, type Service } from '../test/soak/open-service.ts';
import type { Bench, Cell } from './measuring/bench.ts';
import { median } from './measuring/rounds.ts';
import { passage, shortText } from './measuring/texts.ts';

const jobCount = 4;
const jobChars = 200_000;
const chaptersPerJob = 10;
const rounds = 2;
const requestsPerBlock = 16;
/** Pause between two requests, during which jobs run. */
const gapMs = { min: 300, max: 900 };
const goalMax = 1.2;
const scopes = ['jobs:read', 'jobs:write', 'speech:synthesize', 'speech:stream', 'usage:read'];

type Condition = 'alone' | 'beside';

export const bench: Bench = {
  about: `time to first audio beside ${jobCount} running jobs, compared with none`,
  async run() {
    const dataDir = mkdtempSync(join(tmpdir(), 'sonant-bench-jobs-'));
    const left = { dataDir, key: makeKey(dataDir, ['--scopes', scopes.join(',')]) };
    const service = await openService({ left, settings: { SONANT_JOB_CHAPTERS: String(jobCount) } });
    try {
      return await measure(service);
    } finally {
      await service.kill();
      rmSync(dataDir, { recursive: true });
    }
  },
};

async function measure(service: Service) {
  const jobs = Array.from({ length: jobCount }, (_, n) => `job-${n}`);
  for (const [n, id] of jobs.entries()) await createJob(service, id, n);
  let count = 0;
  const block = async (into: number[]) => {
    for (let n = 0; n < requestsPerBlock; n++) {
      await sleep(gapMs.min + Math.random() * (gapMs.max - gapMs.min));
      into.push(await firstSoundMs(service, shortText(count++)));
    }
  };
  await block([]);
  const times: Record<Condition, number[]> = { alone: [], beside: [] };
  let charsDone = 0;
  let isRunning = true;
  for (let round = 0; round < rounds; round++)
    for (const condition of ['alone', 'beside', 'beside', 'alone'] as const) {
      if (isRunning !== (condition === 'beside')) await Promise.all(jobs.map((id) => turn(service, id, !isRunning)));
      isRunning = condition === 'beside';
      await sleep(1000);
      const before = await charsDoneOf(service, jobs);
      await block(times[condition]);
      const done = (await charsDoneOf(service, jobs)) - before;
      if (condition === 'beside') charsDone += done;
      else if (done > 0) throw new Error('jobs were at work in a block without them');
    }
  if (charsDone === 0) throw new Error('no job was at work');
  const figures = (['alone', 'beside'] as const).map((name) => [median(times[name]), quantile(times[name], 0.95)]);
  const ratios = figures[1]!.map((ms, i) => ms / figures[0]![i]!);
  const rows: Cell[][] = [
    ['alone', ...figures[0]!],
    [`beside ${jobCount} jobs`, ...figures[1]!],
    ['ratio', ...ratios],
  ];
  const columns = [{ name: 'requests' }, { name: 'median', digits: 2 }, { name: '95th percentile', digits: 2 }];
  const title = `First sound in ms, ${times.alone.length} requests each; jobs spoke ${charsDone} characters meanwhile`;
  return {
    tables: [{ title, columns, rows }],
    goals: [
      { name: `first sound beside ${jobCount} jobs : alone, median`, figure: ratios[0]!, digits: 2, max: goalMax },
      { name: 'the same, 95th percentile', figure: ratios[1]!, digits: 2, max: goalMax },
    ],
  };
}

async function createJob(service: Service, id: string, n: number): Promise<void> {
  const chapters = Array.from({ length: chaptersPerJob }, (_, chapter) => ({
    text: passage(jobChars / chaptersPerJob, n * chaptersPerJob + chapter),
  }));
  const body = { voice_id: 'arthur', output_format: 'mp3', sample_rate: 44_100, chapters };
  const answer = await service.ask(`/api/audio/jobs/${id}`, { method: 'PUT', body });
  if (answer.status !== 202) throw new Error(await answer.text());
}

/** Retries or cancels a job. Chapters already spoken are kept. */
async function turn(service: Service, id: string, isOn: boolean): Promise<void> {
  const answer = await service.ask(`/api/audio/jobs/${id}/${isOn ? 'retry' : 'cancel'}`, { method: 'POST' });
  if (!answer.ok) throw new Error(await answer.text());
  await answer.bytes();
}

async function charsDoneOf(service: Service, jobs: readonly string[]): Promise<number> {
  let sum = 0;
  for (const id of jobs) {
    const job = (await (await service.ask(`/api/audio/jobs/${id}`)).json()) as { progress: { chars_done: number } };
    sum += job.progress.chars_done;
  }
  return sum;
}

async function firstSoundMs(service: Service, text: string): Promise<number> {
  const startMs = performance.now();
  const fields = { method: 'streaming', text_chunks: [text], output_format: 'mp3', sample_rate: 44_100 };
  const answer = await service.speak(fields);
  if (!answer.ok || !answer.body) throw new Error(await answer.text());
  let firstMs: number | undefined;
  for await (const _ of answer.body) firstMs ??= performance.now() - startMs;
  return firstMs!;
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!;

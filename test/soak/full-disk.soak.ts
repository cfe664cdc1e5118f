// Tests a data folder of 60 MB that one key fills: others can still use speech, streams do not break, and space is
// freed automatically. Then the disk is filled from outside and freed again. Needs root, to mount a small file system.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { textOf } from './long-text.ts';
import { makeKey, mib, openService, rssOf, type Service } from './open-service.ts';

const { SECONDS = '120', EXTERNAL_SECONDS = '40' } = process.env;
const diskMb = 60;
const greedyCallers = 4;

let disk: string | undefined;
let service: Service;
beforeEach(async () => {
  disk = mountDisk();
  if (disk) service = await openService({ dataDir: join(disk, 'data') });
});
afterEach(async () => {
  if (!disk) return;
  await service.close();
  spawnSync('umount', [disk]);
  rmSync(disk, { recursive: true });
});

function mountDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'none', folder]);
  if (mounted.status === 0) return folder;
  rmSync(folder, { recursive: true });
  return undefined;
}

type Tally = Map<string, number>;
const count = (tally: Tally, outcome: string) => tally.set(outcome, (tally.get(outcome) ?? 0) + 1);
const show = (tally: Tally) => [...tally].map(([outcome, times]) => `${outcome} x ${times}`).join(', ');

interface Stats {
  tallies: Record<'stream' | 'events' | 'buffer' | 'link' | 'fetch', Tally>;
  /** Characters of all complete answers. */
  chars: number;
}
const newStats = (): Stats => ({
  tallies: { stream: new Map(), events: new Map(), buffer: new Map(), link: new Map(), fetch: new Map() },
  chars: 0,
});

/** Requests audio in every way, one after the other, and downloads each link at once. */
async function speakHonestly(key: string, stats: Stats, isOver: () => boolean): Promise<void> {
  const headers = { 'X-API-Key': key };
  const ask = async (kind: keyof Stats['tallies'], chars: number, work: () => Promise<[string, string]>) => {
    const [outcome, body] = await work().catch((error: Error) => [`cut: ${error.message}`, ''] as [string, string]);
    count(stats.tallies[kind], outcome);
    if (outcome === 'whole') stats.chars += chars;
    return body;
  };
  const read = async (answer: Response, isWhole: (body: Buffer) => boolean): Promise<[string, string]> => {
    const body = Buffer.from(await answer.arrayBuffer());
    const outcome = !answer.ok ? String(answer.status) : isWhole(body) ? 'whole' : 'not whole';
    return [outcome, body.toString('latin1')];
  };
  while (!isOver()) {
    const text = textOf(200);
    const { length } = text;
    const stream = { method: 'streaming', text_chunks: [text] };
    await ask('stream', length, async () =>
      read(await service.speak(stream, { headers }), (body) => body.length > 100_000),
    );
    await ask('events', length, async () =>
      read(
        await service.ask('/api/audio/speech/sse', { body: { voice_id: 'arthur', text }, headers }),
        (body) => body.includes('speech.audio.done') && !body.includes('event: error'),
      ),
    );
    await ask('buffer', length, async () => {
      const answer = await service.speak({ text: `${text.slice(0, -1)}?`, return_format: 'buffer' }, { headers });
      return read(answer, (body) => body.length === Number(answer.headers.get('Content-Length')));
    });
    const linked = await ask('link', length, async () =>
      read(await service.speak({ text: `${text.slice(0, -1)}!` }, { headers }), () => true),
    );
    const url = /"audio_url":"([^"]+)"/.exec(linked)?.[1];
    if (url) await ask('fetch', 0, async () => read(await service.ask(url), (body) => body.length > 100_000));
    await sleep(20);
  }
}

/** Requests links as fast as possible. */
async function fillGreedily(key: string, tally: Tally, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const answer = await service.speak({ text: textOf(600), sample_rate: 48_000 }, { headers: { 'X-API-Key': key } });
    await answer.arrayBuffer();
    count(tally, String(answer.status));
    if (!answer.ok) await sleep(50);
  }
}

const ready = async () => {
  const answer = await fetch(`${service.url}/readyz`);
  return `${answer.status} ${((await answer.json()) as { message?: string }).message ?? ''}`.trim();
};
const metric = async (name: string) => {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  return new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 'none';
};
const figures = async () => {
  const { bavail, bsize } = statfsSync(disk!);
  const names = [
    'sonant_audio_stored_bytes',
    'sonant_audio_quota_bytes',
    'sonant_audio_free_bytes',
    'sonant_usage_pending_rows',
  ];
  const metrics = await Promise.all(names.map(async (name) => `${name} ${await metric(name)}`));
  return `free on the disk ${mib(bavail * bsize)}; /readyz ${await ready()}; ${metrics.join(', ')}; RSS ${mib(rssOf(service))}`;
};
const told = ({ tallies }: Stats) =>
  Object.entries(tallies)
    .map(([kind, tally]) => `${kind}: ${show(tally)}`)
    .join('; ');
const usedBy = async (key: string): Promise<number> => {
  const answer = await service.ask('/api/usage', { headers: { 'X-API-Key': key } });
  return ((await answer.json()) as { total: { characters: number } }).total.characters;
};

test('a disk of 60 MB that one key fills, and that is then filled from elsewhere', async () => {
  if (!disk) return console.log('a full disk: skipped, for no file system can be mounted here');
  const scopes = ['--scopes', 'speech:synthesize,speech:stream,voices:read,usage:read'];
  const honest = makeKey(service.dataDir, scopes);
  const during = async (seconds: number, more: (isOver: () => boolean) => Promise<unknown>[] = () => []) => {
    const until = performance.now() + seconds * 1000;
    const isOver = () => performance.now() > until;
    const stats = newStats();
    await Promise.all([speakHonestly(honest, stats, isOver), ...more(isOver)]);
    return stats;
  };
  const greedy: Tally = new Map();
  const fill = (isOver: () => boolean) =>
    Array.from({ length: greedyCallers }, () => fillGreedily(service.key, greedy, isOver));
  const filled = await during(Number(SECONDS), fill);
  console.log(
    `one key fills, ${SECONDS} s: its links ${show(greedy)}\n  of another key ${told(filled)}\n  ${await figures()}`,
  );

  mkdirSync(join(disk, 'elsewhere'));
  let written = 0;
  try {
    for (; ; written++) writeFileSync(join(disk, 'elsewhere', String(written)), Buffer.alloc(4096));
  } catch {
    console.log(`filled from elsewhere, ${written} blocks of 4 KiB`);
  }
  const starved = await during(Number(EXTERNAL_SECONDS));
  console.log(`filled from elsewhere, ${EXTERNAL_SECONDS} s: of another key ${told(starved)}\n  ${await figures()}`);
  rmSync(join(disk, 'elsewhere'), { recursive: true });
  await sleep(3_000);
  const after = await during(5);
  console.log(`with room again, 5 s: of another key ${told(after)}\n  ${await figures()}`);
  const chars = filled.chars + starved.chars + after.chars;
  const used = await usedBy(honest);
  console.log(`characters that came whole ${chars}, recorded ${used}`);

  for (const { tallies } of [filled, starved, after]) {
    for (const kind of ['stream', 'events', 'buffer'] as const)
      expect([...tallies[kind].keys()], kind).toEqual(['whole']);
    if (tallies.fetch.size > 0) expect([...tallies.fetch.keys()]).toEqual(['whole']);
  }
  expect(filled.tallies.link.get('whole')).toBeGreaterThan(0);
  expect([...after.tallies.link.keys()]).toEqual(['whole']);
  expect(await ready()).toBe('200');
  expect(used).toBe(chars);
});

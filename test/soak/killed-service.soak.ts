// Tests a service that is killed at random moments under load of every kind. After a restart, everything acknowledged
// exists completely, everything unfinished is complete or absent, and the database needs no repair.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, expect, test } from 'vitest';
import { readEvents } from '../transports/http/event-reader.ts';
import { textOf } from './long-text.ts';
import { baseUrl, openService, type Service } from './open-service.ts';

const { KILLS = '50' } = process.env;
const kills = Number(KILLS);
const loadMsMax = 2000;
/** Number of callers for each kind of request. */
const callers = 2;
const formats = ['wav', 'mp3', 'pcm'];
/** All lengths differ, so that a clip's stored length identifies its audio. */
const texts = [80, 130, 180, 230, 330, 630].map((chars) => textOf(chars));

let service: Service | undefined;
afterAll(async () => {
  await service?.kill();
  if (service) rmSync(service.dataDir, { recursive: true });
});

/** Acknowledged links and keys, and links that were only announced when the service died. */
class Promised {
  readonly links = new Set<string>();
  readonly announced = new Set<string>();
  readonly keys: string[] = [];
  counts: Record<string, number> = {};

  keep(kind: string, link: string | null): void {
    if (!link?.startsWith(baseUrl)) throw new Error(`${kind}: no link but ${link}`);
    this.links.add(link);
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
  }
}

type Ask = (served: Service, fields: object, promised: Promised) => Promise<void>;
const noCache = { headers: { 'Cache-Control': 'no-cache' } };

const asks: Record<string, Ask> = {
  async url(served, fields, promised) {
    const answer = await served.speak(fields, noCache);
    promised.keep('url', ((await answer.json()) as { audio_url: string }).audio_url);
  },
  async buffer(served, fields, promised) {
    const answer = await served.speak({ ...fields, return_format: 'buffer' }, noCache);
    await answer.arrayBuffer();
    promised.keep('buffer', `${baseUrl}/audio/${answer.headers.get('X-Audio-Id')}.${answer.headers.get('X-Format')}`);
  },
  async streaming(served, { text, ...fields }: { text?: string }, promised) {
    const answer = await served.speak({ ...fields, method: 'streaming', text_chunks: [text], return_format: 'url' });
    const link = answer.headers.get('X-Audio-Url');
    promised.announced.add(link!);
    await answer.arrayBuffer();
    promised.keep('streaming', link);
  },
  async sse(served, fields, promised) {
    const body = { voice_id: 'arthur', ...fields, return_format: 'url' };
    const answer = await served.ask('/api/audio/speech/sse', { body });
    promised.announced.add(answer.headers.get('X-Audio-Url')!);
    const done = (await readEvents(answer)).at(-1)!;
    if (done.event !== 'speech.audio.done') throw new Error('cut');
    promised.keep('sse', done.data.audio_url as string);
  },
};

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;

/** Sends requests of every kind at once, and kills the service meanwhile. */
async function loadAndKill(served: Service, promised: Promised): Promise<void> {
  const maker = spawn(process.execPath, [join(import.meta.dirname, 'key-maker.ts'), served.dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const made = text(maker.stdout);
  await once(maker.stdout, 'readable');
  let isOver = false;
  const callRepeatedly = async (ask: Ask) => {
    while (!isOver) {
      const fields = { text: pick(texts), output_format: pick(formats) };
      await ask(served, fields, promised).catch((error) => {
        // Only the kill may cause errors.
        if (!isOver) throw error;
      });
    }
  };
  const asking = Promise.all(
    Object.values(asks).flatMap((ask) => Array.from({ length: callers }, () => callRepeatedly(ask))),
  );
  asking.catch(() => {});
  await sleep(Math.random() * loadMsMax);
  isOver = true;
  await Promise.all([served.kill(), maker.kill('SIGKILL')]);
  await asking;
  // A truncated last line does not count as an acknowledgement.
  promised.keys.push(...(await made).split('\n').slice(0, -1));
}

/** The expected audio of each text, by length and format. */
async function soundsOf(served: Service): Promise<Map<string, Buffer>> {
  const sounds = new Map<string, Buffer>();
  for (const text of texts)
    for (const format of formats) {
      const answer = await served.speak({ text, output_format: format, return_format: 'buffer' }, noCache);
      sounds.set(`${text.length} ${format}`, Buffer.from(await answer.arrayBuffer()));
    }
  return sounds;
}

interface ClipRow {
  clip_id: string;
  format: string;
  chars: number;
}

function readDatabase({ dataDir }: Service): ClipRow[] {
  const database = new Database(join(dataDir, 'sonant.db'), { readonly: true });
  try {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    return database.prepare<[], ClipRow>('select clip_id, format, chars from clips').all();
  } finally {
    database.close();
  }
}

test(`${kills} kills under load`, async () => {
  expect(new Set(texts.map(({ length }) => length)).size).toBe(texts.length);
  service = await openService();
  const sounds = await soundsOf(service);
  const promised = new Promised();
  const checked = new Set<string>();
  let [unstored, orphans] = [0, 0];
  for (let n = 0; n < kills; n++) {
    await loadAndKill(service, promised);
    service = await openService({ left: service });
    const rows = readDatabase(service);
    const linkOf = ({ clip_id, format }: ClipRow) => `${baseUrl}/audio/${clip_id}.${format}`;
    const known = new Map(rows.map((row) => [linkOf(row), row]));
    for (const link of promised.links) expect(known.has(link), `${link} was promised`).toBe(true);
    for (const [link, row] of known) {
      if (checked.has(link)) continue;
      const answer = await service.ask(link);
      if (answer.status !== 200) throw new Error(`${link}: ${answer.status} ${await answer.text()}`);
      const whole = sounds.get(`${row.chars} ${row.format}`)!;
      expect(Number(answer.headers.get('content-length'))).toBe(whole.length);
      expect(whole.equals(Buffer.from(await answer.arrayBuffer())), `${link} is whole`).toBe(true);
      checked.add(link);
    }
    for (const link of promised.announced) {
      if (known.has(link)) continue;
      unstored++;
      expect((await service.ask(link)).status, `${link} was begun only`).toBe(404);
    }
    promised.announced.clear();
    const files = globSync(join(service.dataDir, 'audio', '??', 'aud_*')).map((file) => basename(file));
    const kept = new Set(rows.map(({ clip_id }) => clip_id));
    orphans = files.filter((file) => !kept.has(file)).length;
    for (const key of promised.keys.slice(-20)) {
      expect((await service.ask('/api/voices', { headers: { 'X-API-Key': key } })).status).toBe(200);
    }
    expect(service.said()).toBe('');
  }
  for (const link of promised.links) expect((await service.ask(link, { method: 'HEAD' })).status).toBe(200);
  for (const key of promised.keys)
    expect((await service.ask('/api/voices', { headers: { 'X-API-Key': key } })).status).toBe(200);
  console.log(
    `${kills} kills: promised ${JSON.stringify(promised.counts)} and ${promised.keys.length} keys, all kept; ` +
      `${checked.size} clips served, all whole; ${unstored} begun only, none served; ${orphans} files without a row left to the sweep`,
  );
});

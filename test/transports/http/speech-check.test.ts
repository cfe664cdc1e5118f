// Tests what callers see of the check of speech: a suspect sentence of a complete reply is spoken again, and one that
// stays suspect is named in the reply, in the end of a stream, and in the job.
import { beforeAll, expect, test } from 'vitest';
import type { Pcm } from '../../../src/platform/pcm.ts';
import { openTakes, speakFlite, spoil } from '../../engines/takes-engine.ts';
import { sentences } from '../../sentences.ts';
import { bytesOf, openTestGateway } from './open-gateway.ts';

const text = sentences[0]!;
const buffer = { text, return_format: 'buffer', output_format: 'pcm', sample_rate: 24_000 };

interface Job {
  status: string;
  chapters: { suspects: object[] }[];
}

let good: Pcm;
let bad: Pcm;

beforeAll(async () => {
  [good] = (await speakFlite([text])) as [Pcm];
  bad = spoil(good, 'silence');
}, 60_000);

async function speakBuffer(takes: Pcm[]) {
  const engine = openTakes(takes);
  const gateway = await openTestGateway({ engines: [engine] });
  const speak = async () => {
    const { headers } = await gateway.speak(buffer).then(async (reply) => (await bytesOf(reply), reply));
    return ['X-Speech-Check', 'X-Cache', 'X-Chars-Charged'].map((name) => headers.get(name));
  };
  return { first: await speak(), second: await speak(), takes: engine.segments.length };
}

test('a suspect sentence of a complete reply is spoken again, and charged once', async () => {
  const { first, second, takes } = await speakBuffer([bad, good]);
  expect({ first, second, takes }).toEqual({
    first: ['good', 'MISS', `${text.length}`],
    second: ['good', 'HIT', '0'],
    takes: 2,
  });
});

test('a sentence that stays suspect is sent, and the cache remembers it', async () => {
  const { first, second, takes } = await speakBuffer([bad]);
  expect({ first, second, takes }).toEqual({
    first: ['suspect', 'MISS', `${text.length}`],
    second: ['suspect', 'HIT', '0'],
    takes: 3,
  });
});

test('the end of a stream names suspect sentences, which are not spoken again', async () => {
  const engine = openTakes([good, bad, good]);
  const gateway = await openTestGateway({ engines: [engine] });
  const body = { text_chunks: [text, text, text], method: 'streaming', output_format: 'pcm', sample_rate: 24_000 };
  const events = await (await gateway.speak(body, { headers: { Accept: 'text/event-stream' } })).text();
  const done = JSON.parse(events.split('data: ').at(-1)!);
  const chunks = [...events.matchAll(/data: (\{"type":"speech.chunk.done".*\})/g)].map(([, data]) => JSON.parse(data!));
  expect(engine.segments.length).toBe(3);
  expect(done.suspects).toEqual([
    { chunk_index: 1, start: expect.any(Number), end: expect.any(Number), faults: ['silence'] },
  ]);
  expect(done.suspects[0].start).toBeGreaterThanOrEqual(chunks[1].start);
  expect(done.suspects[0].end).toBeLessThanOrEqual(chunks[1].end);
});

test('a job speaks suspect sentences again, and lists those that stay suspect', async () => {
  const engine = openTakes([good, bad, bad, bad, bad, good]);
  const gateway = await openTestGateway({ engines: [engine] });
  const paragraphs = [text, text, text].join('\n\n');
  const headers = { 'X-API-Key': await gateway.makeKey(['speech:synthesize', 'jobs:read', 'jobs:write']) };
  const made = await gateway.send('/api/audio/jobs', { headers, body: { voice_id: 'tone-low', text: paragraphs } });
  const { id } = (await made.json()) as { id: string };
  const read = async () => (await gateway.send(`/api/audio/jobs/${id}`, { headers })).json() as Promise<Job>;
  await expect.poll(async () => (await read()).status, { timeout: 30_000 }).toBe('succeeded');
  const job = await read();
  expect(job.chapters[0]!.suspects).toEqual([
    { offset: text.length + 2, text: text.replace(/\.$/, ''), faults: ['silence'], start: expect.any(Number) },
  ]);
  expect(engine.segments.length).toBe(6);
});

test('a list of jobs has few of the suspects of a job', async () => {
  const gateway = await openTestGateway({ engines: [openTakes([bad])] });
  const headers = { 'X-API-Key': await gateway.makeKey(['speech:synthesize', 'jobs:read', 'jobs:write']) };
  const chapters = [12, 25].map((count) => ({ text: Array(count).fill(text).join('\n\n') }));
  const made = await gateway.send('/api/audio/jobs', { headers, body: { voice_id: 'tone-low', chapters } });
  const { id } = (await made.json()) as { id: string };
  const read = async () => (await gateway.send(`/api/audio/jobs/${id}`, { headers })).json() as Promise<Job>;
  await expect.poll(async () => (await read()).status, { timeout: 50_000 }).toBe('succeeded');
  const { jobs } = (await (await gateway.send('/api/audio/jobs', { headers })).json()) as { jobs: Job[] };
  const countOf = (job: Job) => job.chapters.map(({ suspects }) => suspects.length);
  expect([await read(), ...jobs].map(countOf)).toEqual([
    [12, 20],
    [12, 8],
  ]);
}, 60_000);

// Tests what callers see of the check of speech: a suspect sentence of a complete reply is spoken again, and one that
// stays suspect is named in the reply, in the end of a stream, and in the job.
import { beforeAll, expect, test } from 'vitest';
import type { Pcm } from '../../../src/platform/pcm.ts';
import { type JobJson, openJobsGateway } from '../../clips/jobs/open-jobs.ts';
import { openTakes, speakGoodAndBad } from '../../engines/takes-engine.ts';
import { sentences } from '../../sentences.ts';
import { bytesOf, openTestGateway } from './open-gateway.ts';

const text = sentences[0]!;
const buffer = { text, return_format: 'buffer', output_format: 'pcm', sample_rate: 24_000 };

let good: Pcm;
let bad: Pcm;

beforeAll(async () => {
  ({ good, bad } = await speakGoodAndBad(text));
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
  const { create, untilEnded } = await openJobsGateway({ engines: [engine] });
  const { id } = await create({ chapters: undefined, text: [text, text, text].join('\n\n') });
  const { status, chapters } = await untilEnded(id);
  expect(status).toBe('succeeded');
  expect(chapters[0].suspects).toEqual([
    { offset: text.length + 2, text: text.replace(/\.$/, ''), faults: ['silence'], start: expect.any(Number) },
  ]);
  expect(engine.segments.length).toBe(6);
});

test('a list of jobs has few of the suspects of a job, and their number', async () => {
  const { create, untilEnded, readJobs } = await openJobsGateway({ engines: [openTakes([bad])] });
  const { id } = await create({ chapters: [12, 25].map((count) => ({ text: Array(count).fill(text).join('\n\n') })) });
  const job = await untilEnded(id);
  expect(job.status).toBe('succeeded');
  const { jobs } = await readJobs('');
  const countOf = ({ chapters }: JobJson) =>
    chapters.map(({ suspects, suspect_count }: JobJson['chapters'][number]) => [suspects.length, suspect_count]);
  expect([job, ...jobs].map(countOf)).toEqual([
    [
      [12, 12],
      [25, 25],
    ],
    [
      [12, 12],
      [8, 25],
    ],
  ]);
}, 60_000);

// Tests event streams that are cut at random, often within an event, and resumed with Last-Event-ID: joined, they equal
// the uncut stream byte for byte.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventsIn, type ReadEvent, readEvents, soundIn } from '../http/event-reader.ts';
import { chunksOf } from './long-text.ts';
import { openService, type Service } from './open-service.ts';

const { CUTS = '100' } = process.env;
const cuts = Number(CUTS);
const cutsPerStream = 10;
const path = '/api/audio/speech/sse';

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

/** Reads some events and cuts the stream somewhere after the event with this number, if the stream is that long. */
async function readUntil(answer: Response, n: number): Promise<ReadEvent[]> {
  expect(answer.status).toBe(200);
  const more = Math.random() * 40_000;
  let seenAt: number | undefined;
  return readEvents(answer, (text) => {
    if (seenAt === undefined && text.includes(`:${n}\n`)) seenAt = text.length;
    return seenAt !== undefined && text.length >= seenAt + more;
  });
}

async function readWithCuts(body: object, eventCount: number): Promise<{ events: ReadEvent[]; cuts: number }> {
  const places = Array.from({ length: cutsPerStream }, () => Math.floor(Math.random() * eventCount)).toSorted(
    (a, b) => a - b,
  );
  let answer = await service.ask(path, { body });
  const id = answer.headers.get('X-Audio-Id');
  const events: ReadEvent[] = [];
  let cutCount = 0;
  for (const place of places) {
    events.push(...(await readUntil(answer, place)));
    if (events.at(-1)?.event === 'speech.audio.done') return { events, cuts: cutCount };
    cutCount++;
    if (Math.random() < 0.3) await sleep(Math.random() * 500);
    const lastId = events.at(-1)?.id;
    answer = await service.ask(`${path}/${id}`, { headers: lastId ? { 'Last-Event-ID': lastId } : {} });
  }
  events.push(...eventsIn(await answer.text()));
  return { events, cuts: cutCount };
}

test(`${cuts} cuts at random`, async () => {
  let [done, streams, bytes] = [0, 0, 0];
  for (const format of ['wav', 'mp3', 'pcm'])
    for (const timestamps of [null, 'word']) {
      const goal = done + Math.ceil((cuts - done) / 2);
      const body = { voice_id: 'clara', text_chunks: chunksOf(3, 400), output_format: format, timestamps };
      const whole = await readEvents(await service.ask(path, { body }));
      const streamed = await service.speak({ ...body, timestamps: null, method: 'streaming' });
      expect(soundIn(whole).equals(Buffer.from(await streamed.arrayBuffer())), 'uncut, it is the streamed body').toBe(
        true,
      );
      const isLast = format === 'pcm' && timestamps === 'word';
      while (done < (isLast ? cuts : goal)) {
        const { events, cuts: made } = await readWithCuts(body, whole.length);
        expect(events.map(({ event, id }) => [event, id.split(':')[1]])).toEqual(
          whole.map(({ event, id }) => [event, id.split(':')[1]]),
        );
        expect(soundIn(events).equals(soundIn(whole))).toBe(true);
        done += made;
        streams++;
        bytes += soundIn(events).length;
      }
    }
  expect(service.said()).toBe('');
  console.log(`SSE: ${done} cuts in ${streams} streams, ${(bytes / 1e6).toFixed(0)} MB of sound, all joined as uncut`);
});

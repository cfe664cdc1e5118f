// Tests several servers on loopback behind one engine, as in a service: each segment in its turn, retried by the guard.
import { expect, test } from 'vitest';
import {
  type OpenAiCompatibleOptions,
  openOpenAiCompatible,
} from '../../src/engines/openai-compatible/openai-compatible.ts';
import type { ServerGroupOptions } from '../../src/engines/openai-compatible/server-group.ts';
import { secondsOf } from '../../src/platform/pcm.ts';
import { openGuard, segmentOf } from './open-guard.ts';
import { openAiOptions, openOpenAiServer } from './openai-server.ts';

type Server = Awaited<ReturnType<typeof openOpenAiServer>>;

const never = new AbortController().signal;
const text = 'One two three four five six.';

const openFour = () => Promise.all(Array.from({ length: 4 }, () => openOpenAiServer({ pieceDelayMs: 4 })));

const openEngine = (
  servers: readonly Server[],
  tools: Partial<ServerGroupOptions> = {},
  requestsAtOnce = 20,
  more: Partial<OpenAiCompatibleOptions> = {},
) =>
  openOpenAiCompatible(
    openAiOptions(servers.map(({ url }) => url).join(','), { voices: ['tone-low'], requestsAtOnce, ...more }),
    tools,
  );

function kill({ server }: Server): void {
  server.closeAllConnections();
  server.close();
}

test('100 streams over four servers, of which one is killed, one is full and one is slow: none is truncated in silence', async () => {
  const servers = await openFour();
  const [killed, full, slow] = servers;
  full!.state.trouble.runningMax = 5;
  slow!.state.trouble.pieceDelayMs = 25;
  const engine = await openEngine(servers);
  const guard = openGuard(engine);
  const segmentsOfStream = 3;
  const firstSoundMs: number[] = [];
  let heard = 0;
  const speakStream = async (owner: string): Promise<number> => {
    const sinceMs = performance.now();
    let seconds = 0;
    for (let n = 0; n < segmentsOfStream; n++)
      for await (const piece of guard.speak(segmentOf(engine, { text, urgent: n === 0 }), owner, never)) {
        if (seconds === 0) firstSoundMs.push(performance.now() - sinceMs);
        if (++heard === 500) kill(killed!);
        seconds += secondsOf(piece);
      }
    return seconds;
  };
  const expected = await speakStream('first');
  firstSoundMs.length = 0;
  const ends = await Promise.allSettled(Array.from({ length: 100 }, (_, n) => speakStream(`owner-${n}`)));
  const whole = ends.filter((end) => end.status === 'fulfilled');
  const broken = ends.filter((end) => end.status === 'rejected');
  const spread = servers.map(({ requests }) => requests.length);
  const median = firstSoundMs.toSorted((a, b) => a - b)[Math.floor(firstSoundMs.length / 2)]!;
  console.log({ whole: whole.length, broken: broken.length, spread, firstSoundMedianMs: Math.round(median) });
  expect(killed!.server.listening).toBe(false);
  for (const { value } of whole) expect(value).toBeCloseTo(expected, 3);
  // Only streams being served by the killed server may fail.
  expect(broken.length).toBeLessThanOrEqual(25);
  for (const { reason } of broken) expect(reason).toMatchObject({ name: 'Failure' });
  expect(guard.state).toBe('closed');
  expect(spread[3]).toBeGreaterThan(spread[2]!);
  await guard.close();
});

test('voices are those of a server that answers', async () => {
  const servers = await Promise.all([0, 1, 2].map(() => openOpenAiServer()));
  for (const server of servers.slice(0, 2)) kill(server);
  const engine = await openEngine(servers, {}, 20, { voices: [] });
  expect(engine.voices.map(({ voiceId }) => voiceId)).toEqual(['tone-low', 'tone-high']);
  await engine.close();
});

test('an engine whose servers are all full rests, so that another one speaks at once', async () => {
  const servers = await Promise.all([0, 1].map(() => openOpenAiServer({ failures: { count: Infinity, status: 429 } })));
  const engine = await openEngine(servers);
  const guard = openGuard(engine);
  const say = () => Array.fromAsync(guard.speak(segmentOf(engine, { text }), 'owner', never));
  for (let n = 0; n < 5; n++) await expect(say()).rejects.toMatchObject({ reason: 'engine_unavailable' });
  expect(guard.state).toBe('open');
  const before = servers.map(({ requests }) => requests.length);
  await expect(say()).rejects.toMatchObject({ reason: 'engine_unavailable' });
  expect(servers.map(({ requests }) => requests.length)).toEqual(before);
  await guard.close();
});

// Tests a group of servers as one: work is shared, and a failing server is skipped until it recovers.
import { expect, test } from 'vitest';
import { ServerFull } from '../../src/engines/openai-compatible/server-full.ts';
import { createServerGroup, type ServerGroupOptions } from '../../src/engines/openai-compatible/server-group.ts';
import { Failure } from '../../src/platform/errors.ts';

const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const unreachable = () => new Failure('engine_unavailable', { retryAfterSeconds: 0 });

/**
 * A group of servers named by letters. A request is logged as its server's letter; "!" marks the sentence that warms a
 * server up.
 */
function openGroup(names: string, options: Partial<ServerGroupOptions> = {}) {
  const clock = { nowMs: 0 };
  const requests: string[] = [];
  const failing = new Map<string, Failure>();
  const holds = new Map<string, PromiseWithResolvers<void>>();
  const hold = (name: string) => holds.set(name, Promise.withResolvers()).get(name)!;
  const group = createServerGroup({
    urls: [...names].map((name) => `http://${name}`),
    createServer: (url) => ({
      async *speak({ text }) {
        const name = new URL(url).host;
        requests.push(text === 't' ? name : `${name}!`);
        await holds.get(name)?.promise;
        const failure = failing.get(name);
        if (failure) throw failure;
        yield { samples: Int16Array.of(name.charCodeAt(0)), sampleRateHz: 24_000 };
      },
      listVoices: async () => ({ model: 'm', voices: [{ id: url, name: 'x' }], uploaded: undefined }),
      uploadClone: async () => {},
      deleteClone: async () => {},
    }),
    requestsAtOnce: 100,
    now: () => clock.nowMs,
    ...options,
  });
  const say = (request: object = {}) => Array.fromAsync(group.speak({ voice: 'v', text: 't', ...request }, never));
  const sayTimes = async (times: number) => {
    let failures = 0;
    for (let i = 0; i < times; i++) await say().catch(() => failures++);
    return failures;
  };
  const limits = () => Object.fromEntries(group.servers.map(({ name, limit }) => [name, limit]));
  return { clock, requests, failing, hold, group, say, sayTimes, limits };
}
const countOf = (requests: readonly string[], name: string) => requests.filter((each) => each === name).length;

test('a server with the fewest requests gets the next one', async () => {
  const { requests, hold, say, sayTimes, group } = openGroup('abc');
  await sayTimes(300);
  for (const name of 'abc') expect(countOf(requests, name)).toBeGreaterThan(60);
  hold('b');
  while (group.servers.every(({ outstanding }) => outstanding === 0)) {
    void say();
    await turn();
  }
  requests.length = 0;
  await sayTimes(20);
  expect(requests).not.toContain('b');
});

test('many at once are spread evenly', async () => {
  const { hold, say, group } = openGroup('abcd');
  for (const name of 'abcd') hold(name);
  for (let i = 0; i < 100; i++) void say();
  await turn();
  const outstanding = group.servers.map((server) => server.outstanding);
  expect(outstanding).toEqual([25, 25, 25, 25]);
  expect(group.servers.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(100);
});

test('one that fails is left out, a longer while each time, and speaks a sentence before it gets requests again', async () => {
  const { clock, requests, failing, say, sayTimes, limits } = openGroup('ab');
  failing.set('a', unreachable());
  expect(await sayTimes(20)).toBe(1);
  expect(limits()).toEqual({ a: 0, b: 100 });
  clock.nowMs = 1_000;
  expect(await sayTimes(20)).toBe(0);
  clock.nowMs = 2_000;
  expect(await sayTimes(20)).toBe(0);
  expect(requests.filter((each) => each.startsWith('a'))).toEqual(['a', 'a!']);
  failing.clear();
  clock.nowMs = 3_000;
  await say();
  await turn();
  expect(limits()).toEqual({ a: 100, b: 100 });
  requests.length = 0;
  await sayTimes(50);
  expect(countOf(requests, 'a')).toBeGreaterThan(5);
  expect(requests).not.toContain('a!');
});

test('requests that fail together count once', async () => {
  const { clock, failing, say, limits } = openGroup('ab');
  failing.set('a', unreachable());
  const ends = await Promise.allSettled(Array.from({ length: 16 }, () => say()));
  expect(ends.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(4);
  failing.clear();
  clock.nowMs = 1_000;
  await say();
  await turn();
  expect(limits()).toEqual({ a: 100, b: 100 });
});

test('if all are out, the one whose time comes first gets the request itself', async () => {
  const { clock, requests, failing, say } = openGroup('ab');
  for (const name of 'ab') failing.set(name, unreachable());
  await expect(say()).rejects.toThrow();
  clock.nowMs = 500;
  await expect(say()).rejects.toThrow();
  const [first, second] = requests;
  expect([first, second].toSorted()).toEqual(['a', 'b']);
  failing.delete(second!);
  await expect(say()).rejects.toThrow();
  await say();
  expect(requests).toEqual([first, second, first, second]);
});

test('a text that is refused says nothing of a server', async () => {
  const { failing, sayTimes, limits } = openGroup('ab');
  for (const name of 'ab') failing.set(name, new Failure('engine_error'));
  expect(await sayTimes(10)).toBe(10);
  expect(limits()).toEqual({ a: 100, b: 100 });
});

test('a server that is full is not broken: another speaks, and it is asked again when it said', async () => {
  const { clock, requests, failing, say, sayTimes, limits, group } = openGroup('ab');
  failing.set('a', new ServerFull(3, undefined));
  expect(await sayTimes(20)).toBe(0);
  expect(countOf(requests, 'a')).toBe(1);
  expect(limits()).toEqual({ a: 100, b: 100 });
  expect(group.seats).toBe(100);
  failing.set('b', new ServerFull(2, undefined));
  await expect(say()).rejects.toMatchObject({ reason: 'engine_unavailable', facts: { retryAfterSeconds: 2 } });
  requests.length = 0;
  clock.nowMs = 1_000;
  await expect(say()).rejects.toMatchObject({ facts: { retryAfterSeconds: 1 } });
  expect(requests).toEqual([]);
  expect(group.seats).toBe(1);
  failing.clear();
  clock.nowMs = 2_000;
  await sayTimes(5);
  expect(requests).toEqual(['b', 'b', 'b', 'b', 'b']);
  clock.nowMs = 3_000;
  await sayTimes(50);
  expect(countOf(requests, 'a')).toBeGreaterThan(5);
});

test('a clone stays at the server that has spoken it while that has room, and all groups choose the same one', async () => {
  const groups = [openGroup('abcd', { requestsAtOnce: 2 }), openGroup('dcba', { requestsAtOnce: 2 })];
  const clone = Uint8Array.of(1);
  const homes = new Set<string>();
  for (let n = 0; n < 40; n++) {
    const [one, other] = groups.map(({ requests }) => requests);
    for (const { say } of groups) for (let i = 0; i < 3; i++) await say({ voice: `clone-${n}`, clone });
    expect(new Set([...one!.splice(0), ...other!]).size).toBe(1);
    homes.add(other!.splice(0)[0]!);
  }
  expect([...homes].toSorted()).toEqual(['a', 'b', 'c', 'd']);
  const { say, requests, hold } = groups[0]!;
  await say({ voice: 'clone-0', clone });
  const [home] = requests.splice(0);
  const held = hold(home!);
  const both = [0, 1].map(() => say({ voice: 'clone-0', clone }));
  await turn();
  await say({ voice: 'clone-0', clone });
  const second = requests[2]!;
  expect(requests).toEqual([home, home, second]);
  expect(second).not.toBe(home);
  held.resolve();
  await Promise.all(both);
});

test('a new address speaks a sentence first; one that is gone ends its streams and gets no more', async () => {
  let addresses = ['10.0.0.1', '10.0.0.2'];
  const gone: string[] = [];
  const { requests, hold, say, sayTimes, group, limits } = openGroup('', {
    urls: ['dns+http://tts.example:8000/v1'],
    lookup: async (name) => (name === 'tts.example' ? addresses : []),
    everyMs: 20,
    onServerGone: (server) => gone.push(server),
  });
  await sayTimes(20);
  expect([...new Set(requests)].toSorted()).toEqual(['10.0.0.1:8000', '10.0.0.2:8000']);
  const held = hold('10.0.0.1:8000');
  const streams = Array.from({ length: 6 }, () => say());
  await turn();
  expect(group.servers[0]!.outstanding).toBeGreaterThan(0);
  addresses = ['10.0.0.2', '10.0.0.3'];
  await expect.poll(limits).toEqual({ '10.0.0.1:8000': 0, '10.0.0.2:8000': 100, '10.0.0.3:8000': 0 });
  requests.length = 0;
  await say();
  await turn();
  expect(requests.toSorted()).toEqual(['10.0.0.2:8000', '10.0.0.3:8000!']);
  await sayTimes(30);
  expect(requests).not.toContain('10.0.0.1:8000');
  expect(countOf(requests, '10.0.0.3:8000')).toBeGreaterThan(3);
  expect(gone).toEqual([]);
  held.resolve();
  expect((await Promise.all(streams)).map((pieces) => pieces.length)).toEqual([1, 1, 1, 1, 1, 1]);
  expect(gone).toEqual(['10.0.0.1:8000']);
  addresses = [];
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(Object.keys(limits())).toEqual(['10.0.0.2:8000', '10.0.0.3:8000']);
  group.close();
});

test('a name that cannot be resolved is a failure that may pass', async () => {
  let isKnown = false;
  const lookup = async () => {
    if (!isKnown) throw new Error('ENOTFOUND');
    return ['::1'];
  };
  const { say, requests } = openGroup('', { urls: ['dns+http://tts.example:8000'], lookup });
  await expect(say()).rejects.toMatchObject({ reason: 'engine_unavailable', facts: { retryAfterSeconds: 0 } });
  isKnown = true;
  await say();
  expect(requests).toEqual(['[::1]:8000']);
});

test('a server that says that it is full after the first sound is not retried elsewhere', async () => {
  const requests: string[] = [];
  const { group } = openGroup('ab', {
    createServer: (url) => ({
      async *speak() {
        requests.push(url);
        yield { samples: Int16Array.of(1), sampleRateHz: 24_000 };
        throw new ServerFull(0, undefined);
      },
      listVoices: async () => ({ model: 'm', voices: [], uploaded: undefined }),
      uploadClone: async () => {},
      deleteClone: async () => {},
    }),
  });
  await expect(Array.fromAsync(group.speak({ voice: 'v', text: 't' }, never))).rejects.toThrow();
  expect(requests).toHaveLength(1);
});

test('a sentence that a server refuses is spoken later, less often each time', async () => {
  const { clock, requests, failing, say } = openGroup('ab');
  failing.set('a', unreachable());
  while (!requests.includes('a')) await say().catch(() => {});
  failing.set('a', new Failure('engine_error'));
  for (clock.nowMs = 1_000; clock.nowMs < 15_500; clock.nowMs += 500) {
    await say();
    await turn();
  }
  expect(countOf(requests, 'a!')).toBe(4);
});

test('no server speaks a clone before its first request', async () => {
  const { clock, requests, failing, say } = openGroup('ab');
  const clone = { name: 'c', text: '', wav: new Uint8Array(0) };
  failing.set('a', unreachable());
  while (!requests.includes('a')) await say({ voice: `c-${requests.length}`, clone }).catch(() => {});
  failing.clear();
  clock.nowMs = 1_000;
  requests.length = 0;
  for (let n = 0; n < 20; n++) await say({ voice: `c-${n}`, clone });
  expect(countOf(requests, 'a')).toBeGreaterThan(3);
  expect(requests).not.toContain('a!');
});

test('a server that is silent about its voices is one that may answer later', async () => {
  const { group } = openGroup('a', {
    createServer: () => ({
      async *speak() {},
      listVoices: () => new Promise(() => {}),
      uploadClone: async () => {},
      deleteClone: async () => {},
    }),
  });
  await expect(group.listVoices(AbortSignal.timeout(20))).rejects.toMatchObject({ facts: { retryAfterSeconds: 0 } });
});

test('a clone is uploaded to another server where one fails', async () => {
  const uploads: string[] = [];
  const { group } = openGroup('abc', {
    createServer: (url) => ({
      async *speak() {},
      listVoices: async () => ({ model: 'm', voices: [], uploaded: undefined }),
      async uploadClone() {
        if (uploads.push(url) < 3) throw uploads.length === 1 ? unreachable() : new ServerFull(0, undefined);
      },
      deleteClone: async () => {},
    }),
  });
  await group.uploadClone({ name: 'c', text: '', wav: new Uint8Array(0) }, never);
  expect(new Set(uploads).size).toBe(3);
});

test('servers at one host are named by their paths, and a server with addresses of both families is one', async () => {
  const { limits } = openGroup('', { urls: ['http://a/one/v1', 'http://a/two/v1', 'http://b/v1'] });
  expect(Object.keys(limits())).toEqual(['a/one/v1', 'a/two/v1', 'b']);
  const lookup = async () => ['fd00::1', '10.0.0.1', 'fd00::2', '10.0.0.2'];
  const { say, requests, sayTimes } = openGroup('', { urls: ['dns+http://tts.example:8000'], lookup });
  await say();
  await sayTimes(30);
  expect([...new Set(requests)].toSorted()).toEqual(['10.0.0.1:8000', '10.0.0.2:8000']);
});

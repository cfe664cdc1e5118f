// Tests that a download completes despite all faults of sources and connections, with exactly the expected bytes, or
// fails with the reason.
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Retry } from '../../../src/library/models/download.ts';
import { TransferRate } from '../../../src/library/models/download.ts';
import { listen } from '../../free-port.ts';
import { cutAfter, openMirror, send, sha256Of } from './model-mirror.ts';
import { build, openDownloads, patience, whole } from './open-downloads.ts';

const { here, fetchIt, there, expectWhole } = openDownloads();

test('each retry is told before its pause: the host, what went wrong, and which attempt comes', async () => {
  here.mirror.fault = (request, response) => request.count <= 2 && !!response.writeHead(503).end();
  const told: Retry[] = [];
  await fetchIt({ onRetry: (retry) => told.push(retry) });
  const { host } = new URL(here.mirror.url);
  const retry = { host, why: 'it returned status 503', attemptsMax: 4 };
  expect(told).toEqual([
    { ...retry, pauseMs: 1, attempt: 2 },
    { ...retry, pauseMs: 2, attempt: 3 },
  ]);
});

test('cut at a random byte 50 times, it goes on each time, and sends no byte twice', async () => {
  let sent = 0;
  here.mirror.fault = (request, response, bytes) => {
    if (request.count > 50) return false;
    return cutAfter((length) => {
      const count = 1 + Math.floor(Math.random() * Math.min(30_000, length - 1));
      sent += count;
      return count;
    })(request, response, bytes);
  };
  await fetchIt();
  expect(here.mirror.requests).toHaveLength(51);
  const starts = here.mirror.requests.map(({ range }) => Number(/\d+/.exec(range ?? '0')));
  expect(starts).toEqual([...starts].sort((one, other) => one - other));
  expect(starts.at(-1)).toBe(sent);
  await expectWhole();
});

/** Creates the state that a process leaves behind if it is killed midway. */
async function fetchSome(): Promise<void> {
  here.mirror.fault = (request, response, bytes) =>
    request.count === 1 ? cutAfter(() => 400_000)(request, response, bytes) : !!response.writeHead(404).end();
  await expect(fetchIt()).rejects.toThrow('404');
  expect(await there()).toEqual(['file.part', 'file.part.json']);
  here.mirror.fault = undefined;
}

test('what a process before has fetched is not fetched again', async () => {
  await fetchSome();
  await fetchIt();
  expect(here.mirror.requests.at(-1)).toMatchObject({ range: 'bytes=400000-', ifRange: expect.stringMatching(/^"/) });
  await expectWhole();
});

test('two versions are never joined', async () => {
  await fetchSome();
  const other = randomBytes(900_000);
  here.mirror.files.set('file', other);
  await fetchIt({ builds: [] });
  expect((await readFile(here.to)).equals(other)).toBe(true);
});

test('a source without versions that has joined two is asked once more, from the beginning', async () => {
  const other = randomBytes(whole.length);
  here.mirror.fault = async (request, response) => {
    if (request.count > 2) return false;
    const bytes = request.count === 1 ? other : whole;
    const from = Number(/\d+/.exec(request.range ?? '0'));
    const contentRange = `bytes ${from}-${whole.length - 1}/${whole.length}`;
    response.writeHead(from > 0 ? 206 : 200, { 'Content-Length': whole.length - from, 'Content-Range': contentRange });
    if (request.count === 2) return !!response.end(bytes.subarray(from));
    await new Promise<void>((resolve) => response.write(bytes.subarray(0, 300_000), () => resolve()));
    return !!response.destroy();
  };
  await fetchIt();
  expect(here.mirror.requests).toHaveLength(3);
  await expectWhole();
});

test('a part on the disk that was changed is found, and fetched anew', async () => {
  const version = {
    url: `${here.mirror.url}/file`,
    validator: `"${build.sha256.slice(0, 16)}"`,
    bytesTotal: whole.length,
  };
  await writeFile(`${here.to}.part`, randomBytes(500_000));
  await writeFile(`${here.to}.part.json`, JSON.stringify(version));
  await fetchIt();
  await expectWhole();
});

test.each<[name: string, rest: string]>([
  ['what is no JSON', '{"url":"http'],
  ['nothing', ''],
])('a part with %s about its version is fetched anew', async (_, version) => {
  await writeFile(`${here.to}.part`, randomBytes(500_000));
  await writeFile(`${here.to}.part.json`, version);
  await fetchIt();
  expect(here.mirror.requests.map(({ range }) => range)).toEqual([undefined]);
  await expectWhole();
});

describe('a source that', () => {
  test.each([429, 500, 502, 503, 504])('answers %i for a while is asked again', async (status) => {
    here.mirror.fault = ({ count }, response) => count <= 3 && !!response.writeHead(status).end('later');
    await fetchIt();
    expect(here.mirror.requests).toHaveLength(4);
    await expectWhole();
  });

  test('says when to ask again is asked then, and not before', async () => {
    let askedMs = 0;
    here.mirror.fault = ({ count }, response) => {
      if (count === 1) askedMs = performance.now();
      return count === 1 && !!response.writeHead(429, { 'Retry-After': '1' }).end();
    };
    await fetchIt({ patience: { ...patience, retryAfterMsMax: 1_000 } });
    expect(performance.now() - askedMs).toBeGreaterThanOrEqual(990);
    await expectWhole();
  });

  test('says that it is to be asked much later is not waited for', async () => {
    here.mirror.fault = (_, response) => !!response.writeHead(503, { 'Retry-After': '3600' }).end();
    await expect(fetchIt()).rejects.toThrow(/asks for a retry in 3600 s/);
    expect(here.mirror.requests).toHaveLength(1);
  });

  test.each([
    [500, /cannot be fetched: it returned status 500/, 4],
    [404, /\/file does not exist \(404\); set SONANT_MODELS_URL to a mirror/, 1],
    [403, /returned status 403/, 1],
  ])('answers %i all the time is given up', async (status, told, requests) => {
    here.mirror.fault = (_, response) => !!response.writeHead(status).end();
    await expect(fetchIt()).rejects.toThrow(told);
    expect(here.mirror.requests).toHaveLength(requests);
  });

  test('redirects is followed, up to ten times', async () => {
    here.mirror.fault = ({ path }, response) =>
      path !== 'file' && !!response.writeHead(302, { Location: path === '9' ? '/file' : `/${Number(path) + 1}` }).end();
    expect(await fetchIt({ url: `${here.mirror.url}/0` })).toBe(build.sha256);
    expect(here.mirror.requests).toHaveLength(11);
    await expectWhole();
  });

  test('redirects to itself, or without end, or elsewhere, is given up', async () => {
    here.mirror.fault = (_, response) => !!response.writeHead(302, { Location: '/file' }).end();
    await expect(fetchIt()).rejects.toThrow(/redirects to itself/);
    here.mirror.fault = ({ path }, response) => !!response.writeHead(302, { Location: `/${path}x` }).end();
    await expect(fetchIt()).rejects.toThrow(/redirects more than 10 times/);
    here.mirror.fault = (_, response) => !!response.writeHead(302, { Location: 'file:///etc/passwd' }).end();
    await expect(fetchIt()).rejects.toThrow(/redirects to an address that is not allowed: file:/);
    const { port } = new URL(here.mirror.url);
    for (const elsewhere of [
      'http://127.0.0.2',
      'https://127.0.0.2',
      'https://[::1]',
      'https://10.0.0.1',
      'http://1.1.1.1',
    ]) {
      here.mirror.requests.length = 0;
      here.mirror.fault = (_, response) => !!response.writeHead(302, { Location: `${elsewhere}:${port}/file` }).end();
      await expect(fetchIt()).rejects.toThrow(/redirects to an address that is not allowed: http/);
      expect(here.mirror.requests).toHaveLength(1);
    }
    expect(await there()).not.toContain('file');
  });

  test('sends nothing more for a while is left, and asked for the rest', async () => {
    here.mirror.fault = ({ count, ...request }, response, bytes) => {
      if (count > 2) return false;
      const etag = `"${build.sha256.slice(0, 16)}"`;
      const from = Number(/\d+/.exec(request.range ?? '0'));
      const contentRange = `bytes ${from}-${whole.length - 1}/${whole.length}`;
      response.writeHead(from > 0 ? 206 : 200, {
        'Content-Length': whole.length - from,
        ETag: etag,
        'Content-Range': contentRange,
      });
      response.write(bytes.subarray(from, from + 100_000));
      return true;
    };
    const reasons: string[] = [];
    await fetchIt({ patience: { ...patience, stallMs: 1_000 }, onRetry: ({ why }) => reasons.push(why) });
    expect(reasons).toEqual(Array(2).fill('nothing arrived for 1 s'));
    expect(here.mirror.requests.map(({ range }) => range)).toEqual([undefined, 'bytes=100000-', 'bytes=200000-']);
    await expectWhole();
  });

  test('says that the file is of another size is believed, and both sizes are told', async () => {
    here.mirror.files.set('file', whole.subarray(1));
    await expect(fetchIt()).rejects.toThrow(
      /has 999999 bytes; it must have 1000000 bytes and the SHA-256 [0-9a-f]{64}/,
    );
  });

  test.each([
    ['fewer bytes than it says', 1_000_000, 600_000],
    ['more bytes than it may', undefined, 1_000_100],
  ])('sends %s is found out', async (_, length, sent) => {
    here.mirror.fault = (_, response) => {
      response.writeHead(200, length === undefined ? {} : { 'Content-Length': length });
      response.write(Buffer.concat([whole, whole]).subarray(0, sent));
      response.end();
      setTimeout(() => response.destroy(), 50);
      return true;
    };
    const limited = { ...patience, attemptsMax: 2 };
    const fetched = fetchIt({
      builds: length === undefined ? [build] : [],
      patience: limited,
      signal: AbortSignal.timeout(10_000),
    });
    await expect(fetched).rejects.toThrow(length === undefined ? /sent more than 1000000 bytes/ : /./);
    expect(await there()).not.toContain('file');
  });

  test('sends another file is found out, and both hashes are told', async () => {
    const other = randomBytes(whole.length);
    here.mirror.files.set('file', other);
    const told = new RegExp(
      `has 1000000 bytes and the SHA-256 ${sha256Of(other)}; it must have 1000000 bytes and the SHA-256 ${build.sha256}`,
    );
    await expect(fetchIt()).rejects.toMatchObject({ reason: 'invalid_request', message: expect.stringMatching(told) });
    expect(await there()).toEqual([]);
  });

  test('ignores ranges sends all of it again', async () => {
    here.mirror.fault = (request, response, bytes) => {
      if (request.count === 1) return cutAfter(() => 300_000)(request, response, bytes);
      return send(response, bytes, { ...request, range: undefined }).then(() => true);
    };
    await fetchIt();
    await expectWhole();
  });

  test('is not there is told after two attempts, with what to do on a machine that is offline', async () => {
    const port = here.mirror.url.slice('http://'.length);
    await here.mirror[Symbol.asyncDispose]();
    const retries: Retry[] = [];
    await expect(fetchIt({ onRetry: (retry) => retries.push(retry) })).rejects.toMatchObject({
      reason: 'engine_unavailable',
      message: expect.stringMatching(`${port}.*the connection was refused. If this machine is offline, download`),
    });
    expect(retries).toMatchObject([{ attempt: 2, attemptsMax: 2 }]);
    here.mirror = await openMirror();
  });
});

test('an interruption ends the download and keeps the part', async () => {
  here.mirror.pace = { bytes: 50_000, ms: 50 };
  const interrupted = new AbortController();
  const onProgress = () => interrupted.abort(new Error('enough'));
  await expect(fetchIt({ signal: interrupted.signal, onProgress })).rejects.toThrow('enough');
  expect(await there()).toEqual(['file.part', 'file.part.json']);
});

const least = { windowMs: 500, windowBytesMin: 2_000 };

test('a source that sends a byte now and then without end is given up, and what has arrived is kept', async () => {
  here.mirror.pace = { bytes: 1, ms: 10 };
  const fetched = fetchIt({ patience: { ...patience, ...least } });
  await expect(fetched).rejects.toMatchObject({
    reason: 'engine_unavailable',
    message: expect.stringMatching(
      /\/file is too slow: \d+ bytes in [\d.]+ s; at least 2000 bytes in 0\.5 s are expected/,
    ),
  });
  expect([here.mirror.requests.length, await there()]).toEqual([1, ['file.part', 'file.part.json']]);
  here.mirror.pace = undefined;
  await fetchIt();
  expect(here.mirror.requests.at(-1)?.range).toMatch(/^bytes=[1-9]\d*-$/);
  await expectWhole();
});

test('one that breaks off after every byte is given up too', async () => {
  here.mirror.fault = cutAfter(() => 1);
  await expect(fetchIt({ patience: { ...patience, ...least } })).rejects.toThrow(/is too slow/);
  expect(here.mirror.requests.length).toBeLessThan(2_000);
});

test('one that is slow, but not as slow, is waited for, and pauses do not count', () => {
  let nowMs = 0;
  const rate = new TransferRate('http://mirror/file', { windowMs: 60_000, windowBytesMin: 60_000 }, () => nowMs);
  const take = (seconds: number, bytes: number) => {
    nowMs += 1000 * seconds;
    rate.add(bytes);
  };
  rate.run();
  for (let i = 0; i < 1_000; i++) take(1, 1_000);
  rate.rest();
  take(3_600, 0);
  rate.run();
  for (let i = 0; i < 19; i++) take(1, 999);
  expect(() => {
    for (let i = 0; i < 60; i++) take(1, 999);
  }).toThrow(/is too slow: 5\d{4} bytes in 60 s; at least 60000 bytes in 60 s/);
});

test('a source that sends its answer’s head without end is given up', async () => {
  const dripping = createServer((socket) => {
    socket.on('error', () => {}).write('HTTP/1.1 200 OK\r\nX-Drip: ');
    const timer = setInterval(() => socket.write('x'), 20);
    socket.once('close', () => clearInterval(timer));
  });
  const port = await listen(dripping);
  try {
    const hasty = { ...patience, stallMs: 300, attemptsMax: 2 };
    const fetched = fetchIt({ url: `http://127.0.0.1:${port}/file`, patience: hasty });
    await expect(fetched).rejects.toThrow(/cannot be fetched: it did not answer within 1 s/);
  } finally {
    dripping.close();
  }
});

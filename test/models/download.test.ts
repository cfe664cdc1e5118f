// A download comes to its end through all that sources and lines do wrong, with exactly the bytes that are known, or it
// fails and says why.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Download, download } from '../../src/models/download.ts';
import { leastRateDefault, TransferRate } from '../../src/models/transfer-rate.ts';
import { testCertificate } from '../rpc/test-certificate.ts';
import { type ConnectProxy, openConnectProxy } from './connect-proxy.ts';
import { cutAfter, type Mirror, openMirror, send, sha256Of } from './model-mirror.ts';

let root: string;
let to: string;
let mirror: Mirror;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'sonant-download-'));
});
afterAll(() => rm(root, { recursive: true }));
beforeEach(async () => {
  to = join(await mkdtemp(join(root, 'case-')), 'file');
  mirror = await openMirror({ file: whole });
});
afterEach(() => mirror[Symbol.asyncDispose]());

const whole = randomBytes(1_000_000);
const build = { bytes: whole.length, sha256: sha256Of(whole) };
const patience = {
  stallMs: 20_000,
  pauseMs: 1,
  pauseMsMax: 4,
  retryAfterMsMax: 5_000,
  attemptsMax: 4,
  ...leastRateDefault,
};
const { signal } = new AbortController();
const fetchIt = (options: Partial<Download> = {}) =>
  download({ url: `${mirror.url}/file`, to, builds: [build], signal, patience, ...options });
const there = async () => (await readdir(join(to, '..'))).sort();
const expectWhole = async () => {
  expect(sha256Of(await readFile(to))).toBe(build.sha256);
  expect(await there()).toEqual(['file']);
};

test('a file is fetched whole, with its progress', async () => {
  const told: (readonly [number, number | undefined])[] = [];
  expect(await fetchIt({ onProgress: (bytes, total) => told.push([bytes, total]) })).toBe(build.sha256);
  expect(told.at(-1)).toEqual([whole.length, whole.length]);
  await expectWhole();
});

test('cut at a random byte 50 times, it goes on each time, and sends no byte twice', async () => {
  let sent = 0;
  mirror.fault = (request, response, bytes) => {
    if (request.count > 50) return false;
    return cutAfter((length) => {
      const count = 1 + Math.floor(Math.random() * Math.min(30_000, length - 1));
      sent += count;
      return count;
    })(request, response, bytes);
  };
  await fetchIt();
  expect(mirror.requests).toHaveLength(51);
  const starts = mirror.requests.map(({ range }) => Number(/\d+/.exec(range ?? '0')));
  expect(starts).toEqual([...starts].sort((one, other) => one - other));
  expect(starts.at(-1)).toBe(sent);
  await expectWhole();
});

/** A process that was killed in the middle, as far as the disk can tell. */
async function fetchSome(): Promise<void> {
  mirror.fault = (request, response, bytes) =>
    request.count === 1 ? cutAfter(() => 400_000)(request, response, bytes) : !!response.writeHead(404).end();
  await expect(fetchIt()).rejects.toThrow('404');
  expect(await there()).toEqual(['file.part', 'file.part.json']);
  mirror.fault = undefined;
}

test('what a process before has fetched is not fetched again', async () => {
  await fetchSome();
  await fetchIt();
  expect(mirror.requests.at(-1)).toMatchObject({ range: 'bytes=400000-', ifRange: expect.stringMatching(/^"/) });
  await expectWhole();
});

test('two versions are never joined', async () => {
  await fetchSome();
  const other = randomBytes(900_000);
  mirror.files.set('file', other);
  await fetchIt({ builds: [] });
  expect((await readFile(to)).equals(other)).toBe(true);
});

test('a source without versions that has joined two is asked once more, from the beginning', async () => {
  const other = randomBytes(whole.length);
  mirror.fault = async (request, response) => {
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
  expect(mirror.requests).toHaveLength(3);
  await expectWhole();
});

test('a part on the disk that was changed is found, and fetched anew', async () => {
  const version = { url: `${mirror.url}/file`, validator: `"${build.sha256.slice(0, 16)}"`, bytesTotal: whole.length };
  await writeFile(`${to}.part`, randomBytes(500_000));
  await writeFile(`${to}.part.json`, JSON.stringify(version));
  await fetchIt();
  await expectWhole();
});

test.each<[name: string, rest: string]>([
  ['what is no JSON', '{"url":"http'],
  ['nothing', ''],
])('a part with %s about its version is fetched anew', async (_, version) => {
  await writeFile(`${to}.part`, randomBytes(500_000));
  await writeFile(`${to}.part.json`, version);
  await fetchIt();
  expect(mirror.requests.map(({ range }) => range)).toEqual([undefined]);
  await expectWhole();
});

describe('a source that', () => {
  test.each([429, 500, 502, 503, 504])('answers %i for a while is asked again', async (status) => {
    mirror.fault = ({ count }, response) => count <= 3 && !!response.writeHead(status).end('later');
    await fetchIt();
    expect(mirror.requests).toHaveLength(4);
    await expectWhole();
  });

  test('says when to ask again is asked then, and not before', async () => {
    let askedMs = 0;
    mirror.fault = ({ count }, response) => {
      if (count === 1) askedMs = performance.now();
      return count === 1 && !!response.writeHead(429, { 'Retry-After': '1' }).end();
    };
    await fetchIt();
    expect(performance.now() - askedMs).toBeGreaterThanOrEqual(990);
    await expectWhole();
  });

  test('says that it is to be asked much later is not waited for', async () => {
    mirror.fault = (_, response) => !!response.writeHead(503, { 'Retry-After': '3600' }).end();
    await expect(fetchIt()).rejects.toThrow(/asks to be tried again in 3600 s/);
    expect(mirror.requests).toHaveLength(1);
  });

  test.each([
    [500, /cannot be fetched: it answers 500/, 4],
    [404, /there is nothing at .*\/file \(404\); SONANT_MODELS_URL names a mirror/, 1],
    [403, /answers 403/, 1],
  ])('answers %i all the time is given up', async (status, told, requests) => {
    mirror.fault = (_, response) => !!response.writeHead(status).end();
    await expect(fetchIt()).rejects.toThrow(told);
    expect(mirror.requests).toHaveLength(requests);
  });

  test('redirects is followed', async () => {
    mirror.fault = ({ path }, response) => path === 'begin' && !!response.writeHead(302, { Location: '/file' }).end();
    await fetchIt({ url: `${mirror.url}/begin` });
    await expectWhole();
  });

  test('redirects in a circle, or without end, or elsewhere, is given up', async () => {
    mirror.fault = (_, response) => !!response.writeHead(302, { Location: '/file' }).end();
    await expect(fetchIt()).rejects.toThrow(/redirects in a circle/);
    mirror.fault = ({ path }, response) => !!response.writeHead(302, { Location: `/${path}x` }).end();
    await expect(fetchIt()).rejects.toThrow(/redirects more than 10 times/);
    mirror.fault = (_, response) => !!response.writeHead(302, { Location: 'file:///etc/passwd' }).end();
    await expect(fetchIt()).rejects.toThrow(/redirects to where nothing is fetched from: file:/);
    expect(await there()).not.toContain('file');
  });

  test('sends nothing more for a while is left, and asked for the rest', async () => {
    mirror.fault = ({ count, ...request }, response, bytes) => {
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
    await fetchIt({ patience: { ...patience, stallMs: 1_000 } });
    expect(mirror.requests.map(({ range }) => range)).toEqual([undefined, 'bytes=100000-', 'bytes=200000-']);
    await expectWhole();
  });

  const least = { windowMs: 500, windowBytesMin: 2_000 };

  test('sends a byte now and then without end is given up, and what has arrived is kept', async () => {
    mirror.pace = { bytes: 1, ms: 10 };
    const fetched = fetchIt({ patience: { ...patience, ...least } });
    await expect(fetched).rejects.toMatchObject({
      reason: 'engine_unavailable',
      message: expect.stringMatching(
        /\/file sends too slowly and is given up: \d+ bytes in [\d.]+ s; at least 2000 in 0\.5 s are waited for/,
      ),
    });
    expect([mirror.requests.length, await there()]).toEqual([1, ['file.part', 'file.part.json']]);
    mirror.pace = undefined;
    await fetchIt();
    expect(mirror.requests.at(-1)?.range).toMatch(/^bytes=[1-9]\d*-$/);
    await expectWhole();
  });

  test('breaks off after every byte is given up too', async () => {
    mirror.fault = cutAfter(() => 1);
    await expect(fetchIt({ patience: { ...patience, ...least } })).rejects.toThrow(/sends too slowly and is given up/);
    expect(mirror.requests.length).toBeLessThan(2_000);
  });

  test('is slow, but not as slow, is waited for, and pauses do not count', () => {
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
    }).toThrow(/sends too slowly and is given up: 5\d{4} bytes in 60 s; at least 60000 in 60 s/);
  });

  test('says that the file is of another size is believed, and both sizes are told', async () => {
    mirror.files.set('file', whole.subarray(1));
    await expect(fetchIt()).rejects.toThrow(
      /has 999999 bytes; it must have 1000000 bytes and the SHA-256 [0-9a-f]{64}/,
    );
  });

  test.each([
    ['fewer bytes than it says', 1_000_000, 600_000],
    ['more bytes than it may', undefined, 1_000_100],
  ])('sends %s is found out', async (_, length, sent) => {
    mirror.fault = (_, response) => {
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
    await expect(fetched).rejects.toThrow(length === undefined ? /sends more than 1000000 bytes/ : /./);
    expect(await there()).not.toContain('file');
  });

  test('sends another file is found out, and both hashes are told', async () => {
    const other = randomBytes(whole.length);
    mirror.files.set('file', other);
    const told = new RegExp(
      `has 1000000 bytes and the SHA-256 ${sha256Of(other)}; it must have 1000000 bytes and the SHA-256 ${build.sha256}`,
    );
    await expect(fetchIt()).rejects.toMatchObject({ reason: 'invalid_request', message: expect.stringMatching(told) });
    expect(await there()).toEqual([]);
  });

  test('ignores ranges sends all of it again', async () => {
    mirror.fault = (request, response, bytes) => {
      if (request.count === 1) return cutAfter(() => 300_000)(request, response, bytes);
      return send(response, bytes, { ...request, range: undefined }).then(() => true);
    };
    await fetchIt();
    await expectWhole();
  });

  test('is not there is told', async () => {
    const port = mirror.url.slice('http://'.length);
    await mirror[Symbol.asyncDispose]();
    await expect(fetchIt()).rejects.toMatchObject({
      reason: 'engine_unavailable',
      message: expect.stringContaining(port),
    });
    mirror = await openMirror();
  });
});

test('an interruption ends the download and keeps the part', async () => {
  mirror.pace = { bytes: 50_000, ms: 50 };
  const interrupted = new AbortController();
  const onProgress = () => interrupted.abort(new Error('enough'));
  await expect(fetchIt({ signal: interrupted.signal, onProgress })).rejects.toThrow('enough');
  expect(await there()).toEqual(['file.part', 'file.part.json']);
});

test('the proxy that the environment names is used, but not where NO_PROXY excepts it', async () => {
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(request.url!);
    httpRequest(request.url!, { headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    }).end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  try {
    vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    vi.stubEnv('NO_PROXY', '');
    await fetchIt();
    expect(asked).toEqual([`${mirror.url}/file`]);
    vi.stubEnv('NO_PROXY', '127.0.0.1');
    await rm(to);
    await fetchIt();
    expect(asked).toHaveLength(1);
    await expectWhole();
  } finally {
    vi.unstubAllEnvs();
    proxy.closeAllConnections();
    proxy.close();
  }
});

describe('over HTTPS, through a proxy that leads tunnels', () => {
  // A port where nothing listens: only the proxy leads there.
  const url = 'https://localhost:9/file';
  let proxy: ConnectProxy;
  beforeEach(async () => {
    proxy = await openConnectProxy(mirror.url);
    vi.stubEnv('HTTPS_PROXY', `http://user:word@127.0.0.1:${proxy.port}`);
    vi.stubEnv('NO_PROXY', '');
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    setDefaultCACertificates(trusted);
    await proxy[Symbol.asyncDispose]();
  });
  const trusted = getCACertificates();
  const trust = () => setDefaultCACertificates([...trusted, testCertificate.cert]);

  test('a file is fetched, resumed where the tunnel broke, and checked against the certificate of its source', async () => {
    trust();
    mirror.fault = (request, response, bytes) =>
      request.count <= 3 && cutAfter(() => 200_000)(request, response, bytes);
    await fetchIt({ url });
    expect(mirror.requests.map(({ range }) => range)).toEqual([
      undefined,
      ...['bytes=200000-', 'bytes=400000-', 'bytes=600000-'],
    ]);
    const credentials = Buffer.from('user:word').toString('base64');
    expect(new Set(proxy.asked)).toEqual(new Set([`localhost:9 Basic ${credentials}`]));
    await expectWhole();
  });

  test('a source with a certificate that is not trusted is refused', async () => {
    await expect(fetchIt({ url })).rejects.toMatchObject({
      reason: 'engine_unavailable',
      message: expect.stringMatching(/localhost:9\/file cannot be fetched: .*self-signed certificate/),
    });
    expect([mirror.requests, await there()]).toEqual([[], []]);
  });

  test('a proxy that refuses is told, and goes round where NO_PROXY says so', async () => {
    trust();
    proxy.refusal = 407;
    await expect(fetchIt({ url })).rejects.toThrow(/cannot be fetched: .*407/);
    vi.stubEnv('NO_PROXY', 'localhost');
    const asked = proxy.asked.length;
    await expect(fetchIt({ url })).rejects.toThrow(/cannot be fetched: .*ECONNREFUSED/);
    expect(proxy.asked).toHaveLength(asked);
  });
});

test('a source that sends its answer’s head without end is given up', async () => {
  const dripping = createNetServer((socket) => {
    socket.on('error', () => {}).write('HTTP/1.1 200 OK\r\nX-Drip: ');
    const timer = setInterval(() => socket.write('x'), 20);
    socket.once('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = dripping.address() as AddressInfo;
    const hasty = { ...patience, stallMs: 300, attemptsMax: 2 };
    const fetched = fetchIt({ url: `http://127.0.0.1:${port}/file`, patience: hasty });
    await expect(fetched).rejects.toThrow(/cannot be fetched: it does not answer within 1 s/);
  } finally {
    dripping.close();
  }
});

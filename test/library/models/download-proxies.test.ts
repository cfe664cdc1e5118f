// Tests downloads through the proxies in the environment, over HTTP and, by tunnels, over HTTPS.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Download, download, leastRateDefault, type Retry } from '../../../src/library/models/download.ts';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';
import { type ConnectProxy, openConnectProxy } from './connect-proxy.ts';
import { cutAfter, type Mirror, openMirror, sha256Of } from './model-mirror.ts';

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
  // No program listens on this port, but the proxy accepts every target.
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

  test('a source with a certificate that is not trusted is refused at once', async () => {
    const retries: Retry[] = [];
    await expect(fetchIt({ url, onRetry: (retry) => retries.push(retry) })).rejects.toMatchObject({
      reason: 'engine_unavailable',
      message: expect.stringMatching(/localhost:9\/file cannot be fetched: .*self-signed certificate/),
    });
    expect([retries, mirror.requests, await there()]).toEqual([[], [], []]);
  });

  test('a proxy that refuses is told, and goes round where NO_PROXY says so', async () => {
    trust();
    proxy.refusal = 407;
    await expect(fetchIt({ url })).rejects.toThrow(/cannot be fetched: .*407/);
    vi.stubEnv('NO_PROXY', 'localhost');
    const asked = proxy.asked.length;
    await expect(fetchIt({ url })).rejects.toThrow(/cannot be fetched: the connection was refused/);
    expect(proxy.asked).toHaveLength(asked);
  });
});

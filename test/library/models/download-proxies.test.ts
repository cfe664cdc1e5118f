// Tests downloads through the proxies in the environment, over HTTP and, by tunnels, over HTTPS.
import { rm } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { listen } from '../../free-port.ts';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';
import { type ConnectProxy, openConnectProxy } from './connect-proxy.ts';
import { cutAfter } from './model-mirror.ts';
import { openDownloads } from './open-downloads.ts';

const { here, fetchIt, expectWhole } = openDownloads();

test('the proxy that the environment names is used, but not where NO_PROXY excepts it', async () => {
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(request.url!);
    httpRequest(request.url!, { headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    }).end();
  });
  const proxyPort = await listen(proxy);
  try {
    vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${proxyPort}`);
    vi.stubEnv('NO_PROXY', '');
    await fetchIt();
    expect(asked).toEqual([`${here.mirror.url}/file`]);
    vi.stubEnv('NO_PROXY', '127.0.0.1');
    await rm(here.to);
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
    proxy = await openConnectProxy(here.mirror.url);
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
    here.mirror.fault = (request, response, bytes) =>
      request.count <= 3 && cutAfter(() => 200_000)(request, response, bytes);
    await fetchIt({ url });
    expect(here.mirror.requests.map(({ range }) => range)).toEqual([
      undefined,
      ...['bytes=200000-', 'bytes=400000-', 'bytes=600000-'],
    ]);
    const credentials = Buffer.from('user:word').toString('base64');
    expect(new Set(proxy.asked)).toEqual(new Set([`localhost:9 Basic ${credentials}`]));
    await expectWhole();
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

// Serves npm packages on loopback like a registry, each with one version.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { tarOf } from '../platform/archives/archive-writer.ts';

export interface NpmRegistry extends AsyncDisposable {
  url: string;
  /** Integrity of each package, as in a lock file. */
  integrity: Readonly<Record<string, string>>;
  requests: string[];
  /** Contents that are served instead of the packages. */
  forged: Map<string, Buffer>;
}

const tarballOf = (name: string, version: string, files: Readonly<Record<string, string>>): Buffer =>
  gzipSync(tarOf('package', { 'package.json': JSON.stringify({ name, version, main: 'main.js' }), ...files }));

export async function openNpmRegistry(
  version: string,
  packages: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<NpmRegistry> {
  const tarballs = new Map(Object.entries(packages).map(([name, files]) => [name, tarballOf(name, version, files)]));
  const integrityOf = (bytes: Buffer) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  const forged = new Map<string, Buffer>();
  const requests: string[] = [];
  const server = createServer(({ url: path = '' }, response) => {
    requests.push(path);
    const name = /^\/([^/]+)/.exec(path)?.[1] ?? '';
    const bytes = forged.get(name) ?? tarballs.get(name);
    if (!bytes) return void response.writeHead(404).end();
    if (path.endsWith('.tgz')) return void response.end(bytes);
    const dist = { tarball: `${url}/${name}/-/${name}.tgz`, integrity: integrityOf(bytes) };
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ name, versions: { [version]: { name, version, dist } } }));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    integrity: Object.fromEntries([...tarballs].map(([name, bytes]) => [name, integrityOf(bytes)])),
    requests,
    forged,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

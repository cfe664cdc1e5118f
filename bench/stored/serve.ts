// The process of one contender of `npm run bench stored`: the whole service with an engine whose sound is ready, or a bare
// Fastify that sends the same bytes with the same headers. It tells its parent where it is and answers every message with
// the CPU it has used. The checkout whose service runs is an argument, so that two can be compared.
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fastify from 'fastify';
import type { Engine, EngineDefinition, Segment, SpokenPcm, Voice } from '../../src/engines/engine.ts';
import { ownCpuMs } from '../measuring/machine.ts';

export interface StoredAddresses {
  port: number;
  apiKey: string;
  folder: string;
}

const sampleRateHz = 24_000;
const secondsPerChar = 0.065;

const voice: Voice = {
  ...{ voiceId: 'ready', name: 'Ready', engine: 'ready', description: '', kind: 'stock', languageCodes: ['en'] },
  ...{ labels: {}, version: '1', gainDb: 0 },
};

async function* speak({ text }: Segment): AsyncGenerator<SpokenPcm> {
  const samples = new Int16Array(Math.round(text.length * secondsPerChar * sampleRateHz));
  for (let n = 0; n < samples.length; n++) samples[n] = Math.round(4_000 * Math.sin(n / 12));
  yield { samples, sampleRateHz };
}

const ready: EngineDefinition = {
  name: 'ready',
  settings: {},
  inspect: async () => [],
  open: async (): Promise<Engine> => ({
    name: 'ready',
    voices: [voice],
    capabilities: {
      ...{ segmentCharsMax: 400, speakingRates: { min: 0.25, max: 4 }, timings: false, readsNumbers: true },
      segmentsAtOnce: 2,
    },
    speak,
    async close() {},
  }),
} as unknown as EngineDefinition;

async function openSonant(root: string): Promise<StoredAddresses> {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-bench-stored-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const { openService } = (await import(join(root, 'src/app.ts'))) as typeof import('../../src/app.ts');
  const { loadConfig } = (await import(join(root, 'src/config.ts'))) as typeof import('../../src/config.ts');
  const { createLog } = (await import(
    join(root, 'src/telemetry/log.ts')
  )) as typeof import('../../src/telemetry/log.ts');
  const { openKeys } = (await import(
    join(root, 'src/app/command-line.ts')
  )) as typeof import('../../src/app/command-line.ts');
  const { operator } = (await import(join(root, 'src/keys/actor.ts'))) as typeof import('../../src/keys/actor.ts');
  const { firstKeyScopes } = (await import(
    join(root, 'src/keys/scopes.ts')
  )) as typeof import('../../src/keys/scopes.ts');
  const env = {
    ...{ SONANT_DATA_DIR: folder, SONANT_LOG_LEVEL: 'warn' },
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
  };
  const config = loadConfig({ env, folder, engines: [ready] });
  const keys = await openKeys(config);
  const limits = { requestsPerMinute: 1_000_000, concurrency: 1_000 };
  const { key: apiKey } = await keys.management.create({ scopes: firstKeyScopes, limits }, operator);
  await keys.close();
  const service = await openService({ config, definitions: [ready], log: createLog('warn'), isSinglePort: false });
  return { port: service.httpPort, apiKey, folder };
}

/** Sends so many bytes with the headers that the service sends with stored audio. */
async function openFastify(): Promise<StoredAddresses> {
  const app = fastify({ logger: false });
  const bodies = new Map<string, Buffer>();
  const headers = {
    ...{ 'content-type': 'audio/wav', etag: '"aud_01JD"', 'accept-ranges': 'bytes' },
    ...{ 'cache-control': 'public, max-age=86400, immutable', 'x-content-type-options': 'nosniff' },
    ...{ 'x-frame-options': 'DENY', 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" },
    ...{ 'referrer-policy': 'no-referrer', 'x-request-id': 'req_01JD', 'x-api-version': '1.0.0' },
  };
  const send = (bytes: string) => {
    if (!bodies.has(bytes)) bodies.set(bytes, Buffer.alloc(Number(bytes), 1));
    return bodies.get(bytes)!;
  };
  app.get<{ Params: { bytes: string } }>('/:bytes', async ({ params }, reply) =>
    reply.headers(headers).send(send(params.bytes)),
  );
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return { port, apiKey: '', folder: '' };
}

const [kind, root = ''] = process.argv.slice(2);
process.send!(await (kind === 'fastify' ? openFastify() : openSonant(root)));
process.on('message', () => process.send!(ownCpuMs()));
process.on('disconnect', () => process.exit());

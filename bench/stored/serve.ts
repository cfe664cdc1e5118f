// The process of one contender of `npm run bench stored`: the complete service with an engine whose audio is ready, or
// a bare Fastify that sends the same bytes and headers. It sends its address to its parent, and answers each message
// with the CPU time used so far. The checkout of the service is an argument, so two checkouts can be compared.
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import type { Engine, EngineDefinition, Segment, SpokenPcm, Voice } from '../../src/engines/engine.ts';
import { ownCpuMs } from '../measuring/machine.ts';
import { type OpenCheckout, openCheckout } from '../measuring/open-checkout.ts';

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

/** Serves this many bytes with the headers of stored audio. */
async function openFastify(): Promise<OpenCheckout> {
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
  return { port, apiKey: '' };
}

const [kind, root = ''] = process.argv.slice(2);
process.send!(await (kind === 'fastify' ? openFastify() : openCheckout({ root, engine: ready, logLevel: 'warn' })));
process.on('message', () => process.send!(ownCpuMs()));
process.on('disconnect', () => process.exit());

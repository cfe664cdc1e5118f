// Tests two replicas on one PostgreSQL, with 50 live streams whose text is still being written when one
// replica gets SIGTERM. Every running turn is finished and equals the whole text's audio; then its client continues at
// the other replica.
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { firstKeyScopes, operator } from '../../src/accounts/keys/caller.ts';
import { openKeys } from '../../src/app/command-line.ts';
import { loadConfig } from '../../src/app/config.ts';
import { modelTexts, toPieces } from '../model-texts.ts';
import { startPostgres } from '../platform/store/postgres-server.ts';
import { createRandom } from '../text/random-text.ts';
import { openService, type Service } from './open-service.ts';

const { STREAMS = '50' } = process.env;
const streamCount = Number(STREAMS);
/** The first piece of each text. Half of a text's pieces are sent before SIGTERM. */
const opening = 'Good morning to all of you, dear friends. ';
const rateHz = 8000;
const start = { type: 'start', voice_id: 'clara', sample_rate: rateHz, buffer_ms: 10_000 };
const texts = modelTexts.filter(({ languageCode, text }) => languageCode === 'en' && text.length < 120).slice(0, 4);

const opened = new AsyncDisposableStack();
const replicas: Service[] = [];
beforeAll(async () => {
  const postgres = (await startPostgres())!;
  opened.defer(() => postgres.stop());
  const settings = {
    SONANT_DATABASE_URL: await postgres.createDatabase(),
    ...{ SONANT_SECRET: 'a secret of thirty-two characters', SONANT_MASTER_KEY: 'a master key of thirty-two chars.' },
    SONANT_DRAIN_SECONDS: '300',
  };
  const newFolder = () => mkdtempSync(join(tmpdir(), 'sonant-soak-replica-'));
  const keys = await openKeys(loadConfig({ env: settings, folder: newFolder(), engines: [] }));
  const limits = { requestsPerMinute: 1_000_000, concurrency: 10_000 };
  const { key } = await keys.management.create({ scopes: firstKeyScopes, limits }, operator);
  await keys.close();
  for (let n = 0; n < 2; n++) replicas.push(await openService({ settings, left: { dataDir: newFolder(), key } }));
  for (const replica of replicas) opened.defer(() => replica.close());
}, 120_000);
afterAll(() => opened.disposeAsync());

async function open({ url, key }: Service) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/audio/speech/live`, { headers: { 'X-API-Key': key } });
  const sound: Buffer[] = [];
  const messages: { type: string; error?: string; duration?: number }[] = [];
  const closed = once(socket, 'close').then(([code]) => code as number);
  socket.on('error', () => {});
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) sound.push(data);
    else messages.push(JSON.parse(data.toString()));
  });
  await once(socket, 'open');
  const send = (message: object) => socket.send(JSON.stringify(message));
  send(start);
  /** Writes one turn. Resolves with the turn's audio, or with undefined if the turn was cut. */
  const speak = async (pieces: readonly string[], goOn?: Promise<void>): Promise<Buffer | undefined> => {
    const half = Math.ceil((pieces.length + 1) / 2);
    for (const text of pieces.slice(0, half)) send({ type: 'text', text });
    await goOn;
    for (const text of pieces.slice(half)) send({ type: 'text', text });
    send({ type: 'flush' });
    const isOver = () => messages.some(({ type }) => type === 'flushed' || type === 'error');
    while (!isOver() && socket.readyState === WebSocket.OPEN) await sleep(10);
    const flushed = messages.find(({ type }) => type === 'flushed');
    const all = Buffer.concat(sound);
    return flushed && all.length === Math.round(flushed.duration! * rateHz) * 2 ? all : undefined;
  };
  return { socket, closed, messages, sound, speak };
}

test(`SIGTERM of one of two replicas with ${streamCount} live streams`, async () => {
  const [leaving, staying] = replicas as [Service, Service];
  const random = createRandom(31);
  const whole = new Map<string, Buffer>();
  for (const { text } of texts) {
    const peer = await open(staying);
    whole.set(text, (await peer.speak([opening + text]))!);
    peer.socket.terminate();
  }
  const peers = await Promise.all(
    Array.from({ length: streamCount }, async (_, i) => {
      const { text } = texts[i % texts.length]!;
      return { text, isLeft: i % 2 === 0, peer: await open(i % 2 === 0 ? leaving : staying) };
    }),
  );
  const signalled = Promise.withResolvers<void>();
  const speaking = peers.map(({ peer, text }) => peer.speak([opening, ...toPieces(text, random)], signalled.promise));
  while (peers.some(({ peer }) => peer.sound.length === 0)) await sleep(20);
  const soundingThen = peers.filter(({ peer }) => peer.sound.length > 0).length;
  const endedThen = peers.filter(({ peer }) => peer.messages.some(({ type }) => type === 'flushed')).length;
  const sinceMs = performance.now();
  process.kill(leaving.pid, 'SIGTERM');
  await sleep(200);
  signalled.resolve();
  const sounds = await Promise.all(speaking);
  const finished = sounds.filter((sound) => sound !== undefined).length;
  const right = sounds.filter((sound, i) => sound?.equals(whole.get(peers[i]!.text)!)).length;
  const left = peers.filter(({ isLeft }) => isLeft);
  const codes = await Promise.all(left.map(({ peer }) => peer.closed));
  const again = await Promise.all(
    left.map(async ({ text }) => {
      const peer = await open(staying);
      const sound = await peer.speak([opening + text]);
      peer.socket.terminate();
      return sound?.equals(whole.get(text)!) ?? false;
    }),
  );
  while (leaving.isUp()) await sleep(50);
  console.log(
    `at SIGTERM ${soundingThen} of ${streamCount} turns were heard already and ${endedThen} were over; finished with all of their sound: ` +
      `${finished} of ${streamCount}, ${right} of them as they sound whole; the ${left.length} of the replica closed with ` +
      `${[...new Set(codes)].join(', ')}, and ${again.filter(Boolean).length} spoke their next turn at the other; the ` +
      `replica ended after ${((performance.now() - sinceMs) / 1000).toFixed(1)} s`,
  );
  for (const { peer } of peers) peer.socket.terminate();
  // Turns that waited too long for their text contain a pause, but are also finished.
  expect(finished).toBe(streamCount);
  expect([...new Set(codes)]).toEqual([1012]);
  expect(again.filter(Boolean).length).toBe(left.length);
});

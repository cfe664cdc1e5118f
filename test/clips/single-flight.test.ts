// Tests that only one of several processes synthesizes speech that all need. Another takes over if that process fails,
// disconnects or dies, or if PostgreSQL dies. Uses replicas with one clip store, on a real PostgreSQL.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { createClipRoom } from '../../src/clips/clip-room.ts';
import { createClipRows } from '../../src/clips/clip-rows.ts';
import { createDelivery } from '../../src/clips/delivery.ts';
import { createSingleFlight } from '../../src/clips/single-flight.ts';
import { openLocalClips } from '../../src/clips/stores/local-clips.ts';
import { createFlightLock } from '../../src/platform/store/flight-lock.ts';
import { connectPostgres, openPostgres } from '../../src/platform/store/postgres.ts';
import { openSqlite } from '../../src/platform/store/sqlite.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openTone } from '../engines/tone-engine.ts';
import { startOwnPostgres } from '../platform/store/postgres-server.ts';
import { parseSpeechRequest } from '../speech/parse-request.ts';

const never = new AbortController().signal;

const server = await startOwnPostgres();
afterAll(() => server?.stop());
const url = (await server?.createDatabase()) ?? '';
if (server) await (await openPostgres({ url })).close();

const openSingleFlight = (leaseMs = 2_000) => {
  const rows = connectPostgres({ url });
  onTestFinished(() => rows.close());
  return createSingleFlight(createFlightLock({ rows, listen: rows.listen.bind(rows), leaseMs }));
};

/** Two replicas with one engine, one store and one index. */
async function openReplicas() {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-flights-'));
  const tone = openTone();
  const store = await openSqlite(join(folder, 'rows.db'));
  const clips = await openLocalClips({ dir: join(folder, 'audio') });
  onTestFinished(async () => {
    await clips.close();
    await store.close();
    await tone.close();
    rmSync(folder, { recursive: true });
  });
  const links = { baseUrl: () => 'https://tts.example', keepMs: 3_600_000 };
  const openDelivery = async () => {
    const voices = createVoices([tone]);
    const speech = createSpeech({ voices, schedule: new Schedule({ speakingMax: 100, waitingMax: 4 }) });
    const flights = openSingleFlight();
    const index = createClipRows(store);
    const onFault = (fault: unknown) => {
      throw fault;
    };
    const room = createClipRoom({ clips, index, limits: { bytesMax: 0, accountBytesMax: 0 }, onFault });
    return { speech, delivery: createDelivery({ speech, clips, index, room, links, onFault }, flights) };
  };
  const deliveries = await Promise.all([openDelivery(), openDelivery()]);
  const request = parseSpeechRequest({ voice_id: 'tone-low', text: 'One two three.', sample_rate: 24000 });
  const ada = { callerId: 'ada', accountId: 'ada' };
  const deliver = async (replica: number, signal = never) => {
    const { speech, delivery } = deliveries[replica]!;
    const delivered = await delivery.deliver(await speech.plan(request, ada), ada, signal, { fresh: false });
    delivered.close();
    return delivered;
  };
  return { tone, deliver };
}

describe.skipIf(!server)('replicas on one PostgreSQL', () => {
  test('where it fails at one replica, another tries; where all leave one, another takes over', async () => {
    const { tone, deliver } = await openReplicas();
    tone.trouble = { hangsAfterPieces: 1 };
    const leaving = new AbortController();
    const left = deliver(0, leaving.signal).catch((error) => error.message);
    await expect.poll(() => tone.counts.running).toBe(1);
    const waiting = deliver(1);
    tone.trouble = { failsAfterPieces: 1 };
    leaving.abort(new Error('gone'));
    expect(await left).toBe('gone');
    await expect(waiting).rejects.toMatchObject({ reason: 'engine_error' });
    tone.trouble = {};
    expect((await deliver(0)).cached).toBe(false);
    expect((await deliver(1)).cached).toBe(true);
  });

  test('another replica takes over when the one that synthesizes dies, and only then', async () => {
    const leaseMs = 400;
    const file = join(import.meta.dirname, 'flight-holder.ts');
    const holder = fork(file, [url, 'work', String(leaseMs)]);
    onTestFinished(() => void holder.kill('SIGKILL'));
    await once(holder, 'message');
    const singleFlight = openSingleFlight(leaseMs);
    let isMade = false;
    const make = async () => {
      isMade = true;
      return 'made';
    };
    const taken = singleFlight.run('work', never, { find: async () => undefined, make });
    await new Promise((resolve) => setTimeout(resolve, 3 * leaseMs));
    expect(isMade).toBe(false);
    holder.kill('SIGKILL');
    expect(await taken).toEqual({ value: 'made', isMade: true });
  });

  test('a caller that aborts while another replica synthesizes stops waiting', async () => {
    const one = openSingleFlight();
    const other = openSingleFlight();
    const made = Promise.withResolvers<string>();
    const first = one.run('work', never, { find: async () => undefined, make: () => made.promise });
    const leaving = new AbortController();
    const make = () => Promise.reject(new Error('not for this one'));
    const joined = one
      .run('work', leaving.signal, { find: async () => undefined, make })
      .catch((error) => error.message);
    const left = other.run('work', leaving.signal, { find: async () => undefined, make });
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(await joined).toBe('gone');
    made.resolve('made');
    expect(await first).toEqual({ value: 'made', isMade: true });
  });

  test('without the database each replica synthesizes for itself, those that waited too', async () => {
    const one = openSingleFlight(400);
    const other = openSingleFlight(400);
    const made = Promise.withResolvers<string>();
    const find = async () => undefined;
    const first = one.run('work', never, { find, make: () => made.promise });
    const second = other.run('work', never, { find, make: async () => 'alone' });
    await server!.kill();
    expect(await second).toEqual({ value: 'alone', isMade: true });
    expect(await other.run('work', never, { find, make: async () => 'alone too' })).toMatchObject({
      isMade: true,
    });
    made.resolve('first');
    expect(await first).toEqual({ value: 'first', isMade: true });
    await server!.start();
  });
});

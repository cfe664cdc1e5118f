// Tests 1000 slow readers and 1000 slow writers of one account beside the calls of another account. Prints the waits of
// the other account before the attack, while it connects, and during it, and the memory of the service, all in one run.
// SLOW_SECONDS sets the duration of the parts.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeUsualKey, startHonest } from './attacks.ts';
import { textOf } from './long-text.ts';
import { makeKey, mib, openService, rssOf, watchRss } from './open-service.ts';

const { SLOW_SECONDS = '120', SLOW_CLIENTS = '1000' } = process.env;
const partMs = Number(SLOW_SECONDS) * 1000;
const clients = Number(SLOW_CLIENTS);
/** The connections are divided between addresses, because each address may have only some of them. */
const addresses = 8;
/** Faster than the slowest body that the service accepts. */
const bytesPerSecond = 2048;
const rssBytesMax = 1 << 30;

test('slow readers and slow writers of one account', { timeout: 10 * partMs + 600_000 }, async () => {
  const service = await openService({ settings: { SONANT_LOG_LEVEL: 'error' } });
  const scopes = ['--scopes', 'speech:synthesize,speech:stream,jobs:write'];
  const key = makeKey(service.dataDir, scopes);
  const honest = await startHonest({ ...service, key: makeUsualKey(service) });
  const measuredSince = (since: number) => {
    const sorted = honest.times.slice(since).sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
    const health = Math.max(0, ...honest.health.slice(since));
    const refused = honest.refusals.slice(since).reduce((sum, count) => sum + count, 0);
    return { count: sorted.length, median: at(0.5), p99: at(0.99), health, refused };
  };
  const measure = async () => {
    const since = honest.times.length;
    await sleep(partMs);
    return measuredSince(since);
  };

  const body = JSON.stringify({ voice_id: 'arthur', text: textOf(5000), return_format: 'buffer' });
  const headOf = (path: string, bytes: number) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
  const audio = await service.ask('/api/audio/speech', { headers: { 'X-API-Key': key }, body: JSON.parse(body) });
  const audioBytes = (await audio.arrayBuffer()).byteLength;
  expect(audio.status).toBe(200);
  const undisturbed = await measure();
  const before = rssOf(service);

  const open = new Set<Socket>();
  const closed = { readers: 0, writers: 0 };
  let isOver = false;
  const connectSlow = (n: number, kind: keyof typeof closed) => {
    if (isOver) return;
    const localAddress = `127.0.0.${2 + (n % addresses)}`;
    const socket = connect({ port: service.httpPort, host: '127.0.0.1', localAddress }).on('error', () => {});
    open.add(socket);
    const timer = setInterval(() => {
      if (kind === 'writers') socket.write(Buffer.alloc(bytesPerSecond, ' '));
      else socket.read(bytesPerSecond);
    }, 1000);
    socket.once('close', () => {
      clearInterval(timer);
      open.delete(socket);
      closed[kind]++;
      setTimeout(() => connectSlow(n, kind), 1000);
    });
    if (kind === 'readers') socket.write(headOf('/api/audio/speech', Buffer.byteLength(body)) + body);
    else socket.resume().write(headOf('/api/audio/jobs', 1_000_000));
  };
  const mostRss = watchRss(service);
  const since = honest.times.length;
  for (let n = 0; n < clients; n++) {
    connectSlow(n, 'readers');
    connectSlow(n, 'writers');
    if (n % 20 === 19) await sleep(100);
  }
  await sleep(5000);
  const opening = measuredSince(since);
  const disturbed = await measure();
  const [opened, most] = [open.size, mostRss()];
  isOver = true;
  for (const socket of open) socket.destroy();
  await honest.stop();

  const show = ({ count, median, p99, health, refused }: typeof disturbed) =>
    `${count} pairs, median ${median.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, ${refused} refusals, /healthz at most ${health.toFixed(0)} ms`;
  console.log(
    `${clients} slow readers of ${mib(audioBytes)} each and ${clients} slow writers for ${partMs / 1000} s; ${opened} open at the end, ` +
      `${closed.readers} readers and ${closed.writers} writers cut\nundisturbed: ${show(undisturbed)}\nwhile they connect: ${show(opening)}\nduring: ${show(disturbed)}\n` +
      `p99 ${(disturbed.p99 / undisturbed.p99).toFixed(2)} times undisturbed; RSS ${mib(before)} before, at most ${mib(most)}`,
  );
  expect(service.isUp()).toBe(true);
  expect(disturbed.count, 'the other account is served').toBeGreaterThan(0);
  expect(most).toBeLessThan(rssBytesMax);
  expect(service.said()).not.toContain('internal_error');
  await service.close();
});

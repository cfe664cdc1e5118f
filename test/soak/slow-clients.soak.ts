// Tests 1000 slow readers and 1000 slow writers of one account beside the calls of another account. Prints the waits of
// the other account before the attack, while it connects, and during it, and the memory of the service, all in one run.
// SLOW_SECONDS sets the duration of the parts.
import { spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeUsualKey } from './besieged-service.ts';
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
  const honest = spawn(
    process.execPath,
    [
      join(import.meta.dirname, 'steady-caller.ts'),
      service.url,
      `127.0.0.1:${service.grpcPort}`,
      makeUsualKey(service),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let waits: number[] = [];
  let [health, refused] = [0, 0];
  honest.stdout.setEncoding('utf8').on('data', (lines: string) => {
    for (const line of lines.trim().split('\n')) {
      const [took, refusals, healthMs] = line.split(' ').map(Number);
      waits.push(took!);
      refused += refusals!;
      health = Math.max(health, healthMs!);
    }
  });
  const forget = () => ([waits, health, refused] = [[], 0, 0]);
  const measured = () => {
    const sorted = waits.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
    return { count: sorted.length, median: at(0.5), p99: at(0.99), health, refused };
  };
  const measure = async () => {
    forget();
    await sleep(partMs);
    return measured();
  };

  const body = JSON.stringify({ voice_id: 'arthur', text: textOf(5000), return_format: 'buffer' });
  const headOf = (path: string, bytes: number) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
  const audio = await service.ask('/api/audio/speech', { headers: { 'X-API-Key': key }, body: JSON.parse(body) });
  const audioBytes = (await audio.arrayBuffer()).byteLength;
  expect(audio.status).toBe(200);
  await sleep(10_000);
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
  forget();
  for (let n = 0; n < clients; n++) {
    connectSlow(n, 'readers');
    connectSlow(n, 'writers');
    if (n % 20 === 19) await sleep(100);
  }
  await sleep(5000);
  const opening = measured();
  const disturbed = await measure();
  const [opened, most] = [open.size, mostRss()];
  isOver = true;
  for (const socket of open) socket.destroy();
  honest.kill();

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

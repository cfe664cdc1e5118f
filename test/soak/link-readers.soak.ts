// Tests eight hundred slow readers of one large link: each needs little memory, and others are served at once.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { textOf } from './long-text.ts';
import { medianAndWorst, mib, openService, rssOf, type Service, watchRss } from './open-service.ts';

const { READERS = '800', SECONDS = '20' } = process.env;
const readers = Number(READERS);
const bytesPerSecond = 64 * 1024;

let service: Service;
beforeEach(async () => {
  service = await openService();
});
afterEach(() => service.close());

async function readSlowly(url: string, seconds: number) {
  const child = spawn(process.execPath, [
    join(import.meta.dirname, 'link-reader.ts'),
    url,
    READERS,
    String(bytesPerSecond),
  ]);
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said = text;
  });
  const waits: number[] = [];
  for (const since = performance.now(); performance.now() - since < seconds * 1000; ) {
    const begun = performance.now();
    const answer = await fetch(`${service.url}/healthz`);
    await answer.arrayBuffer();
    expect(answer.status).toBe(200);
    waits.push(performance.now() - begun);
    await sleep(20);
  }
  const [open] = said.split(' ');
  child.kill('SIGKILL');
  return { waits, open: Number(open) };
}

test('800 readers of one large link', async () => {
  const answer = await service.speak({ text: textOf(1_300) });
  expect(answer.status).toBe(200);
  const { audio_url } = (await answer.json()) as { audio_url: string };
  const url = service.url + new URL(audio_url).pathname;
  const size = (await (await fetch(url)).arrayBuffer()).byteLength;
  const before = rssOf(service);
  const peak = watchRss(service);
  const { waits, open } = await readSlowly(url, Number(SECONDS));
  const most = peak();
  await sleep(5_000);
  const { median, worst } = medianAndWorst(waits);
  console.log(
    `${open} of ${readers} readers of ${mib(size)}: ${mib(most - before)} more than the ${mib(before)} before, ` +
      `${mib(rssOf(service))} when they had gone; /healthz ${median.toFixed(1)} ms, at worst ${worst.toFixed(0)} ms`,
  );
  expect((most - before) / readers, 'what a reader costs').toBeLessThan(256 * 1024);
  expect(service.said()).not.toContain('"level":"error"');
});

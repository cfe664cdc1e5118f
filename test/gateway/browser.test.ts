// A real browser: a page of an allowed origin plays a stream by its ticket through `EventSource`, and has every byte.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { isInstalled } from '../programs.ts';
import { bytesOf, openTestGateway } from './open-gateway.ts';

/** Collects the sound of the stream at the address after `#`, and posts what it has to where it came from. */
const page = `<!doctype html><title>listening</title><script>
  let sound = '';
  const heard = [];
  const source = new EventSource(location.hash.slice(1));
  const tell = (end) => {
    source.close();
    fetch('/', { method: 'POST', body: JSON.stringify({ end, sound, heard }) });
  };
  source.addEventListener('speech.audio.delta', ({ data, lastEventId }) => {
    sound += atob(JSON.parse(data).audio);
    heard.push(lastEventId);
  });
  source.addEventListener('speech.audio.done', () => tell('done'));
  source.addEventListener('error', ({ data }) => tell('error: ' + data));
</script>`;

test.skipIf(!isInstalled('chromium'))('EventSource plays a stream through a ticket', async () => {
  let tell = (_told: string) => {};
  const told = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const site = createServer(async (request, response) => {
    if (request.method === 'POST') tell(await readAll(request));
    response.writeHead(200, { 'Content-Type': 'text/html' }).end(page);
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const door = await openTestGateway({ settings: { allowedOrigins: [origin] } });

  const body = { voice_id: 'tone-low', text_chunks: ['Hello there.', 'This is for a browser.', 'Goodbye.'] };
  const bytes = await bytesOf(await door.speak({ ...body, method: 'streaming' }));
  const ticket = await door.ask('/api/audio/speech/sse/tickets', { body });
  const { sse_url } = (await ticket.json()) as { sse_url: string };

  const profile = mkdtempSync(join(tmpdir(), 'sonant-browser-'));
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    `--user-data-dir=${profile}`,
  ];
  const browser = spawn('chromium', [...flags, `${origin}/#${door.here(sse_url)}`], { stdio: 'ignore' });
  const gone = once(browser, 'exit');
  onTestFinished(async () => {
    browser.kill('SIGKILL');
    await gone;
    site.closeAllConnections();
    site.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  const { end, sound, heard } = JSON.parse(await told);
  expect(end).toBe('done');
  expect(heard.length).toBeGreaterThan(2);
  expect(Buffer.from(sound, 'latin1').equals(bytes)).toBe(true);
});

// Tests EventSource in Chromium: a page of an allowed origin receives every byte of a stream through a ticket.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../free-port.ts';
import { isInstalled } from '../../programs.ts';
import { bytesOf, openTestGateway } from './open-gateway.ts';

/** Collects the audio of the stream whose URL is in the hash, and posts the audio to the page's own server. */
const page = `<!doctype html><title>EventSource</title><script>
  let audio = '';
  const eventIds = [];
  const source = new EventSource(location.hash.slice(1));
  const report = (end) => {
    source.close();
    fetch('/', { method: 'POST', body: JSON.stringify({ end, audio, eventIds }) });
  };
  source.addEventListener('speech.audio.delta', ({ data, lastEventId }) => {
    audio += atob(JSON.parse(data).audio);
    eventIds.push(lastEventId);
  });
  source.addEventListener('speech.audio.done', () => report('done'));
  source.addEventListener('error', ({ data }) => report('error: ' + data));
</script>`;

test.skipIf(!isInstalled('chromium'))('EventSource receives a stream through a ticket', async () => {
  const { promise: reported, resolve: report } = Promise.withResolvers<string>();
  const site = createServer(async (request, response) => {
    if (request.method === 'POST') report(await readAll(request));
    response.writeHead(200, { 'Content-Type': 'text/html' }).end(page);
  });
  const sitePort = await listen(site);
  const origin = `http://127.0.0.1:${sitePort}`;
  const gateway = await openTestGateway({ settings: { allowedOrigins: [origin] } });

  const body = { voice_id: 'tone-low', text_chunks: ['Hello there.', 'This is for a browser.', 'Goodbye.'] };
  const bytes = await bytesOf(await gateway.speak({ ...body, method: 'streaming' }));
  const ticket = await gateway.send('/api/audio/speech/sse/tickets', { body });
  const { sse_url } = (await ticket.json()) as { sse_url: string };

  const profile = mkdtempSync(join(tmpdir(), 'sonant-browser-'));
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    `--user-data-dir=${profile}`,
  ];
  const browser = spawn('chromium', [...flags, `${origin}/#${gateway.here(sse_url)}`], { stdio: 'ignore' });
  const gone = once(browser, 'exit');
  onTestFinished(async () => {
    browser.kill('SIGKILL');
    await gone;
    site.closeAllConnections();
    site.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  const { end, audio, eventIds } = JSON.parse(await reported);
  expect(end).toBe('done');
  expect(eventIds.length).toBeGreaterThan(2);
  expect(Buffer.from(audio, 'latin1').equals(bytes)).toBe(true);
});

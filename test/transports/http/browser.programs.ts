// Tests EventSource in Chromium: a page of an allowed origin receives every byte of a stream through a ticket.
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../free-port.ts';
import { isInstalled } from '../../programs.ts';
import { openPage } from '../console/chromium.ts';
import { bytesOf, openTestGateway } from './open-gateway.ts';

/** Collects the audio of the stream. */
const collect = (url: string) => `new Promise((resolve) => {
  let audio = '';
  const eventIds = [];
  const source = new EventSource(${JSON.stringify(url)});
  const report = (end) => {
    source.close();
    resolve({ end, audio, eventIds });
  };
  source.addEventListener('speech.audio.delta', ({ data, lastEventId }) => {
    audio += atob(JSON.parse(data).audio);
    eventIds.push(lastEventId);
  });
  source.addEventListener('speech.audio.done', () => report('done'));
  source.addEventListener('error', ({ data }) => report('error: ' + data));
})`;

test.skipIf(!isInstalled('chromium'))('EventSource receives a stream through a ticket', async () => {
  const site = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end());
  const origin = `http://127.0.0.1:${await listen(site)}`;
  onTestFinished(() => void site.close().closeAllConnections());
  const gateway = await openTestGateway({ settings: { allowedOrigins: [origin] } });

  const body = { voice_id: 'tone-low', text_chunks: ['Hello there.', 'This is for a browser.', 'Goodbye.'] };
  const bytes = await bytesOf(await gateway.speak({ ...body, method: 'streaming' }));
  const ticket = await gateway.send('/api/audio/speech/sse/tickets', { body });
  const { sse_url } = (await ticket.json()) as { sse_url: string };

  const page = await openPage(onTestFinished);
  await page.send('Page.enable');
  await page.goTo(origin);
  const received = await page.run<{ end: string; audio: string; eventIds: string[] }>(collect(gateway.here(sse_url)));
  expect(received.end).toBe('done');
  expect(received.eventIds.length).toBeGreaterThan(2);
  expect(Buffer.from(received.audio, 'latin1').equals(bytes)).toBe(true);
});

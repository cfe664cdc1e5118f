// Serves the pages beside it, and forwards their audio and tickets, so that the key stays on the server. A sketch: it lets
// anyone speak. Run it in this folder.
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const site = new URL('http://127.0.0.1:3000');
const sonant = 'http://127.0.0.1:8080/api/audio/speech';
const headers = { 'X-API-Key': process.env.SONANT_API_KEY ?? '', 'Content-Type': 'application/json' };
const pages = ['/media-source.html', '/web-audio.html', '/event-source.html'];

async function passOn(url: string, body: object, response: ServerResponse) {
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal: leaving.signal });
  response.writeHead(answer.status, { 'Content-Type': answer.headers.get('Content-Type') ?? 'application/json' });
  // Breaks when Sonant's response breaks, so that the page sees it too.
  await pipeline(Readable.fromWeb(answer.body!), response);
}

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', site);
  const text = searchParams.get('text') ?? '';
  try {
    if (pathname === '/speech') {
      const how = { output_format: searchParams.get('format'), sample_rate: 24000 };
      await passOn(sonant, { voice_id: 'clara', method: 'streaming', text_chunks: [text], ...how }, response);
    } else if (pathname === '/ticket') {
      await passOn(
        `${sonant}/sse/tickets`,
        { voice_id: 'clara', text, output_format: 'mp3', timestamps: 'word' },
        response,
      );
    } else if (pages.includes(pathname)) {
      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(await readFile(`.${pathname}`));
    } else response.writeHead(404).end();
  } catch {
    response.destroy();
  }
}).listen(Number(site.port), site.hostname, () => console.log(`It serves on ${site}`));

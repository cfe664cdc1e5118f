// Serves the page live.html, and gives it tickets for Sonant's live WebSocket, so that the API key stays on this
// server. A real site gives tickets only to users who have signed in.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { build } from 'esbuild';

const { SONANT_URL: url = 'http://127.0.0.1:8080', SONANT_API_KEY: key = '', PORT = '8000' } = process.env;
const page = await readFile(join(import.meta.dirname, 'live.html'));
const entryPoints = [join(import.meta.dirname, 'live.ts')];
const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', write: false });

/** Requests a ticket, which opens one connection within a minute. */
async function requestTicket() {
  const answer = await fetch(`${url}/api/audio/speech/live/tickets`, { method: 'POST', headers: { 'X-API-Key': key } });
  return { status: answer.ok ? 200 : 502, body: await answer.text() };
}

const server = createServer(async (request, response) => {
  const isOwnPage = request.headers['sec-fetch-site'] === 'same-origin';
  if (request.url === '/') response.writeHead(200, { 'Content-Type': 'text/html' }).end(page);
  else if (request.url === '/live.js')
    response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(outputFiles[0]!.contents);
  else if (request.url === '/ticket' && request.method === 'POST' && isOwnPage) {
    const { status, body } = await requestTicket().catch((error) => ({ status: 502, body: String(error) }));
    response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }).end(body);
  } else response.writeHead(404).end();
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`serves http://127.0.0.1:${PORT}`));

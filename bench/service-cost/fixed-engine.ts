// Serves OpenAI's speech API on loopback at a fixed cost, in its own process: it waits `thinkMs` and then sends a tone
// of `secondsPerChar` for each character, in pieces of a tenth of a second.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

export const thinkMs = 30;
export const secondsPerChar = 0.07;
export const engineRateHz = 24_000;
const pieceSeconds = 0.1;

const piece = Buffer.alloc(engineRateHz * pieceSeconds * 2);
for (let i = 0; i < piece.length / 2; i++) {
  piece.writeInt16LE(Math.round(6_000 * Math.sin((2 * Math.PI * 220 * i) / engineRateHz)), 2 * i);
}

async function serve(): Promise<void> {
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return void response.end('{"voices":["fixed"]}');
    const { input } = (await json(request)) as { input: string };
    await sleep(thinkMs);
    response.writeHead(200, { 'Content-Type': 'audio/pcm' });
    for (let left = Math.ceil((input.length * secondsPerChar) / pieceSeconds); left > 0; left--) response.write(piece);
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  process.on('disconnect', () => process.exit());
  process.send!({ port: (server.address() as AddressInfo).port });
}

if (process.send && process.argv[1] === import.meta.filename) await serve();

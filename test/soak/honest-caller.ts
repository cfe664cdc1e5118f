// Runs as a process that requests /healthz every 50 ms and short streams continuously, each on a new connection, and
// reports the time until each reply and first audio; a refusal is reported as a failure: node honest-caller.ts
// HEALTH-PORT HTTP-PORT KEY ADDRESS
import { writeSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const [healthPort, httpPort, key, localAddress] = process.argv.slice(2) as [string, string, string, string];
const timeoutMs = 60_000;
const minBytes = 1000;

/** Returns the time until `bytesMin` bytes of the reply have arrived. */
function ask(port: string, path: string, bytesMin: number, body?: object): Promise<number> {
  const since = performance.now();
  const headers = { 'X-API-Key': key, ...(body && { 'Content-Type': 'application/json' }) };
  const agent = new Agent({ keepAlive: false });
  const where = { host: '127.0.0.1', port, path, localAddress, agent, timeout: timeoutMs };
  return new Promise((resolve, reject) => {
    const call = request({ ...where, method: body ? 'POST' : 'GET', headers }, (reply: IncomingMessage) => {
      let [bytes, tookMs] = [0, 0];
      reply.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes >= bytesMin) tookMs ||= performance.now() - since;
      });
      reply.on('end', () => (reply.statusCode === 200 ? resolve(tookMs) : reject(new Error(`${reply.statusCode}`))));
      reply.on('error', reject);
    });
    call.on('timeout', () => call.destroy(new Error(`nothing came within ${timeoutMs} ms`)));
    call.on('error', reject);
    call.end(body && JSON.stringify(body));
  });
}

async function repeat(name: string, restMs: number, work: (n: number) => Promise<number>): Promise<never> {
  for (let n = 0; ; n++) {
    const took = await work(n).catch((error: Error) => error.message);
    writeSync(1, `${JSON.stringify({ name, took })}\n`);
    await sleep(restMs);
  }
}

/** A sentence that is never the same twice, so that nothing is cached. */
const sentence = (n: number) => ({
  voice_id: 'arthur',
  method: 'streaming',
  return_format: 'buffer',
  text_chunks: [`Good morning, this is number ${process.pid * 10_000 + n}.`],
});

await Promise.all([
  repeat('health', 50, () => ask(healthPort, '/healthz', 1)),
  repeat('first sound', 100, (n) => ask(httpPort, '/api/audio/speech', minBytes, sentence(n))),
]);

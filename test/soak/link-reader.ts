// Runs as a process that opens many connections, requests the same file on each and reads it slowly, until it is
// stopped. Reports how many are open, and how many received the complete file: node link-reader.ts URL COUNT
// BYTES-A-SECOND
import { writeSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [address, count, bytesPerSecond] = process.argv.slice(2) as [string, string, string];
const url = new URL(address);
let [open, whole] = [0, 0];

function read(): void {
  const socket = connect(Number(url.port), url.hostname);
  let [received, expected] = [0, Infinity];
  const end = () => {
    open--;
    if (received >= expected) whole++;
  };
  socket.on('connect', () => {
    open++;
    socket.write(`GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`);
  });
  socket.on('error', () => {});
  socket.on('close', end);
  socket.on('data', (bytes) => {
    if (expected === Infinity) {
      const head = bytes.toString('latin1');
      expected = Number(/content-length: (\d+)/i.exec(head)?.[1]) + head.indexOf('\r\n\r\n') + 4;
    }
    received += bytes.length;
    socket.pause();
    setTimeout(() => socket.resume(), (bytes.length / Number(bytesPerSecond)) * 1000);
  });
}

for (let n = 0; n < Number(count); n++) read();
for (;;) {
  await sleep(500);
  writeSync(1, `${open} ${whole}\n`);
}

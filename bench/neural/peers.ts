// Starts the server of another project, by a command.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../measuring/free-port.ts';
import { readPcm, type Speak } from './ways.ts';

/** The calls of Piper's server, which sends a WAV file, and of OpenAI's API. */
const calls = {
  vits: { path: '/synthesize', headerBytes: 44, rateHz: 22_050, body: (text: string) => ({ text }) },
  kokoro: {
    ...{ path: '/v1/audio/speech', headerBytes: 0, rateHz: 24_000 },
    body: (input: string) => ({ model: 'kokoro', voice: 'af_heart', input, response_format: 'pcm', stream: true }),
  },
};

export async function openPeer(command: string, family: keyof typeof calls, opened: AsyncDisposableStack) {
  const { path, headerBytes, rateHz, body } = calls[family];
  const port = await freePort();
  const child = spawn('sh', ['-c', `exec ${command.replaceAll('{port}', `${port}`)}`], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  opened.defer(async () => {
    child.kill();
    await exited;
  });
  const speak: Speak = async (text, hear) => {
    const url = `http://127.0.0.1:${port}${path}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body(text)) });
    let skipped = 0;
    await readPcm(answer, (pcm) => {
      const from = Math.min(pcm.length, headerBytes - skipped);
      skipped += from;
      hear(pcm.subarray(from));
    });
  };
  while (
    !(await speak(
      'One.',
      () => {},
      () => {},
    ).then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${command} has ended`);
    await sleep(200);
  }
  return { rateHz, ways: { REST: speak } as Readonly<Record<string, Speak>>, pids: () => [child.pid!] };
}

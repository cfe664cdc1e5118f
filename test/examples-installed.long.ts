// Tests examples with their own lock file, which are installed, type-checked and run: ElevenLabs's own client, and a
// LiveKit agent that calls a running service with TLS through the plugins for Cartesia and ElevenLabs. The service is
// restarted when the example requests it.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { serve } from './app/cli/serving-program.ts';
import { main } from './app/cli/sonant-program.ts';
import { freePort } from './free-port.ts';
import { newFolder } from './new-folder.ts';
import { testCertificate } from './transports/rpc/test-certificate.ts';

const root = join(import.meta.dirname, '..');
const run = promisify(execFile);

/** Hundreds of megabytes are installed, possibly on a busy machine. */
const timeout = 600_000;

/** Copies an example, installs the packages of its lock file, and checks its types. */
async function install(example: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-clients-'));
  onTestFinished(() => rmSync(folder, { recursive: true }), timeout);
  for (const part of ['tsconfig.json', `examples/${example}`])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const cwd = join(folder, 'examples', example);
  await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd });
  await run(join(root, 'node_modules/.bin/tsc'), ['-p', cwd]);
  return cwd;
}

/** A service with TLS, and a function that restarts it on the same port. */
async function serveTls() {
  const folder = newFolder();
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(cert, `${testCertificate.cert}\n`);
  writeFileSync(key, `${testCertificate.key}\n`);
  const address = `127.0.0.1:${await freePort()}`;
  const settings = { SONANT_HTTP_ADDR: address, SONANT_TLS_CERT: cert, SONANT_TLS_KEY: key };
  const first = await serve([], settings);
  let { child } = first;
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    url: `https://${address}`,
    key: first.key,
    cert,
    async restart() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      const env = { PATH: process.env.PATH, SONANT_FETCH_VOICE: 'off', ...settings, SONANT_GRPC_ADDR: '127.0.0.1:0' };
      child = spawn(process.execPath, [main, 'serve'], { cwd: first.folder, env });
      child.stderr!.resume();
      for await (const line of createInterface(child.stdout!)) if (line.includes('serves HTTP')) break;
      child.stdout!.resume();
    },
  };
}

test('an agent of LiveKit speaks through both plugins, unchanged but for the base URL', { timeout }, async () => {
  const cwd = await install('livekit-agent');
  const { url, key, cert, restart } = await serveTls();
  const env = { ...process.env, SONANT_URL: url, SONANT_API_KEY: key, NODE_EXTRA_CA_CERTS: cert };
  const child = spawn(process.execPath, ['check.ts'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (!line.startsWith('Restart Sonant')) continue;
    await restart();
    child.stdin.write('\n');
  }
  const [code] = await ended;
  expect({ code, lines }).toMatchObject({ code: 0 });
  expect(lines.filter((line) => line.startsWith('ok ')).length).toBeGreaterThan(30);
  expect(lines.at(-1)).toMatch(/^passed (\d+) of \1$/);
});

test('ElevenLabs’s own client speaks, unchanged but for the base URL', { timeout }, async () => {
  const cwd = await install('elevenlabs-js');
  const { url, key } = await serve();
  const env = { ...process.env, SONANT_URL: url, SONANT_API_KEY: key };
  const { stdout } = await run(process.execPath, ['client.ts'], { cwd, env }).catch((error) => error);
  expect(stdout).toMatch(/\npassed 16 of 16\n$/);
});

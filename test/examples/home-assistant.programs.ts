// Tests the example for Home Assistant: its client runs with the command of examples/README.md against a service with
// Wyoming, and the settings that it names exist.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { allSettings } from '../../src/app/config.ts';
import { registry } from '../../src/engines/registry.ts';
import { newFolder } from '../new-folder.ts';
import { openWyoming } from '../transports/vendors/wyoming/wyoming-client.ts';

async function runProgram(args: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, args, { cwd, env: { ...process.env, NODE_OPTIONS: '', ...env } });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err, code] = await Promise.all([readAll(child.stdout), readAll(child.stderr), ended]);
  return { out, err, code };
}

const root = join(import.meta.dirname, '../..');
const folder = 'examples/home-assistant';
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const text = 'The bed light is off. The kitchen lights are on.';

function temporaryFolder(): string {
  const made = newFolder();
  return made;
}

test('the client describes, speaks a text whole, and the same in pieces', async () => {
  const { server, speak } = await openWyoming();
  const cwd = temporaryFolder();
  const args = [join(root, folder, 'say.ts'), `127.0.0.1:${server.port}`];
  expect(read('examples/README.md')).toContain(`npx node ${folder}/say.ts 127.0.0.1:10200`);
  const { code, out, err } = await runProgram(args, cwd);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out.split('\n')[0]).toBe('Sonant streams, with 3 voices:');
  expect(out).toMatch(/^ {2}tone-low \(en, de\)$/m);
  const request = { text, return_format: 'buffer', output_format: 'pcm', sample_rate: 24_000 };
  const expected = Buffer.from(await (await speak(request)).arrayBuffer());
  for (const name of ['whole.wav', 'in-pieces.wav']) {
    const file = readFileSync(join(cwd, name));
    expect([name, file.subarray(44).equals(expected)]).toEqual([name, true]);
    expect(out).toContain(`${name}: ${(expected.length / 48_000).toFixed(3)} s\n`);
    expect([file.toString('latin1', 0, 4), file.readUInt32LE(24), file.readUInt32LE(40)]).toEqual([
      'RIFF',
      24_000,
      expected.length,
    ]);
  }
});

test('the client tells why there is no speech', async () => {
  const { server } = await openWyoming({ makeKey: ({ makeKey }) => makeKey(['voices:read']) });
  const { code, err } = await runProgram([join(root, folder, 'say.ts'), `127.0.0.1:${server.port}`], temporaryFolder());
  expect(code).toBe(1);
  expect(err).toContain('insufficient_scope: ');
});

test('the composition names settings that there are, and lets in its own network only', () => {
  const { services, networks } = parse(read(`${folder}/compose.yaml`));
  const { environment, ports } = services.sonant;
  const known = new Set<string>(allSettings(registry).map(({ name }) => name));
  expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([]);
  expect(environment.SONANT_WYOMING_ALLOW).toBe(networks.home.ipam.config[0].subnet);
  expect(ports, 'nobody else reaches the port').toBeUndefined();
});

test('a key is created before there is one to speak with', () => {
  const env = {
    PATH: process.env.PATH,
    SONANT_DATA_DIR: temporaryFolder(),
    SONANT_WYOMING_ADDR: '',
    SONANT_WYOMING_KEY: '',
  };
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['src/main.ts', ...args], { cwd: root, env, encoding: 'utf8' });
  expect(run('db', 'migrate')).toMatchObject({ status: 0 });
  const scopes = 'speech:stream,voices:read';
  const { status, stdout, stderr } = run('key', 'create', '--name', 'Home Assistant', '--scopes', scopes);
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(stdout).toMatch(/snt_/);
});

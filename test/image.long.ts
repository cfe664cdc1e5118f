// Tests the image, built from deploy/Dockerfile on a base of Debian's packages and run in podman as docs/deploy.md
// says: it speaks without privileges on a read-only file system, with a natural voice that it contains. A second image
// also contains a model from a mirror.
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chown, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tinyVoiceFiles } from './engines/tiny-supertonic.ts';
import { freePort } from './free-port.ts';
import { openMirror } from './library/models/model-mirror.ts';
import { newFolder } from './new-folder.ts';
import { bzip2, tarOf } from './platform/archives/archive-writer.ts';
import { isInstalled } from './programs.ts';

const root = join(import.meta.dirname, '..');
const plain = `sonant-test-${process.pid}:plain`;
const voiced = `sonant-test-${process.pid}:voiced`;
const run = promisify(execFile);
const build = (tag: string, ...options: string[]) => run(join(root, 'deploy/build-image'), [tag, ...options]);

interface Container extends AsyncDisposable {
  url: string;
  key: string;
  /** Milliseconds from the start of podman until the service is ready. */
  readyMs: number;
  exec(...command: string[]): Promise<{ stdout: string; stderr: string }>;
  /** What the service has logged. */
  logged(): string;
}

// If both versions of control groups are mounted, as in a sandbox, podman needs its own view of them.
const podman = ['--runtime', 'crun', '--cgroup-manager', 'cgroupfs'];
const inNamespace = ['-m', 'sh', '-c', 'umount /sys/fs/cgroup/unified 2>/dev/null; exec podman "$@"', 'sh', ...podman];
const sandboxed = [
  '--cgroups',
  'disabled',
  '--network',
  'host',
  '--ulimit',
  'nofile=4096:4096',
  '--ulimit',
  'nproc=4096:4096',
];
const hardened = ['--read-only', '--read-only-tmpfs=false', '--tmpfs', '/tmp', '--cap-drop', 'all'];

async function start(image: string): Promise<Container> {
  const data = newFolder();
  await chown(data, 1000, 1000);
  const [http, grpc, admin] = [await freePort(), await freePort(), await freePort()];
  const ports = Object.entries({ HTTP: http, GRPC: grpc, ADMIN: admin });
  const addresses = ports.flatMap(([name, port]) => ['--env', `SONANT_${name}_ADDR=127.0.0.1:${port}`]);
  const name = `sonant-test-${http}`;
  const started = performance.now();
  const options = ['--rm', '--pull', 'never', '--no-healthcheck', '--name', name, '--volume', `${data}:/data`];
  const child = spawn('unshare', [...inNamespace, 'run', ...options, ...sandboxed, ...hardened, ...addresses, image]);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const within = (...args: string[]) => run('nsenter', ['-t', String(child.pid), '-m', 'podman', ...podman, ...args]);
  while (!(await fetch(`http://127.0.0.1:${admin}/readyz`).catch(() => undefined))?.ok) {
    if (child.exitCode !== null || performance.now() - started > 60_000) throw new Error(`not ready: ${output}`);
    await sleep(50);
  }
  return {
    url: `http://127.0.0.1:${http}`,
    readyMs: performance.now() - started,
    key: (await readFile(join(data, 'first-key'), 'utf8')).trim(),
    exec: (...command) => within('exec', name, ...command),
    logged: () => output,
    async [Symbol.asyncDispose]() {
      await within('stop', '--time', '20', name);
      await exited;
    },
  };
}

/** Speaks over HTTP, and returns the samples and the time that it took. */
async function speak({ url, key }: Container, voiceId: string, text: string) {
  const started = performance.now();
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const body = JSON.stringify({
    voice_id: voiceId,
    text,
    return_format: 'buffer',
    output_format: 'pcm',
    sample_rate: 24_000,
  });
  const answer = await fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(await answer.text());
  const bytes = await answer.arrayBuffer();
  return { samples: new Int16Array(bytes), ms: performance.now() - started };
}

/** Seconds of audio, its peak, and the longest silence, in seconds. */
function measure(samples: Int16Array) {
  let [peak, silent, longest] = [0, 0, 0];
  for (const sample of samples) {
    peak = Math.max(peak, Math.abs(sample));
    silent = Math.abs(sample) < 100 ? silent + 1 : 0;
    longest = Math.max(longest, silent);
  }
  return { seconds: samples.length / 24_000, peak: peak / 32_768, silentSeconds: longest / 24_000 };
}

const inspect = async (image: string) =>
  JSON.parse((await run('buildah', ['inspect', '--type', 'image', image])).stdout);
const megabytes = async (image: string) =>
  Number(JSON.parse((await run('podman', [...podman, 'image', 'inspect', image])).stdout)[0].Size) / 1e6;

const isPossible = isInstalled('buildah') && isInstalled('podman') && isInstalled('crun');

beforeAll(async () => {
  if (isPossible) await build(plain);
}, 900_000);
afterAll(async () => {
  if (isPossible) await run('buildah', ['rmi', '--force', plain, voiced]).catch(() => {});
});

test.skipIf(!isPossible)(
  'the image speaks, without privileges, on a read-only file system',
  { timeout: 120_000 },
  async () => {
    await using container = await start(plain);
    const { samples, ms } = await speak(container, 'clara', 'Good morning from the image.');
    const heard = measure(samples);
    console.log(`plain: ${await megabytes(plain)} MB, ready in ${container.readyMs} ms, spoken in ${ms} ms`, heard);
    expect(heard.seconds).toBeGreaterThan(1);
    expect(heard.seconds).toBeLessThan(3);
    expect(heard.peak).toBeGreaterThan(0.1);
    expect(heard.silentSeconds).toBeLessThan(0.4);

    const { stdout: voices } = await container.exec('node', 'src/sonant.js', 'voice', 'list');
    expect(voices.split('\n').find((line) => line.includes('hibari'))).toBeDefined();
    const natural = measure((await speak(container, 'hibari', 'Good morning from the image.')).samples);
    expect(natural.seconds).toBeGreaterThan(1);
    expect(natural.peak).toBeGreaterThan(0.1);
    expect(container.logged()).not.toMatch(/natural voice|model install/);

    const status = await container.exec('cat', '/proc/1/status');
    expect(status.stdout).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
    expect(status.stdout).toMatch(/^CapEff:\t0+$/m);
    await expect(container.exec('touch', '/app/new')).rejects.toThrow('Read-only file system');
    await container.exec('install', '-d', '/data/libraries');
    const bill = JSON.parse((await container.exec('cat', '/app/sbom.json')).stdout);
    expect(bill.bomFormat).toBe('CycloneDX');
    expect((await container.exec('npm', '--version')).stdout).toMatch(/^\d+\./);

    const { Docker } = await inspect(plain);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(Docker.config.Labels).toMatchObject({
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': expect.stringMatching(/^[0-9a-f]{40}$/),
    });
    const [kind, ...probe] = Docker.config.Healthcheck.Test;
    expect(kind).toBe('CMD');
    // The health check assumes a container with its own network, so its port is replaced here.
    const port = /\d+$/.exec((await container.exec('printenv', 'SONANT_ADMIN_ADDR')).stdout.trim())![0];
    await container.exec(...probe.map((part: string) => part.replace('9090', port)));
    await expect(container.exec(...probe.map((part: string) => part.replace('9090', '1')))).rejects.toThrow();
  },
);

test.skipIf(!isPossible)('an image with a model speaks with it', { timeout: 900_000 }, async () => {
  const files = { ...tinyVoiceFiles(), MODEL_CARD: 'License: CC0\nLanguage: en' };
  await using mirror = await openMirror({ 'tts-models/vits-tiny-en.tar.bz2': bzip2(tarOf('vits-tiny-en', files)) });
  await build(voiced, '--build-arg', `VOICE=${mirror.url}/tts-models/vits-tiny-en.tar.bz2`);
  await using container = await start(voiced);
  const { stdout } = await container.exec('node', 'src/sonant.js', 'voice', 'list');
  expect(stdout).toContain('vits-tiny-en');
  const { samples, ms } = await speak(container, 'vits-tiny-en', 'abc');
  const heard = measure(samples);
  console.log(`voiced: ${await megabytes(voiced)} MB, ready in ${container.readyMs} ms, spoken in ${ms} ms`, heard);
  // 60 ms for each letter and each mark of the language.
  expect(heard.seconds).toBeGreaterThan(0.2);
  expect(heard.peak).toBeGreaterThan(0.1);
  expect(heard.silentSeconds).toBeLessThan(0.3);
});

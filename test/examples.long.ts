// Tests the examples with the commands from examples/README.md, in which only the addresses are changed. The clients of
// all languages are generated, compiled and run concurrently against a service. Each client must print what REST
// returns. Also tests the examples for browsers, in Chromium.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { serve } from './app/cli/serving-program.ts';
import { freePort } from './free-port.ts';
import { findProgram, isInstalled, type Program } from './programs.ts';
import { toolProgram } from './tool-packages.ts';
import { openPage } from './transports/console/chromium.ts';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'examples/README.md'), 'utf8');

const jars: Program[] = [
  '/usr/share/java/geronimo-annotation-1.3-spec.jar',
  '/usr/share/java/grpc-stub.jar',
  '/usr/share/java/netty-codec-http2.jar',
  '/usr/share/java/perfmark-api.jar',
];

/** Programs that each client is built and run with. */
const toolchains: Record<string, Program[]> = {
  TypeScript: [],
  Python: ['protoc', 'grpc_python_plugin', '/usr/lib/python3/dist-packages/grpc'],
  Go: ['protoc-gen-go', 'protoc-gen-go-grpc', 'go', '/usr/share/gocode/src/google.golang.org/grpc'],
  Java: ['protoc', 'grpc_java_plugin', 'javac', ...jars],
  'C++': ['protoc', 'grpc_cpp_plugin', 'g++', '/usr/include/grpcpp'],
  Rust: ['protoc', 'cargo'],
};

/** Compilers can take minutes on a busy machine. */
const timeout = 600_000;

const env = {
  ...process.env,
  // Debian's Python comes first, because Debian's libraries are for it.
  PATH: [join(root, 'node_modules/.bin'), join(root, 'tools/node_modules/.bin'), '/usr/bin', process.env.PATH].join(
    delimiter,
  ),
  // Code that runs once need not be optimized, which halves Java's compile time.
  JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC',
  GOGC: 'off',
  CARGO_PROFILE_DEV_DEBUG: '0',
  // Compiled crates are kept for the next run.
  CARGO_TARGET_DIR: join(root, 'node_modules/.cache/rust'),
};
let service: Awaited<ReturnType<typeof serve>>;
/** A service with the certificate of the docs, and what makes each language trust it. */
let secure: { address: string; env: Record<string, string> };
beforeAll(async () => {
  // Hooks registered inside a hook never run, so the returned function closes the services.
  const ends: (() => Promise<void>)[] = [];
  service = await serve([], {}, (close) => ends.push(close));
  if (isInstalled('openssl')) {
    const recipe = /^openssl req .*?(?=^```)/ms.exec(readFileSync(join(root, 'docs/compatibility.md'), 'utf8'))![0];
    const { code, err } = await run(service.folder, recipe);
    expect(code, err).toBe(0);
    const certificate = join(service.folder, 'sonant-cert.pem');
    const tls = { SONANT_TLS_CERT: certificate, SONANT_TLS_KEY: join(service.folder, 'sonant-key.pem') };
    const { ports, key } = await serve([], tls, (close) => ends.push(close));
    const trust = ['GRPC_DEFAULT_SSL_ROOTS_FILE_PATH', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'];
    secure = {
      address: `https://127.0.0.1:${ports[1]}`,
      env: { SONANT_API_KEY: key, ...Object.fromEntries(trust.map((name) => [name, certificate])) },
    };
  }
  return async () => {
    for (const end of ends.reverse()) await end();
  };
});

/** The block of commands under a heading. */
const commandsOf = (heading: string) =>
  readme
    .split(/^## /m)
    .find((section) => section.startsWith(`${heading}\n`))!
    .match(/^```sh.*?\n(.*?)^```/ms)![1]!
    .replaceAll('127.0.0.1:50051', `127.0.0.1:${service.ports[1]}`);

/** A copy of the parts of the checkout that the examples need. */
function checkout(onClose: (close: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-example-'));
  onClose(() => rmSync(folder, { recursive: true }));
  for (const part of ['package.json', 'examples', 'gen', 'proto'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  for (const linked of ['.ci', 'node_modules', 'tools/node_modules']) {
    mkdirSync(dirname(join(folder, linked)), { recursive: true });
    symlinkSync(join(root, linked), join(folder, linked));
  }
  return folder;
}

async function run(folder: string, commands: string, more: Record<string, string> = {}) {
  const child = spawn('/bin/sh', ['-e', '-c', commands], { cwd: folder, env: { ...env, ...more } });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err, code] = await Promise.all([readAll(child.stdout), readAll(child.stderr), ended]);
  return { out, err, code };
}

const speak = (body: object, { url, key } = service) =>
  fetch(`${url}/api/audio/speech`, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ voice_id: 'clara', ...body }),
  });

const streamedLine = (sound: Buffer) =>
  `streamed ${sound.length} bytes, SHA-256 ${createHash('sha256').update(sound).digest('hex')}`;
const letter = {
  method: 'streaming',
  text_chunks: ['Dear reader, it cost $19.99.', 'Yours, Clara.'],
  output_format: 'pcm',
  sample_rate: 24_000,
};

/** The REST answers to the same requests, as the clients print them. */
async function expectedLines(): Promise<string[]> {
  const whole = await speak({ text: 'Hello from Sonant.', output_format: 'mp3', return_format: 'buffer' });
  const milliseconds = Math.floor(Number(whole.headers.get('x-audio-duration')) * 1000);
  const streamed = Buffer.from(await (await speak(letter)).arrayBuffer());
  const turn = Buffer.from(
    await (await speak({ ...letter, text_chunks: ['Good morning. It is late.'] })).arrayBuffer(),
  );
  const refused = (await (await speak({ voice_id: 'nobody', text: 'Hello.' })).json()) as Record<string, string>;
  return [
    `hello.mp3: ${(await whole.arrayBuffer()).byteLength} bytes, ${milliseconds} ms of speech`,
    streamedLine(streamed),
    `turn 0: 25 characters, ${turn.length} bytes`,
    'cancelled in turn 1',
    `refused: ${refused.error!.toUpperCase()}: ${refused.message}`,
    'gave up after 10 ms, as told',
  ];
}

for (const [language, programs] of Object.entries(toolchains))
  test.skipIf(!programs.every(isInstalled))(
    `the client in ${language} says what REST says`,
    { timeout, concurrent: true },
    async ({ onTestFinished }) => {
      const folder = checkout(onTestFinished);
      const commands = commandsOf(language);
      const expected = [...(await expectedLines()), ''];
      const says = async (commands: string, more: Record<string, string>) => {
        const { out, err, code } = await run(folder, commands, more);
        expect(code, err).toBe(0);
        const lines = out.split('\n');
        const first = lines.findIndex((line) => /^first sound after \d+ ms$/.test(line));
        expect(lines.slice(first - 1).filter((_, i) => i !== 1)).toEqual(expected);
      };
      await says(commands, { SONANT_API_KEY: service.key });
      expect(readFileSync(join(folder, 'hello.mp3')).length).toBeGreaterThan(5_000);

      const [last] = commands.trim().split('\n').slice(-1);
      // Debian's Netty has no ALPN, so Debian's gRPC for Java has no TLS.
      if (secure && language !== 'Java') await says(last!.replace(/\S+$/, secure.address), secure.env);
      const keyless = await run(folder, last!, { SONANT_API_KEY: '' });
      expect(keyless.code).not.toBe(0);
      expect(keyless.err).toContain('INVALID_API_KEY: ');
    },
  );

/** Commands that load or check all stubs of a language without a client here. */
const checks: Record<string, { needs: Program[]; command: string }> = {
  ruby: {
    needs: ['protoc', 'grpc_ruby_plugin', '/usr/share/doc/ruby-grpc/copyright'],
    command: `/usr/bin/ruby -I stubs/ruby -e "Dir.glob('**/*.rb', base: 'stubs/ruby') { require _1 }; Sonant::V1::SpeechService::Stub"`,
  },
  php: { needs: ['protoc', 'grpc_php_plugin', 'php'], command: `find stubs/php -name '*.php' -exec php -l {} ';'` },
};
for (const [language, { needs, command }] of Object.entries(checks))
  test.skipIf(!needs.every(isInstalled))(`the stubs in ${language} load`, { timeout }, async () => {
    const { code, out, err } = await run(checkout(onTestFinished), `npm run -s gen:stubs -- ${language}\n${command}`);
    expect({ code, err }, out).toEqual({ code: 0, err: '' });
  });

test('a language whose plugins are not here is left out, with the packages that have them', async () => {
  const folder = checkout(onTestFinished);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const here = ['protoc', 'grpc_python_plugin'] as const;
  for (const program of here.filter(isInstalled)) symlinkSync(join(findProgram(program)!, program), join(bin, program));
  symlinkSync(toolProgram('buf'), join(bin, 'buf'));
  symlinkSync(process.execPath, join(bin, 'node'));
  const write = (...names: string[]) => run(folder, `node examples/gen-stubs.ts ${names.join(' ')}`, { PATH: bin });

  const all = await write();
  expect(all.code).toBe(0);
  expect(all.err).toContain('java is left out, without');
  expect(all.err).toContain(
    'go is left out, without protoc-gen-go, protoc-gen-go-grpc: apt-get install protoc-gen-go protoc-gen-go-grpc\n',
  );
  expect(existsSync(join(folder, 'stubs/python/sonant/v1/speech_pb2_grpc.py'))).toBe(here.every(isInstalled));
  expect((await write('go')).code).toBe(1);
  expect(await write('basic')).toMatchObject({ code: 2, err: expect.stringContaining('no such language: basic') });
});

/** Serves a page with the commands under a heading, until the test finishes. */
async function servePage(heading: string, host: string, more: Record<string, string> = {}): Promise<void> {
  const server = spawn('sh', ['-c', `(${commandsOf(heading).replaceAll('127.0.0.1:8000', host)}) 2>&1`], {
    cwd: root,
    env: { ...env, ...more },
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(server, 'exit');
  onTestFinished(async () => {
    process.kill(-server.pid!);
    await gone;
  });
  for await (const line of createInterface(server.stdout)) if (line.includes(host)) break;
  server.stdout.resume();
}

test.skipIf(!isInstalled('chromium'))('the page plays what REST says', async () => {
  const host = `127.0.0.1:${await freePort()}`;
  await servePage('In the browser', host);
  const open = await serve([], { SONANT_CORS_ORIGINS: `http://${host}` });
  const page = await openPage(onTestFinished);
  await page.goTo(`http://${host}/page.html`);
  const fill = (name: string, value: string) =>
    page.run(
      `{ const field = document.querySelector('[name=${name}]'); field.value = ${JSON.stringify(value)}; field.focus() }`,
    );
  await fill('service', open.url);
  await fill('key', open.key);
  await page.press('Enter');
  const printed = async (start: string) => {
    await page.until(`document.querySelector('output').textContent.includes('${start}')`);
    return (await page.run<string>(`document.querySelector('output').textContent`)).trim().split('\n');
  };
  const sound = Buffer.from(await (await speak(letter, open)).arrayBuffer());
  expect(await printed('streamed')).toEqual([expect.stringMatching(/^first sound after \d+ ms$/), streamedLine(sound)]);

  await fill('voice', 'nobody');
  await page.press('Enter');
  expect(await printed('failed')).toEqual([expect.stringMatching(/^failed: VOICE_NOT_FOUND: Voice not found/)]);
});

test.skipIf(!isInstalled('chromium'))('the live page speaks while it is typed, and tells what was heard', async () => {
  const port = await freePort();
  const host = `127.0.0.1:${port}`;
  const open = await serve([], { SONANT_CORS_ORIGINS: `http://${host}` });
  await servePage('Live in the browser', host, {
    SONANT_URL: open.url,
    SONANT_API_KEY: open.key,
    PORT: String(port),
  });
  const page = await openPage(onTestFinished);
  await page.goTo(`http://${host}/`);
  const printed = () => page.run<string>(`document.querySelector('output').textContent`);
  const print = (start: string) => page.until(`document.querySelector('output').textContent.includes('${start}')`);

  await page.run(`document.querySelector('textarea').focus()`);
  await page.press(...'Good morning. It is');
  // Audio arrives before the turn is over.
  await print('first sound after');
  await page.press(...' late.', 'Enter');
  await print('turn 0:');
  expect(await printed()).toMatch(/^first sound after \d+ ms\nturn 0: 25 characters, [12]\.\d+ s\n$/);

  const text = 'This goes on for quite a while, and then for a while more. '.repeat(20).trim();
  await page.run(`{
    const field = document.querySelector('textarea');
    field.value = ${JSON.stringify(text)};
    field.dispatchEvent(new Event('input'));
  }`);
  await page.press('Enter');
  await print('turn 1:');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await page.run(`document.querySelector('[name=interrupt]').click()`);
  await print('turn 1 not heard: ');
  const [, heard, rest] = /turn 1 heard: (.*)\nturn 1 not heard: (.*)\n$/.exec(await printed()) ?? [];
  expect(heard! + rest!).toBe(text);
  expect(heard).not.toBe('');
  expect(rest).not.toBe('');

  await page.run(`document.querySelector('textarea').focus()`);
  await page.press(...'Yes?', 'Enter');
  await print('turn 2: 4 characters');
});

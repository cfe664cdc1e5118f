// The documents for people do as they say: every block of code in them is run in order, page by page, beside one service,
// or is marked with the reason why it is not. What is only read, such as JSON, is at least parsed.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { allSettings } from '../src/app/config.ts';
import { registry } from '../src/engines/registry.ts';
import { openPage } from './console/chromium.ts';
import { openFaultProxy } from './delivery/stores/fault-proxy.ts';
import { blocksOf, pages, readPage, root } from './document-blocks.ts';
import { openStage, type Stage } from './document-stage.ts';
import { isInstalled } from './programs.ts';

const blocks = pages.flatMap(blocksOf);
const service = blocks.find(({ serves }) => serves)!;
const languages = ['sh', 'python', 'ts', 'js', 'go', 'json', 'toml', 'yaml', 'html', 'text', 'console'];
/** For a machine with much else to do. */
const pageMsMax = 240_000;
let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test('every block says what it is written in', () => {
  expect(blocks.filter(({ language }) => !languages.includes(language)).map(({ place }) => place)).toEqual([]);
  const names = blocks.flatMap(({ name }) => name ?? []);
  expect(names).toEqual([...new Set(names)]);
});

test('what is not run has its reason, and is counted', () => {
  const reasons = blocks.flatMap(({ notRun }) => notRun ?? []);
  const counts = Object.fromEntries(reasons.map((reason) => [reason, reasons.filter((one) => one === reason).length]));
  expect(counts).toEqual({
    'is what CI runs': 2,
    'needs Docker': 3,
    'needs Kubernetes': 1,
    'needs a cloned voice': 2,
    'needs a database of yours': 1,
    'needs a loudspeaker': 1,
    'needs a model to download': 7,
    'needs a server elsewhere': 2,
    'needs an account at Google': 3,
    'needs an engine that clones': 1,
    'needs an issuer': 1,
    'needs ghz': 1,
    'needs k6': 2,
    'needs the package openai': 1,
    'starts a second service': 1,
    'takes minutes': 2,
  });
});

test('docs/api.md tells of every path and service', () => {
  const page = readPage('docs/api.md');
  const { paths } = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
  const collections = Object.keys(paths).map((path) => /^\/[^/]+(\/[^/{]+)?/.exec(path)![0]);
  const protos = readdirSync(join(root, 'proto/sonant/v1')).map((name) =>
    readFileSync(join(root, 'proto/sonant/v1', name), 'utf8'),
  );
  const services = protos.flatMap((proto) => [...proto.matchAll(/^service (\w+)/gm)].map(([, name]) => name!));
  expect([...collections, ...services].filter((name) => !page.includes(name))).toEqual([]);
});

test('output is shown without the command that makes it', () => {
  const shown = blocks.filter(({ language }) => language === 'text' || language === 'console');
  const commands = shown.filter(({ text }) => /^(\$ |(npm|npx|curl|node|python3|docker|kubectl) )/m.test(text));
  expect(commands.map(({ place }) => place)).toEqual([]);
});

test('what is to be parsed can be', () => {
  for (const { language, text } of blocks) {
    if (language === 'json') JSON.parse(text);
    if (language === 'toml') parseToml(text);
    if (language === 'yaml') expect(parseYaml(text)).toBeTypeOf('object');
  }
});

for (const page of pages) {
  const own = blocksOf(page).filter(({ notRun }) => notRun === undefined);
  test(
    `${page} runs`,
    async () => {
      if (page !== 'README.md' && own.length > 0) await stage.play(service);
      for (const block of own) {
        const program = block.language === 'python' ? 'python3' : block.needs;
        if (program === undefined || isInstalled(program)) await stage.play(block);
      }
    },
    pageMsMax,
  );
}

test.skipIf(!isInstalled('chromium'))('the players of docs/streaming.md play, in a browser', async () => {
  const page = await openPage(onTestFinished);
  const { goTo, run, until, send } = page;
  const click = { expression: "document.getElementById('speak').click()", userGesture: true };
  for (const name of ['media-source', 'web-audio', 'event-source']) {
    await goTo(stage.toHere(`http://127.0.0.1:3000/${name}.html`));
    await send('Runtime.evaluate', click);
    await until(`document.getElementById('state').value !== ''`);
    expect([name, await run(`document.getElementById('state').value`)]).toEqual([name, 'complete']);
    if (name !== 'web-audio') await until(`document.getElementById('player').duration > 1`);
  }
  expect(await run(`document.getElementById('words').textContent`)).toMatch(/^Each \(0\.\d\d s\) word /);
});

test.skipIf(!isInstalled('python3'))('the reader of events in docs/streaming.md reads on where it is cut', async () => {
  const file = join(stage.folder, 'events.mp3');
  const whole = readFileSync(file);
  const proxy = await openFaultProxy(stage.toHere('http://127.0.0.1:8080'));
  const cuts = [2000, 5000, 3000];
  proxy.faultOf = () => {
    const afterBytes = cuts.shift();
    return afterBytes === undefined ? undefined : { kind: 'cut-answer', afterBytes };
  };
  const block = blocks.find(({ name }) => name === 'events.py')!;
  await stage.play({ ...block, text: block.text.replace('http://127.0.0.1:8080', proxy.endpoint) });
  expect(readFileSync(file).equals(whole)).toBe(true);
  expect(proxy.requests.length).toBe(4);
});

test('what is set in TOML is a setting', () => {
  const known = allSettings(registry).map(({ name }) => name);
  const set = blocks.flatMap(({ language, text }) => (language === 'toml' ? Object.keys(parseToml(text)) : []));
  expect(set.filter((name) => !known.includes(`SONANT_${name.toUpperCase()}`))).toEqual([]);
});

test('every setting is in its table', () => {
  const documented = [...readPage('docs/settings.md').matchAll(/^\| `(SONANT_\w+)`/gm)].map((match) => match[1]);
  expect(documented).toEqual(allSettings(registry).map(({ name }) => name));
});

test('what they are to write is there', () => {
  const files = ['hello.wav', 'reader.wav', 'hello.mp3', 'letter.mp3', 'piped.pcm', 'news.wav', 'hello-node.mp3'];
  files.push('stream-node.mp3', 'grpc.mp3', 'migrated.mp3', 'migrated-stream.mp3', 'migrated-cartesia.mp3', 'live.pcm');
  if (isInstalled('python3')) files.push('hello-python.mp3', 'stream.mp3', 'events.mp3', 'backup.db');
  if (isInstalled('ffmpeg')) files.push('counted.m4a');
  if (isInstalled('sox')) files.push('counted.wav');
  for (const file of files) expect([file, statSync(join(stage.folder, file)).size > 2000]).toEqual([file, true]);
});

test('git ignores what they write', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: stage.folder, encoding: 'utf8' });
  git('init', '--quiet');
  copyFileSync(join(root, '.gitignore'), join(stage.folder, '.gitignore'));
  const ours =
    /^\?\? (package\.json|src\/|gen\/|proto\/|tsconfig\.json|node_modules|compiled\/|\.gitignore|(docs|README)-.*)$/;
  const seen = git('status', '--porcelain').split('\n');
  expect(seen.filter((line) => line !== '' && !ours.test(line))).toEqual([]);
});

test('TypeScript is typed', () => {
  const options = { extends: join(root, 'tsconfig.json'), compilerOptions: { types: ['node'] }, include: ['*.ts'] };
  writeFileSync(join(stage.folder, 'tsconfig.json'), JSON.stringify(options));
  expect(existsSync(join(stage.folder, 'node_modules'))).toBe(true);
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', stage.folder], { stdio: 'pipe' });
});

// Tests the code in the documentation: runs the blocks of each page in order, in one shell that starts in an empty
// folder, with one service for all pages. Skips blocks that state why they are not run; docs.test.ts counts these blocks.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openFaultProxy } from './clips/stores/fault-proxy.ts';
import { type Block, blocksOf, pages, root } from './document-blocks.ts';
import { openStage, type Stage } from './document-stage.ts';
import { isInstalled } from './programs.ts';
import { openPage } from './transports/console/chromium.ts';

const blocks = pages.flatMap(blocksOf);
const service = blocks.find(({ serves }) => serves)!;
/** Time limit for a page, on a busy machine. The first one installs Sonant. */
const pageMsMax = 600_000;
let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
}, pageMsMax);
// The installed packages take long to delete on a busy disk.
afterAll(() => stage?.close(), pageMsMax);

for (const page of pages) {
  const own = blocksOf(page).filter(({ notRun }) => notRun === undefined);
  test(
    `${page} runs`,
    async () => {
      if (own.length > 0) await stage.play(service);
      for (const block of own) {
        const program = block.language === 'python' ? 'python3' : block.needs;
        if (program === undefined || isInstalled(program)) await stage.play(block, page);
      }
    },
    pageMsMax,
  );
}

const block = {
  place: 'examples',
  language: 'sh',
  name: undefined,
  serves: undefined,
  needs: undefined,
  notRun: undefined,
};
const setKey = 'export SONANT_API_KEY=$(cat ~/sonant/data/first-key)\n';

/** A file of examples/ that the documents link to, as a block of code, which is only saved. */
const exampleOf = (file: string): Block => {
  const text = readFileSync(join(root, 'examples', file), 'utf8');
  return { ...block, language: 'text', text, name: basename(file) };
};

test.skipIf(!isInstalled('chromium'))('the players of docs/streaming.md play, in a browser', async () => {
  await stage.play(service);
  await stage.play({ ...block, text: 'mkdir ~/pages && cd ~/pages' });
  for (const file of readdirSync(join(root, 'examples/pages'))) await stage.play(exampleOf(`pages/${file}`));
  await stage.play({ ...block, serves: 'site', text: `${setKey}cd ~/pages\nnode site.ts` });
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
  const program = exampleOf('python/events.py');
  const file = join(stage.home, 'events/events.mp3');
  await stage.play(service);
  await stage.play({ ...block, text: `${setKey}mkdir ~/events && cd ~/events` });
  const run = async (text: string) => stage.play({ ...program, language: 'python', text });
  await run(program.text);
  const whole = readFileSync(file);
  const proxy = await openFaultProxy(stage.toHere('http://127.0.0.1:8080'));
  const cuts = [2000, 5000, 3000];
  proxy.faultOf = () => {
    const afterBytes = cuts.shift();
    return afterBytes === undefined ? undefined : { kind: 'cut-answer', afterBytes };
  };
  await run(program.text.replace('http://127.0.0.1:8080', proxy.endpoint));
  expect(readFileSync(file).equals(whole)).toBe(true);
  expect(proxy.requests.length).toBe(4);
});

test('what they are to write is there', () => {
  const files = ['hello.wav', 'reader.wav', 'letter.mp3', 'news.wav', 'hello-node.mp3', 'live.pcm'];
  files.push('../hello/hello.mp3');
  if (isInstalled('python3')) files.push('hello-python.mp3', 'stream.mp3', '../events/events.mp3', 'backup.db');
  if (isInstalled('ffmpeg')) files.push('counted.m4a');
  const sizeOf = (file: string) => statSync(join(stage.home, 'sonant', file)).size;
  for (const file of files) expect([file, sizeOf(file) > 2000]).toEqual([file, true]);
});

test('git ignores what they write', () => {
  const options = { cwd: join(stage.home, 'sonant'), encoding: 'utf8' } as const;
  const seen = execFileSync('git', ['status', '--porcelain'], options).split('\n');
  expect(seen.filter((line) => line !== '' && !line.startsWith('A  '))).toEqual([]);
});

test('TypeScript is typed', () => {
  const folder = join(stage.home, 'typed');
  mkdirSync(folder);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const options = { extends: join(root, 'tsconfig.json'), compilerOptions: { types: ['node'] }, include: ['*.ts'] };
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
  for (const { language, name, text } of blocks) if (language === 'ts') writeFileSync(join(folder, name!), text);
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { stdio: 'pipe' });
});

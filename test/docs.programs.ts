// Tests the code in the documentation: runs every block in order, page by page, beside one service. Skips blocks that
// state why they are not run; docs.test.ts counts these blocks.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openPage } from './console/chromium.ts';
import { openFaultProxy } from './delivery/stores/fault-proxy.ts';
import { type Block, blocksOf, pages, root } from './document-blocks.ts';
import { openStage, type Stage } from './document-stage.ts';
import { isInstalled } from './programs.ts';

const blocks = pages.flatMap(blocksOf);
const service = blocks.find(({ serves }) => serves)!;
const setKey = blocks.find(({ place, text }) => place.startsWith('docs/quick-start') && text.startsWith('export '))!;
/** Time limit for a page, on a busy machine. */
const pageMsMax = 240_000;
let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** Starts the service, and sets the key in the shell of the page, as the quick start says. */
async function prepare(page: string): Promise<void> {
  await stage.play(service);
  await stage.play(setKey, page);
}

for (const page of pages) {
  const own = blocksOf(page).filter(({ notRun }) => notRun === undefined);
  test(
    `${page} runs`,
    async () => {
      if (page !== 'README.md' && own.length > 0) await prepare(page);
      for (const block of own) {
        const program = block.language === 'python' ? 'python3' : block.needs;
        if (program === undefined || isInstalled(program)) await stage.play(block, page);
      }
    },
    pageMsMax,
  );
}

/** A file of examples/ that the documents link to, as a block of code. */
function exampleOf(file: string, language: string): Block {
  const place = `examples/${file}`;
  const text = readFileSync(join(root, place), 'utf8');
  return {
    place,
    language,
    text,
    name: basename(file),
    serves: language === 'ts',
    needs: undefined,
    notRun: undefined,
  };
}

test.skipIf(!isInstalled('chromium'))('the players of docs/streaming.md play, in a browser', async () => {
  await prepare('examples');
  const files = readdirSync(join(root, 'examples/pages')).sort();
  for (const file of files) await stage.play(exampleOf(`pages/${file}`, extname(file).slice(1)), 'examples');
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
  const block = exampleOf('python/events.py', 'python');
  const file = join(stage.folder, 'events.mp3');
  await prepare('examples');
  await stage.play(block, 'examples');
  const whole = readFileSync(file);
  const proxy = await openFaultProxy(stage.toHere('http://127.0.0.1:8080'));
  const cuts = [2000, 5000, 3000];
  proxy.faultOf = () => {
    const afterBytes = cuts.shift();
    return afterBytes === undefined ? undefined : { kind: 'cut-answer', afterBytes };
  };
  await stage.play({ ...block, text: block.text.replace('http://127.0.0.1:8080', proxy.endpoint) }, 'examples');
  expect(readFileSync(file).equals(whole)).toBe(true);
  expect(proxy.requests.length).toBe(4);
});

test('what they are to write is there', () => {
  const files = ['hello.wav', 'reader.wav', 'hello.mp3', 'letter.mp3', 'piped.pcm', 'news.wav', 'hello-node.mp3'];
  files.push('stream-node.mp3', 'migrated.mp3', 'migrated-stream.mp3', 'migrated-cartesia.mp3', 'live.pcm');
  if (isInstalled('python3')) files.push('hello-python.mp3', 'stream.mp3', 'events.mp3', 'backup.db');
  if (isInstalled('ffmpeg')) files.push('counted.m4a');
  for (const file of files) expect([file, statSync(join(stage.folder, file)).size > 2000]).toEqual([file, true]);
});

test('git ignores what they write', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: stage.folder, encoding: 'utf8' });
  git('init', '--quiet');
  copyFileSync(join(root, '.gitignore'), join(stage.folder, '.gitignore'));
  const ours =
    /^\?\? (package\.json|src\/|gen\/|proto\/|examples\/|tsconfig\.json|node_modules|compiled\/|\.gitignore|(docs|README)-.*)$/;
  const seen = git('status', '--porcelain').split('\n');
  expect(seen.filter((line) => line !== '' && !ours.test(line))).toEqual([]);
});

test('TypeScript is typed', () => {
  const options = { extends: join(root, 'tsconfig.json'), compilerOptions: { types: ['node'] }, include: ['*.ts'] };
  writeFileSync(join(stage.folder, 'tsconfig.json'), JSON.stringify(options));
  expect(existsSync(join(stage.folder, 'node_modules'))).toBe(true);
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', stage.folder], { stdio: 'pipe' });
});

// Takes screenshots for docs/console: the API key prompt and the Speak, Talk and Models pages, in the light theme, in
// the dark theme and on a phone. Starts its own service. console-pages.programs.ts creates data for the other pages,
// and takes their screenshots. Needs Chromium; `npm run screenshots` runs both.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openPage, type Page } from './chromium.ts';

const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'docs/console');
const voice = 'clara';
const text =
  'The lighthouse keeper wrote one letter every evening, folded it twice, and gave it to the tide. ' +
  'Nobody knows who read them. But in the spring, when the boats came back, there was a bottle on the step, ' +
  'and in it, in a hand as small as rain, the answer to the first of them.';

async function greeted(child: ChildProcess): Promise<string> {
  for await (const line of createInterface(child.stdout!)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url) return url;
    const [, address] = /serves HTTP on (127\.0\.0\.1:\d+)/.exec(line) ?? [];
    if (address) return `http://${address}`;
  }
  throw new Error('the service did not start');
}

async function take(page: Page, name: string): Promise<void> {
  const { data } = await page.send('Page.captureScreenshot');
  const bytes = Buffer.from(String(data), 'base64');
  writeFileSync(join(folder, `${name}.png`), bytes);
  console.log(`${name}.png, ${Math.round(bytes.length / 1024)} kB`);
}

const size = (page: Page, width: number, height: number) =>
  page.send('Emulation.setDeviceMetricsOverride', {
    width,
    height,
    deviceScaleFactor: width < 600 ? 2 : 1,
    mobile: width < 600,
  });

const theme = (page: Page, value: string) =>
  page.send('Emulation.setEmulatedMedia', {
    features: [
      { name: 'prefers-color-scheme', value },
      // Otherwise a picture could show the highlight between two words.
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ],
  });

async function speakTo(page: Page, seconds: number): Promise<void> {
  await page.until(`document.querySelector('.speak-button')`);
  // Browsers allow audio only after a user gesture.
  await page.send('Runtime.evaluate', {
    expression: `document.querySelector('.speak-button').click()`,
    userGesture: true,
  });
  await page.until(`document.querySelector('.sound')?.dataset.state === 'done'`);
  await page.until(`document.querySelector('.waveform').ariaValueNow > ${seconds}`);
}

/** Types a text, interrupts its speech, and types another text, which is spoken up to word number `words`. */
async function talkTo(page: Page, words: number): Promise<void> {
  await page.until(`document.querySelector('#talk-text')`);
  await page.run(`document.getElementById('talk-text').focus()`);
  const untilWord = (word: number) =>
    page.until(`Number(document.querySelector('.turns > li:last-child')?.dataset.word) >= ${word}`);
  await page.press('W');
  await page.send('Input.insertText', {
    text: 'hat would you like to hear about the sea today, the tide tables or the weather?',
  });
  await page.press('Enter');
  await untilWord(7);
  await page.press('Escape');
  await page.send('Input.insertText', {
    text: 'The weather: it stays bright until the evening. Then clouds come in from the ',
  });
  await untilWord(words);
}

async function takeAll(page: Page, url: string, key: string): Promise<void> {
  await page.send('Page.enable');
  await page.send('Emulation.setScrollbarsHidden', { hidden: true });
  await page.send('Emulation.setFocusEmulationEnabled', { enabled: true });
  await size(page, 1200, 860);
  await page.goTo(`${url}/console`);
  await page.until(`document.getElementById('api-key')`);
  for (const value of ['light', 'dark']) {
    await theme(page, value);
    await take(page, `welcome-${value}`);
  }
  await page.run(`sessionStorage.setItem('sonant-key', '${key}'); localStorage.setItem('sonant-voice', '${voice}');
    sessionStorage.setItem('sonant-text', ${JSON.stringify(text)})`);
  await page.goTo(`${url}/console`);
  await page.until(`document.querySelector('.speak-button')`);
  for (const value of ['light', 'dark']) {
    await theme(page, value);
    await page.run(`location.hash = '#/speak'`);
    await speakTo(page, 6);
    await take(page, `speak-${value}`);
    await page.run(`location.hash = '#/talk'`);
    await talkTo(page, 5);
    await take(page, `talk-${value}`);
    await page.run(`location.hash = '#/usage'`);
  }
  await size(page, 360, 740);
  await page.run(`location.hash = '#/speak'`);
  await speakTo(page, 3);
  await take(page, 'speak-phone');
  await page.run(`location.hash = '#/talk'`);
  await talkTo(page, 5);
  await take(page, 'talk-phone');
}

/** Takes the screenshots of the Models page, with a key that may install models. */
async function takeModels(page: Page, url: string, key: string): Promise<void> {
  await page.run(`sessionStorage.setItem('sonant-key', '${key}')`);
  await page.goTo(`${url}/console#/voices/+models`);
  await page.reload();
  await page.until(`document.querySelector('[data-model] button')`);
  await size(page, 1200, 860);
  for (const value of ['light', 'dark']) {
    await theme(page, value);
    await take(page, `models-${value}`);
  }
  await size(page, 360, 740);
  await theme(page, 'light');
  await take(page, 'models-phone');
}

const dataDir = mkdtempSync(join(tmpdir(), 'sonant-pictures-'));
const addresses = {
  SONANT_HTTP_ADDR: '127.0.0.1:0',
  SONANT_GRPC_ADDR: '127.0.0.1:0',
  SONANT_DATA_DIR: dataDir,
  SONANT_FETCH_VOICE: 'off',
  SONANT_LOG_LEVEL: 'error',
};
const main = join(root, 'src/main.ts');
const env = { ...process.env, ...addresses };
const service = spawn(process.execPath, [main, 'serve'], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const gone = once(service, 'exit');
const closes: (() => Promise<void>)[] = [];
try {
  const url = await greeted(service);
  service.stdout.resume();
  const page = await openPage((close) => closes.push(close));
  mkdirSync(folder, { recursive: true });
  await takeAll(page, url, readFileSync(join(dataDir, 'first-key'), 'utf8').trim());
  const scopes = 'admin,voices:read,speech:stream';
  const made = execFileSync(process.execPath, [main, 'key', 'create', '--json', '--scopes', scopes], { env });
  await takeModels(page, url, (JSON.parse(String(made)) as { key: string }).key);
} finally {
  for (const close of closes) await close();
  service.kill();
  await gone;
  rmSync(dataDir, { recursive: true });
}

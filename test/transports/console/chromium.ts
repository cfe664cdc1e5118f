// Drives Chromium through its DevTools protocol (https://chromedevtools.github.io/devtools-protocol/): opens pages,
// runs scripts in them and inspects them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

type Json = Record<string, unknown>;

/** Less than the test's own timeout, so that a failed wait reports its expression. */
const longestWaitMs = 50_000;

export interface Page {
  goTo(url: string): Promise<void>;
  /** Resolves when the new document is complete; `script` runs in the old document just before. */
  reload(script?: string): Promise<void>;
  /** The value of an expression in the page; promises are awaited. */
  run<T>(expression: string): Promise<T>;
  /** Waits until the expression is true. */
  until(expression: string): Promise<void>;
  /** Presses keys in the focused element. */
  press(...keys: readonly string[]): Promise<void>;
  send(method: string, params?: Json): Promise<Json>;
  screenshot(): Promise<Buffer>;
}

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--remote-debugging-port=0',
  'about:blank',
];

/** `more` are additional flags. */
export async function openPage(
  onClose: (close: () => Promise<void>) => void,
  more: readonly string[] = [],
): Promise<Page> {
  const profile = mkdtempSync(join(tmpdir(), 'sonant-browser-'));
  const args = [`--user-data-dir=${profile}`, ...more, ...flags];
  const browser = spawn('chromium', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const gone = once(browser, 'exit');
  onClose(async () => {
    browser.kill('SIGKILL');
    await gone;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  let address: string | undefined;
  for await (const line of createInterface(browser.stderr)) {
    address = /DevTools listening on (ws:\S+)/.exec(line)?.[1];
    if (address) break;
  }
  browser.stderr.resume();
  const call = await connect(address!);
  const { targetInfos } = (await call('Target.getTargets')) as { targetInfos: { type: string; targetId: string }[] };
  const { targetId } = targetInfos.find(({ type }) => type === 'page')!;
  const { sessionId } = await call('Target.attachToTarget', { targetId, flatten: true });
  const send = (method: string, params: Json = {}) => call(method, params, String(sessionId));

  const run = async <T>(expression: string): Promise<T> => {
    const request = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await send('Runtime.evaluate', request);
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { value: T }).value;
  };
  const seen = () => run<string>(`location + '\\n' + document.body.innerText`).catch(String);
  const until = async (expression: string) => {
    const end = performance.now() + longestWaitMs;
    // While the page is unloading, expressions cannot be evaluated.
    while (!(await run<boolean>(expression).catch(() => false))) {
      if (performance.now() > end) throw new Error(`${await seen()}: waited ${longestWaitMs} ms for ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return {
    send,
    run,
    until,
    async reload(script = '') {
      // The old document stays until the new one arrives; actions in it would be lost.
      await run(`window.isOld = true; ${script}; location.reload()`);
      await until(`!window.isOld && document.readyState === 'complete'`);
    },
    async goTo(url) {
      await send('Page.navigate', { url });
      await until(`document.readyState === 'complete' && location.href !== 'about:blank'`);
    },
    async press(...keys) {
      for (const key of keys) {
        const text = { Enter: '\r', Tab: '\t', Space: ' ' }[key] ?? (key.length === 1 ? key : undefined);
        const code = { Enter: 13, Tab: 9, Space: 32, Escape: 27 }[key] ?? 0;
        const event = { key: key === 'Space' ? ' ' : key, windowsVirtualKeyCode: code, ...(text && { text }) };
        await send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', ...event });
        await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
      }
    },
    screenshot: async () =>
      Buffer.from(String((await send('Page.captureScreenshot', { captureBeyondViewport: true })).data), 'base64'),
  };
}

type Call = (method: string, params?: Json, sessionId?: string) => Promise<Json>;

async function connect(address: string): Promise<Call> {
  const socket = new WebSocket(address);
  await once(socket, 'open');
  const waiting = new Map<number, PromiseWithResolvers<Json>>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(String(data)) as {
      id?: number;
      result: Json;
      error?: { message: string };
    };
    const call = id === undefined ? undefined : waiting.get(id);
    if (error) call?.reject(new Error(error.message));
    else call?.resolve(result);
  });
  let count = 0;
  return (method, params = {}, sessionId) => {
    const call = Promise.withResolvers<Json>();
    waiting.set(++count, call);
    socket.send(JSON.stringify({ id: count, method, params, ...(sessionId && { sessionId }) }));
    return call.promise;
  };
}

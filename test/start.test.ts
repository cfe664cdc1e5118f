// Tests that startup imports only the necessary files, each once, and that all others are available on demand.
import { execFileSync } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from './new-folder.ts';

const root = join(import.meta.dirname, '..');
const sonant = join(root, 'src/sonant.js');

const evaluate = (script: string): unknown =>
  JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }));

test('node:http comes without the WebSocket and fetch of Node, which are there when they are needed', () => {
  const loaded = evaluate(`
    await import(${JSON.stringify(join(root, 'src/start.js'))});
    const { createServer } = await import('node:http');
    const undici = process.moduleLoadList.filter((name) => name.includes('deps/undici'));
    const { createRequire } = await import('node:module');
    const webSocket = createRequire('/')('node:http').WebSocket === globalThis.WebSocket;
    const { status } = await fetch('data:,here');
    console.log(JSON.stringify({ undici, createServer: typeof createServer, webSocket, status }));`);
  expect(loaded).toEqual({ undici: [], createServer: 'function', webSocket: true, status: 200 });
});

test('a command loads no client of a vendor and no library of an engine', () => {
  const loaded = evaluate(`
    process.argv.push('', '--version');
    const { write } = process.stdout;
    process.stdout.write = () => true;
    await import(${JSON.stringify(sonant)});
    process.stdout.write = write;
    const { createRequire } = await import('node:module');
    const paths = Object.keys(createRequire(${JSON.stringify(sonant)}).cache);
    const heavy = /google-login|google-client|@aws-sdk|koffi|node_modules.pg.|openid-client/;
    console.log(JSON.stringify(paths.filter((path) => heavy.test(path))));`);
  expect(loaded).toEqual([]);
});

test('each file is one module, also where the checkout is reached by a link', async () => {
  const folder = newFolder();
  const link = join(folder, 'sonant');
  await symlink(root, link);
  const loaded = evaluate(`
    const { registerHooks } = await import('node:module');
    const urls = [];
    registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
    process.argv.push('', '--version');
    const { write } = process.stdout;
    process.stdout.write = () => true;
    await import(${JSON.stringify(join(link, 'src/sonant.js'))});
    process.stdout.write = write;
    console.log(JSON.stringify(urls.filter((url) => url.includes(${JSON.stringify(folder)}))));`);
  expect(loaded).toEqual([]);
});

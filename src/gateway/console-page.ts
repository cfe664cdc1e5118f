// GET /console: a place to type and listen, in a browser. It is a client like any other: plain modules that ask the API
// with the key that is pasted into it. Nothing is built, nothing comes from elsewhere, and nothing runs that is not a file.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../errors.ts';

export interface ConsolePageOptions {
  /** Whether people can sign in here to get a key. */
  canSignIn: boolean;
}

interface ConsoleFile {
  type: string;
  bytes: Buffer;
  etag: string;
}

const folder = new URL('./console/', import.meta.url);
const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** Run before anything is drawn, and what the rest hangs on. */
const [firstScript, entry, firstStyle] = ['theme.js', 'shell.js', 'console.css'];

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // Whoever has their voice cloned says so into the microphone.
  'permissions-policy': 'camera=(), geolocation=(), microphone=(self), payment=(), usb=()',
};

export function addConsolePage(app: FastifyInstance, { canSignIn }: ConsolePageOptions): void {
  let read: Map<string, ConsoleFile> | undefined;
  const files = () => {
    read ??= readFiles();
    return read;
  };

  app.get('/console', (request, reply) => {
    const page = toPage([...files().keys()], canSignIn);
    const etag = etagOf(page);
    reply.headers({ ...headers, etag });
    return isKnown(request, etag) ? reply.code(304).send() : reply.send(page);
  });

  app.get('/console/:file', (request: FastifyRequest<{ Params: { file: string } }>, reply) => {
    const file = files().get(request.params.file);
    if (!file) throw new Failure('not_found');
    reply.headers({ 'content-type': file.type, 'cache-control': 'no-cache', etag: file.etag });
    return isKnown(request, file.etag) ? reply.code(304).send() : reply.send(file.bytes);
  });
}

function readFiles(): Map<string, ConsoleFile> {
  const names = readdirSync(folder).filter((name) => contentTypes[extname(name)]);
  return new Map(
    names.sort().map((name) => {
      const bytes = readFileSync(new URL(name, folder));
      return [name, { type: contentTypes[extname(name)]!, bytes, etag: etagOf(bytes) }];
    }),
  );
}

const etagOf = (bytes: Buffer | string) => `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`;
const isKnown = ({ headers }: FastifyRequest, etag: string) => headers['if-none-match'] === etag;

/** Addresses are relative, so that it works below any path that a proxy puts before ours. */
function toPage(names: readonly string[], canSignIn: boolean): string {
  const styles = [firstStyle, ...names.filter((name) => name.endsWith('.css') && name !== firstStyle)];
  // Else a browser would learn of each module only from the one that imports it.
  const modules = names.filter((name) => name.endsWith('.js') && ![firstScript, entry].includes(name));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sonant</title>
<link rel="icon" href="console/sonant.svg">
<script src="console/${firstScript}"></script>
${styles.map((name) => `<link rel="stylesheet" href="console/${name}">`).join('\n')}
<script type="module" src="console/${entry}"></script>
${modules.map((name) => `<link rel="modulepreload" href="console/${name}">`).join('\n')}
</head>
<body${canSignIn ? ' data-sign-in-url="oauth/get-key"' : ''}>
<a class="skip" id="skip" href="#main">Skip to the page</a>
<header class="head"><div>
<a class="brand" href="#/"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M2 10h3v4H2zM7 6h3v12H7zM12 2.5h3v19h-3zM17 8h3v8h-3z"/></svg>Sonant</a>
<nav id="pages" aria-label="Pages" hidden></nav>
<div class="tools"><a class="docs" href="docs">Docs</a><div id="holder"></div><button type="button" class="quiet" id="turn-light" aria-label="Light or dark"></button></div>
</div></header>
<div id="trouble" role="alert"></div>
<main id="main" tabindex="-1"><noscript><p>The console needs JavaScript.</p></noscript></main>
<p id="status" role="status"></p>
</body>
</html>
`;
}

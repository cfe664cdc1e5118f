// GET /console: a place to type and listen, in a browser. It is a client like any other: plain modules that ask the API
// with the key that is pasted into it. Nothing is built, nothing comes from elsewhere, and nothing runs that is not a file.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../errors.ts';

export interface ConsolePageOptions {
  /** Whether people can sign in here to get a key. */
  canSignIn: boolean;
}

/** Something to send, and the same made small. */
interface Sendable {
  type: string;
  bytes: Buffer;
  zipped: Buffer;
  etag: string;
}

const folder = new URL('./browser/', import.meta.url);
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
const pageHeaders = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // Whoever has their voice cloned says so into the microphone.
  'permissions-policy': 'camera=(), geolocation=(), microphone=(self), payment=(), usb=()',
};

export function addConsolePage(app: FastifyInstance, { canSignIn }: ConsolePageOptions): void {
  let read: { page: Sendable; files: ReadonlyMap<string, Sendable> } | undefined;
  const sendables = () => {
    if (read) return read;
    const files = readFiles();
    const page = toPage([...files.keys()], canSignIn);
    read = { page: toSendable('text/html; charset=utf-8', Buffer.from(page)), files };
    return read;
  };

  app.get('/', (_request, reply) => reply.redirect('console'));

  app.get('/console', (request, reply) => send(request, reply.headers(pageHeaders), sendables().page));

  app.get('/console/:file', (request: FastifyRequest<{ Params: { file: string } }>, reply) => {
    const file = sendables().files.get(request.params.file);
    if (!file) throw new Failure('not_found');
    return send(request, reply, file);
  });
}

function send({ headers }: FastifyRequest, reply: FastifyReply, { type, bytes, zipped, etag }: Sendable): FastifyReply {
  const isZipped = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
  const tag = isZipped ? `"${etag}-gzip"` : `"${etag}"`;
  // Another origin may be told another thing already.
  const vary = [reply.raw.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', ');
  reply.headers({ 'content-type': type, 'cache-control': 'no-cache', vary, etag: tag });
  if (headers['if-none-match']?.replace(/^W\//, '') === tag) return reply.code(304).send();
  return isZipped ? reply.header('content-encoding', 'gzip').send(zipped) : reply.send(bytes);
}

function readFiles(): Map<string, Sendable> {
  const names = readdirSync(folder).filter((name) => contentTypes[extname(name)]);
  return new Map(
    names
      .sort()
      .map((name) => [name, toSendable(contentTypes[extname(name)]!, readFileSync(new URL(name, folder)))] as const),
  );
}

const toSendable = (type: string, bytes: Buffer): Sendable => ({
  type,
  bytes,
  zipped: gzipSync(bytes),
  etag: createHash('sha256').update(bytes).digest('base64url').slice(0, 27),
});

/** Addresses are relative, so that it works below any path that a proxy puts before ours. */
function toPage(names: readonly string[], canSignIn: boolean): string {
  const styles = [firstStyle, ...names.filter((name) => name.endsWith('.css') && name !== firstStyle)];
  // Else a browser would learn of each module only from the one that imports it. Worklets load theirs themselves.
  const modules = names.filter((name) => /(?<!-worklet)\.js$/.test(name) && ![firstScript, entry].includes(name));
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

// Serves the web console at /console: browser modules that call the API with the user's API key. The console has no
// build step, no third-party resource and no inline script.
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../platform/errors.ts';
import { addPage, contentTypes, type StaticFile, sendStaticFile, toStaticFile } from '../net/static-file.ts';

interface ConsolePageOptions {
  /** Whether users can sign in to get an API key. */
  canSignIn: boolean;
}

const folder = new URL('./browser/', import.meta.url);
/** Modules that are loaded on demand, because not every user needs them. */
const onDemand = /^(?:model-|lexicon-|job-|markup-(?!kind)|clon|record|microphone\.)/;
/** The blocking theme script, the entry module, and the style sheet that must load first. */
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
  // The clone form records from the microphone.
  'permissions-policy': 'camera=(), geolocation=(), microphone=(self), payment=(), usb=()',
};

export function addConsolePage(app: FastifyInstance, { canSignIn }: ConsolePageOptions): void {
  let loaded: { page: StaticFile; files: ReadonlyMap<string, StaticFile> } | undefined;
  const readAll = () => {
    if (loaded) return loaded;
    const files = readFiles();
    const page = toPage([...files.keys()], canSignIn);
    loaded = { page: toStaticFile(contentTypes['.html']!, page), files };
    return loaded;
  };

  app.get('/', (_request, reply) => reply.redirect('console'));

  addPage(app, '/console', (request, reply) => sendStaticFile(request, reply.headers(pageHeaders), readAll().page));

  const handler = (request: FastifyRequest, reply: FastifyReply) => {
    const file = readAll().files.get((request.params as { file: string }).file);
    if (!file) throw new Failure('not_found');
    return sendStaticFile(request, reply, file);
  };
  app.get('/console/:file', handler);
}

function readFiles(): Map<string, StaticFile> {
  const names = readdirSync(folder).filter((name) => /\.(js|css|svg)$/.test(name));
  return new Map(
    names
      .sort()
      .map((name) => [name, toStaticFile(contentTypes[extname(name)]!, readFileSync(new URL(name, folder)))] as const),
  );
}

/** URLs are relative, so that the page works behind a proxy with any path prefix. */
function toPage(names: readonly string[], canSignIn: boolean): string {
  const styles = [firstStyle, ...names.filter((name) => name.endsWith('.css') && name !== firstStyle)];
  // Preloading avoids one round trip per level of imports. Worklets load their modules themselves.
  const isPreloaded = (name: string) => !onDemand.test(name) && ![firstScript, entry].includes(name);
  const modules = names.filter((name) => /(?<!-worklet)\.js$/.test(name) && isPreloaded(name));
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
<a class="skip" id="skip" href="#main">Skip to content</a>
<header class="head"><div>
<a class="brand" href="#/"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M2 10h3v4H2zM7 6h3v12H7zM12 2.5h3v19h-3zM17 8h3v8h-3z"/></svg>Sonant</a>
<nav id="pages" aria-label="Pages" hidden></nav>
<div class="tools"><a class="docs" href="docs">Docs</a><div id="key-menu"></div><button type="button" class="quiet" id="theme-toggle" aria-label="Switch between light and dark"></button></div>
</div></header>
<div id="errors" role="alert"></div>
<main id="main" tabindex="-1"><noscript><p>The console needs JavaScript.</p></noscript></main>
<p id="status" role="status"></p>
</body>
</html>
`;
}

// GET /docs: the REST reference, which Swagger UI shows from /openapi.json, and the table of failures. All files are
// served from here, and URLs are relative, so that the page works offline and behind a proxy with any path prefix.
// GET /docs/{name}.md returns the guides in the folder docs as text.
import { globSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure, failureTable, type Reason, retryAdvice } from '../../../platform/errors.ts';
import { addPage, contentTypes, type StaticFile, sendStaticFile, toStaticFile } from '../../net/static-file.ts';

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  // Swagger UI's style sheet contains its icons.
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
const pageHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** Paths of the files by name below /docs/. The guides are missing if the installation has no folder docs. */
const findPaths = () =>
  new Map(
    [
      ...['swagger-ui-bundle.js', 'swagger-ui.css'].map((name) => import.meta.resolve(`swagger-ui-dist/${name}`)),
      ...['docs-page.js', 'docs-page.css'].map((name) => import.meta.resolve(`./${name}`)),
    ]
      .map((url) => fileURLToPath(url))
      .concat(globSync(join(fileURLToPath(new URL('../../../../docs', import.meta.url)), '*.md')))
      .map((path) => [basename(path), path]),
  );

export function addDocsPage(app: FastifyInstance): void {
  const files = new Map<string, StaticFile>();
  let paths: ReturnType<typeof findPaths> | undefined;
  const send = (request: FastifyRequest, reply: FastifyReply, name: string, read: () => string | Buffer) => {
    if (!files.has(name)) files.set(name, toStaticFile(contentTypes[extname(name)]!, read()));
    return sendStaticFile(request, reply, files.get(name)!);
  };
  addPage(app, '/docs', (request, reply) => send(request, reply.headers(pageHeaders), 'page.html', () => page));
  const handler = (request: FastifyRequest, reply: FastifyReply) => {
    paths ??= findPaths();
    const path = paths.get((request.params as { file: string }).file);
    if (path === undefined) throw new Failure('not_found');
    return send(request, reply, basename(path), () => readFileSync(path));
  };
  app.get('/docs/:file', handler);
}

/** Error replies in the form of RFC 9457 link to the rows. */
const failureRows = Object.entries(failureTable).map(
  ([reason, { status, code, sentence }]) =>
    `<tr id="${reason}"><th scope="row"><code>${reason}</code></th><td>${status}</td><td>${code}</td><td>${retryAdvice(reason as Reason)}</td><td>${sentence.replace(/`([^`]+)`/g, '<code>$1</code>')}</td></tr>`,
);

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sonant: reference</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/docs-page.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/docs-page.js" type="module"></script>
</head>
<body>
<nav aria-label="Pages"><a href="console">Console</a> <a href="openapi.json">openapi.json</a> <a href="#failures">Failures</a> <a href="docs/README.md">Guides</a></nav>
<div id="viewer"><noscript><p>The reference needs JavaScript; <a href="openapi.json">openapi.json</a> has the same content.</p></noscript></div>
<section id="failures" aria-labelledby="failures-title">
<h2 id="failures-title">Failures</h2>
<p>The response starts only when the first audio exists, so an error before that has its own status. If synthesis fails later, the transfer is aborted, so that it never looks complete. A client that accepts <code>application/problem+json</code> gets the form of RFC 9457. Over gRPC, the reason of the <code>google.rpc.ErrorInfo</code> is the error in upper case.</p>
<div class="wide" tabindex="0" role="region" aria-label="Table of failures"><table>
<thead><tr><th scope="col">error</th><th scope="col">status</th><th scope="col">gRPC</th><th scope="col">retryable</th><th scope="col">description</th></tr></thead>
<tbody>${failureRows.join('\n')}</tbody></table></div>
</section>
</body>
</html>
`;

// GET /docs: the REST and gRPC reference as one HTML page without scripts or third-party resources, rendered from the
// OpenAPI document and the proto comments. Its links are relative, so that they work behind a proxy with any path
// prefix.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { failureTable, type Reason, retryAdvice } from '../../errors.ts';
import { addPage } from '../../net/page-route.ts';
import { createDocument, sendDocument } from './documents.ts';
import { grpcServices, toGrpcSection, toMessages } from './grpc-section.ts';
import { addGuides } from './guides.ts';
import { code, escaped, phrase, prose } from './html-elements.ts';
import type { OpenApi } from './openapi-document.ts';
import { groupsOf } from './reference-model.ts';
import { toRestSection, toSchemas } from './rest-section.ts';

export function addDocsPage(app: FastifyInstance, readOpenApi: () => OpenApi): void {
  const style = readFileSync(new URL('./docs-page.css', import.meta.url), 'utf8');
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  const page = createDocument(() => toPage(readOpenApi(), style));
  const headers = {
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
  addPage(app, '/docs', (request, reply) =>
    sendDocument(request, reply.headers(headers), page(), 'text/html; charset=utf-8'),
  );
  addGuides(app, style, headers);
}

const toPage = (document: OpenApi, style: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(document.info.title)} ${escaped(document.info.version)}: reference</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#start">Skip to the reference</a>
<header><a class="brand" href="docs">Sonant</a> <span class="version">${escaped(document.info.version)}</span>
<nav aria-label="Parts"><a href="docs/README.md">Guides</a> <a href="#start">REST</a> <a href="#grpc">gRPC</a> <a href="#failures">Failures</a> <a href="openapi.json">openapi.json</a></nav></header>
<div class="page">
<details class="contents"><summary>Contents</summary>
<nav aria-label="Contents" tabindex="0">${toContents(document)}</nav></details>
<main id="start">
${toStart(document)}
${toRestSection(document)}
${toFailures()}
${toSchemas(document)}
${toGrpcStart()}
${toGrpcSection()}
${toMessages()}
</main>
</div>
</body>
</html>
`;

function toStart({ info, servers }: OpenApi): string {
  const hello = `curl '${servers[0].url}/api/audio/speech' \\
  -H "X-API-Key: $SONANT_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"voice_id":"clara","text":"Hello, world.","return_format":"buffer"}' \\
  -o hello.wav`;
  return `<section class="operation start"><div class="description">
<h1>${escaped(info.title)}</h1>
${prose(info.description)}
<p>The base URL is <code>${escaped(servers[0].url)}</code>. The same reference for programs is in <a href="openapi.json">openapi.json</a>; gRPC clients can use server reflection.</p>
</div><div class="examples">${code('Say hello', hello)}</div></section>`;
}

const toGrpcStart = () => `<section class="operation start" id="grpc"><div class="description">
<h2><a href="#grpc">gRPC</a></h2>
<p>The package <code>sonant.v1</code> is served over gRPC, and over Connect and gRPC-Web on the port of REST. Send the API key in the metadata <code>x-api-key</code>. Server reflection and <code>grpc.health.v1</code> are available. The same request gives the same bytes and the same failure as over REST.</p>
<p>Each failure has a gRPC status with a <code>google.rpc.ErrorInfo</code>, whose <code>reason</code> is an error of the <a href="#failures">table</a> in upper case.</p>
</div><div class="examples">${code('List the services', 'grpcurl -plaintext 127.0.0.1:50051 list')}</div></section>`;

function toFailures(): string {
  const rows = Object.entries(failureTable).map(
    ([reason, { status, code: rpc, sentence }]) =>
      `<tr id="${reason}"><th scope="row"><code>${reason}</code></th><td>${status}</td><td>${rpc}</td><td>${retryAdvice(reason as Reason)}</td><td>${phrase(sentence)}</td></tr>`,
  );
  return `<section class="group" id="failures"><h2><a href="#failures">Failures</a></h2>
<p>An error response has the body <a href="#schema-Failure">Failure</a>. A client that accepts <code>application/problem+json</code> gets the form of RFC 9457. The response starts only when the first audio exists, so an error before that has its own status. If synthesis fails later, the transfer is aborted, so that it never looks complete.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Table of failures"><table><thead><tr><th scope="col">error</th><th scope="col">status</th><th scope="col">gRPC</th><th scope="col">retryable</th><th scope="col">description</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div></section>`;
}

function toContents(document: OpenApi): string {
  const list = (title: string, href: string, links: readonly string[]) =>
    `<li><a href="${href}">${escaped(title)}</a>${links.length > 0 ? `<ul>${links.join('')}</ul>` : ''}</li>`;
  const groups = groupsOf(document).map(({ name, operations }) =>
    list(
      name,
      `#${name.toLowerCase()}`,
      operations.map(
        ({ method, operation }) =>
          `<li><a href="#${operation.operationId}">${escaped(operation.summary)} <span class="method ${method.toLowerCase()}">${method === 'DELETE' ? 'DEL' : method}</span></a></li>`,
      ),
    ),
  );
  const services = grpcServices.map(({ name, methods }) =>
    list(
      name,
      `#grpc-${name}`,
      methods.map((method) => `<li><a href="#grpc-${method.name}">${method.name}</a></li>`),
    ),
  );
  const more = [list('Failures', '#failures', []), list('Schemas', '#schemas', []), list('Headers', '#headers', [])];
  return `<p>REST</p><ul>${[...groups, ...more].join('\n')}</ul><p>gRPC</p><ul>${services.join('\n')}${list('Messages', '#grpc-messages', [])}</ul>`;
}

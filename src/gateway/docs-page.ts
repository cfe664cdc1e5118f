// GET /docs: the OpenAPI document as a page to read, with the table of failures. One file, no script, nothing from
// elsewhere; it follows the reader's light or dark.
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { failureTable } from '../errors.ts';
import type { DocumentedAnswer, DocumentedOperation, OpenApi } from './openapi.ts';
import type { Schema } from './operation.ts';

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
code, pre { font: 0.875em/1.45 ui-monospace, monospace; }
pre { background: var(--soft); padding: 0.75rem; border-radius: 6px; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; }
td, th { padding: 0.3rem 0.75rem 0.3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
details { border: 1px solid var(--line); border-radius: 6px; margin: 0.5rem 0; padding: 0.5rem 0.75rem; }
summary { cursor: pointer; } summary b { font: 600 0.875em ui-monospace, monospace; }
.scroll { overflow-x: auto; } :target { background: var(--soft); }
`;
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function addDocsPage(app: FastifyInstance, readOpenApi: () => OpenApi): void {
  let page: string | undefined;
  app.get('/docs', (_request, reply) => {
    page ??= toPage(readOpenApi());
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-cache',
      })
      .send(page);
  });
}

const escaped = (text: unknown) =>
  String(text).replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char]!);
/** Escaped, with `code` in backticks and paragraphs. */
const prose = (text: unknown) =>
  escaped(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll('\n\n', '<br>');
const table = (head: readonly string[], rows: readonly (readonly string[])[]) => {
  const cells = (row: readonly string[], tag: string) => row.map((cell) => `<${tag}>${cell}</${tag}>`).join('');
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n');
  return `<div class="scroll"><table><tr>${cells(head, 'th')}</tr>\n${body}</table></div>`;
};

function toPage(document: OpenApi): string {
  const { info, servers } = document as unknown as {
    info: { title: string; version: string; description: string };
    servers: [{ url: string }];
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const byTag = Map.groupBy(operations, ({ operation }) => operation.tags[0]!);
  const groups = [...byTag].map(
    ([tag, group]) => `<h2>${escaped(tag)}</h2>\n${group.map(toDetails(document)).join('\n')}`,
  );
  const failures = Object.entries(failureTable).map(([reason, { status, code, retryable, sentence }]) => [
    `<code id="${reason}">${reason}</code>`,
    String(status),
    code,
    retryable ? 'yes' : 'no',
    prose(sentence),
  ]);
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(info.title)} ${escaped(info.version)}</title><style>${style}</style>
<h1>${escaped(info.title)}</h1>
<p>${prose(info.description)} The same as a document for programs: <a href="/openapi.json">openapi.json</a>.</p>
<pre>curl ${escaped(servers[0].url)}/api/audio/speech -H "X-API-Key: $KEY" -H "Content-Type: application/json" \\
  -d '{"voice_id":"clara","text":"Hello, world.","return_format":"buffer"}' -o hello.wav</pre>
${groups.join('\n')}
<h2 id="failures">Failures</h2>
<p>Every reply that is no success has this body: <code>{"error","message","status","request_id"}</code>, and where they apply <code>details</code>, <code>required_scopes</code>, <code>retry_after</code>, <code>limit</code>, <code>actual</code>, <code>reason</code>.</p>
${table(['error', 'status', 'gRPC', 'try again', 'when'], failures)}
</html>
`;
}

const toDetails =
  (document: OpenApi) =>
  ({ method, path, operation }: { method: string; path: string; operation: DocumentedOperation }): string => {
    const { operationId, summary, description, parameters, requestBody } = operation;
    const parts = [`<summary><b>${method} ${escaped(path)}</b> ${prose(summary)}</summary>`];
    if (description) parts.push(`<p>${prose(description)}</p>`);
    if (parameters) {
      const rows = parameters.map(({ name, in: place, description: what }) => [
        `<code>${escaped(name)}</code>`,
        place,
        prose(what),
      ]);
      parts.push(table(['parameter', 'in', ''], rows));
    }
    for (const [type, { schema, examples = {} }] of Object.entries(requestBody?.content ?? {})) {
      parts.push(`<p><code>${escaped(type)}</code></p>`, propertiesOf(document, schema));
      parts.push(
        ...Object.values(examples as Record<string, { value: unknown }>).map(
          ({ value }) => `<pre>${escaped(JSON.stringify(value, null, 2))}</pre>`,
        ),
      );
    }
    const answers = Object.entries(operation.responses).map(([status, answer]) => {
      const { description: what, content, headers } = answerOf(document, answer);
      return [
        status,
        prose(what),
        Object.keys(content ?? {})
          .map(escaped)
          .join('<br>'),
        Object.keys(headers ?? {})
          .map(escaped)
          .join(', '),
      ];
    });
    parts.push(table(['status', '', 'body', 'headers'], answers));
    return `<details id="${escaped(operationId)}">${parts.join('\n')}</details>`;
  };

function propertiesOf(document: OpenApi, schema: Schema): string {
  const { properties = {}, required = [] } = resolve(document, schema) as {
    properties?: Record<string, Schema>;
    required?: string[];
  };
  const rows = Object.entries(properties).map(([name, { default: fallback, description, ...values }]) => [
    `<code>${escaped(name)}</code>${required.includes(name) ? ' *' : ''}`,
    escaped(valuesOf(resolve(document, values))),
    fallback === undefined ? '' : `<code>${escaped(fallback)}</code>`,
    prose(description ?? ''),
  ]);
  return table(['member', 'values', 'default', ''], rows);
}

function valuesOf({ type, enum: allowed, minimum, maximum }: Schema): string {
  if (Array.isArray(allowed)) return allowed.join(', ');
  return minimum === undefined ? [type].flat().join(' or ') : `${minimum} to ${maximum}`;
}

const answerOf = ({ components }: OpenApi, answer: DocumentedAnswer | { $ref: string }): DocumentedAnswer =>
  '$ref' in answer ? components.responses[answer.$ref.split('/').at(-1)!]! : answer;

/** What a reference to a component stands for. */
function resolve({ components }: OpenApi, schema: Schema): Schema {
  const name = /^#\/components\/schemas\/(\w+)$/.exec(String(schema.$ref))?.[1];
  return name === undefined ? schema : ((components as { schemas: Record<string, Schema> }).schemas[name] ?? schema);
}

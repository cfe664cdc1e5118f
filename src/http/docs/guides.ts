// GET /docs/{name}.md: the guides in the folder docs as HTML pages, so that a running service serves its own guides.
import { readdirSync, readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Marked } from 'marked';
import { Failure } from '../../errors.ts';
import { createDocument, sendDocument } from './documents.ts';
import { escaped } from './html-elements.ts';

const folder = new URL('../../../docs/', import.meta.url);

/** Headings get the anchors that GitHub gives them; screenshots are left out. */
const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      const anchor = text
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-');
      return `<h${depth} id="${escaped(anchor)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    image: () => '',
  },
});

/** Adds the guides. `headers` are the headers of the reference page, whose style the guides use. */
export function addGuides(app: FastifyInstance, style: string, headers: Readonly<Record<string, string>>): void {
  const documents = new Map(
    guideNames().map((name) => [
      name,
      createDocument(() => toPage(readFileSync(new URL(name, folder), 'utf8'), style)),
    ]),
  );
  const handler = (request: FastifyRequest, reply: FastifyReply) => {
    const document = documents.get((request.params as { guide: string }).guide);
    if (!document) throw new Failure('not_found');
    return sendDocument(request, reply.headers(headers), document(), 'text/html; charset=utf-8');
  };
  app.route({ method: ['GET', 'HEAD'], url: '/docs/:guide', handler });
}

/** File names of the guides; empty if the installation has no folder docs. */
function guideNames(): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.md'));
  } catch {
    return [];
  }
}

function toPage(markdown: string, style: string): string {
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? 'Guide';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Sonant</title>
<style>${style}</style>
</head>
<body>
<header><a class="brand" href="../docs">Sonant</a> <nav aria-label="Documentation"><a href="README.md">Guides</a> <a href="../docs">Reference</a> <a href="../console">Console</a></nav></header>
<main class="guide">
${marked.parse(markdown, { async: false })}</main>
</body>
</html>
`;
}

// Runs before each file of tests: whatever a test is answered by the service over HTTP is held to the OpenAPI document, as
// docs/reference has it. Replies come as they would without; what is wrong with them fails the test when it is over.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, expect } from 'vitest';
import type { OpenApi } from '../src/gateway/openapi.ts';
import type { OpenApiCheck, Received } from './gateway/openapi-check.ts';

const faults: string[] = [];
let check: Promise<OpenApiCheck> | undefined;

async function openCheck(): Promise<OpenApiCheck> {
  const file = join(import.meta.dirname, '..', 'docs', 'reference', 'openapi.json');
  const document = JSON.parse(readFileSync(file, 'utf8')) as OpenApi;
  const { createOpenApiCheck } = await import('./gateway/openapi-check.ts');
  return createOpenApiCheck(document);
}

const ask = globalThis.fetch;
globalThis.fetch = async (asked, init) => {
  const answer = await ask(asked, init);
  // Every reply of the service has this header, and no other server's.
  if (!answer.headers.has('x-api-version')) return answer;
  check ??= openCheck();
  const { method } = new Request(asked, { method: init?.method ?? 'GET' });
  const { pathname: path } = new URL(answer.url);
  const received = { method, path, status: answer.status, headers: answer.headers };
  const type = answer.headers.get('content-type') ?? '';
  const body = /^application\/(problem\+)?json/.test(type) ? await textOf(answer) : undefined;
  faults.push(...(await check).check(received, body));
  if (type === 'text/event-stream') watchEvents(answer, received, await check);
  return answer;
};

/** The body, which is left to be read again; nothing if it does not come whole. */
const textOf = (answer: Response) =>
  answer
    .clone()
    .text()
    .catch(() => undefined);

/** Looks at the events as they are read, however they are. */
function watchEvents(answer: Response, received: Received, { checkEvents }: OpenApiCheck): void {
  const decoder = new TextDecoder();
  let rest = '';
  const look = (text: string) => {
    rest += text;
    const end = rest.lastIndexOf('\n\n') + 2;
    if (end < 2) return;
    faults.push(...checkEvents(received, rest.slice(0, end)));
    rest = rest.slice(end);
  };
  const { body } = answer;
  let watched: Response['body'];
  const readText = answer.text.bind(answer);
  const text = async () => {
    const all = await readText();
    look(all);
    return all;
  };
  Object.defineProperties(answer, {
    text: { value: text },
    body: {
      get: () =>
        (watched ??= body!.pipeThrough(
          new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
            transform(piece, controller) {
              look(decoder.decode(piece, { stream: true }));
              controller.enqueue(piece);
            },
          }),
        )),
    },
  });
}

const settle = () => expect(faults.splice(0), 'what /openapi.json says otherwise').toEqual([]);
afterEach(settle);
afterAll(settle);

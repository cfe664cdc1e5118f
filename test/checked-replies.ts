// Validates every response that a test gets from the service over HTTP against docs/openapi.json. Runs before each test
// file. Responses are passed on unchanged; a mismatch fails the test when it finishes.
import { afterAll, afterEach, expect } from 'vitest';
import type { Received } from './transports/http/openapi-check.ts';

interface Reply {
  received: Received;
  /** The JSON body; undefined if it is incomplete. */
  body: Promise<string | undefined>;
  /** The events that were read. */
  events: string;
}

let replies: Reply[] = [];

/** APIs of other vendors, which have their own documentation. */
const vendorPath =
  /^\/(?:tts\/|access-token|voices|v1\/text-to-(?:speech|dialogue)|v1\/pronunciation-dictionaries|v1\/voices|v1\/user|v1\/single-use-token|v2|audio\/speech$|models$)/;

const ask = globalThis.fetch;
globalThis.fetch = async (asked, init) => {
  const answer = await ask(asked, init);
  // Only replies from the service have this header.
  if (!answer.headers.has('x-api-version')) return answer;
  const method = (init?.method ?? (asked instanceof Request ? asked.method : 'GET')).toUpperCase();
  const { pathname: path } = new URL(answer.url);
  const sent = new Headers(init?.headers ?? (asked instanceof Request ? asked.headers : undefined));
  if (vendorPath.test(path) || sent.has('xi-api-key')) return answer;
  const received = { method, path, status: answer.status, headers: answer.headers };
  const type = answer.headers.get('content-type') ?? '';
  const isJson = /^application\/(problem\+)?json/.test(type);
  const text = () => answer.clone().text();
  const body = isJson ? text().catch(() => undefined) : Promise.resolve(undefined);
  const reply: Reply = { received, body, events: '' };
  replies.push(reply);
  if (type === 'text/event-stream') watchEvents(answer, reply);
  return answer;
};

/** Checks the events as they are read. */
function watchEvents(answer: Response, reply: Reply): void {
  const decoder = new TextDecoder();
  const { body } = answer;
  const readText = answer.text.bind(answer);
  const text = async () => {
    reply.events = await readText();
    return reply.events;
  };
  let watched: Response['body'];
  const watch = () =>
    body!.pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(piece, controller) {
          reply.events += decoder.decode(piece, { stream: true });
          controller.enqueue(piece);
        },
      }),
    );
  const get = () => {
    watched ??= watch();
    return watched;
  };
  Object.defineProperties(answer, { text: { value: text }, body: { get } });
}

async function settle(): Promise<void> {
  if (replies.length === 0) return;
  const checked = replies;
  replies = [];
  const { openDocumentCheck } = await import('./transports/http/openapi-check.ts');
  const { check: checkReply, checkEvents } = openDocumentCheck();
  const faults = new Set<string>();
  for (const { received, body, events } of checked) {
    for (const fault of checkReply(received, await body)) faults.add(fault);
    const whole = events.slice(0, events.lastIndexOf('\n\n') + 2);
    if (whole.length > 2) for (const fault of checkEvents(received, whole)) faults.add(fault);
  }
  const hint = 'npx vitest run test/transports/http/openapi.test.ts -u writes docs/openapi.json anew';
  expect([...faults], `what docs/openapi.json says otherwise; ${hint}`).toEqual([]);
}
afterEach(settle);
afterAll(async () => {
  // The next file in this process begins with the original.
  globalThis.fetch = ask;
  await settle();
});

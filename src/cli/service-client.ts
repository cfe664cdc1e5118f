// Calls from the command line to a running service: its address and key, requests, event streams and retries. An error
// reply becomes a Failure and is printed like a local failure.

import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { firstKeyFileOf } from '../access/first-key.ts';
import { Failure, type FailureFacts, failureTable, type Reason } from '../errors.ts';
import { isLoopbackUrl } from '../net/client-addresses.ts';
import { reasonOf } from '../runtime/system-errors.ts';
import { CommandError, type CommandLine, UsageError } from './command.ts';

/** Returns the URL without a trailing slash. */
export function parseServiceUrl(given: string): string {
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new UsageError(`${given} is not a URL such as http://127.0.0.1:8080`);
  return given.replace(/\/+$/, '');
}

/**
 * Finds the key in the flag, the environment or the data folder. The key in the data folder is sent to this machine
 * only.
 */
export async function findServiceKey(
  given: string | undefined,
  url: string,
  { loadConfig }: Pick<CommandLine, 'loadConfig'>,
): Promise<string> {
  const key = given ?? process.env.SONANT_API_KEY;
  if (key) return key;
  if (!isLoopbackUrl(url)) throw new UsageError('an API key is needed: add --key KEY, or set SONANT_API_KEY');
  const file = firstKeyFileOf(loadConfig());
  return readFile(file, 'utf8').then(
    (text) => text.trim(),
    () => {
      throw new UsageError(`an API key is needed, and ${file} has none: add --key KEY, or set SONANT_API_KEY`);
    },
  );
}

/** Thrown if the service, or a proxy in front of it, does not answer. */
export class Unreachable extends CommandError {}

interface Sending {
  method?: string;
  /** The body of the request. Bytes are sent unchanged, anything else as JSON. */
  body?: object | Uint8Array<ArrayBuffer>;
  headers?: Readonly<Record<string, string>>;
}

export type ServiceClient = ReturnType<typeof createServiceClient>;

function unreadable(url: string, error: unknown): Unreachable {
  const { cause } = error as Error;
  return new Unreachable(`cannot reach ${url}: ${reasonOf(cause ?? error)}`);
}

export function createServiceClient(url: string, apiKey: string, signal: AbortSignal) {
  const get = async (address: string, init: RequestInit) => {
    const response = await fetch(address, { ...init, signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw unreadable(url, error);
    });
    if (response.ok) return response;
    throw await toFault(url, response);
  };
  /** Sends a request. Rejects with the failure from the service's reply. */
  const send = (path: string, { method, body, headers = {} }: Sending = {}): Promise<Response> => {
    const isBytes = body instanceof Uint8Array;
    const type: Record<string, string> = body && !isBytes ? { 'content-type': 'application/json' } : {};
    return get(`${url}${path}`, {
      method: method ?? (body ? 'POST' : 'GET'),
      headers: { ...type, ...headers, 'x-api-key': apiKey },
      // A redirect could send the key elsewhere.
      redirect: 'error',
      ...(body && { body: isBytes ? body : JSON.stringify(body) }),
    });
  };
  return {
    url,
    send,
    async sendForJson<Answer>(path: string, sending?: Sending): Promise<Answer> {
      const response = await send(path, sending);
      return (await response.json().catch((error) => {
        signal.throwIfAborted();
        throw unreadable(url, error);
      })) as Answer;
    },
    /** Opens a link of the service at this byte offset. Links need no key. */
    open: (link: string, fromByte: number): Promise<Response> =>
      get(link, { headers: fromByte > 0 ? { range: `bytes=${fromByte}-` } : {} }),
  };
}

interface ErrorReply {
  error: Reason;
  message: string;
  details?: FailureFacts['details'];
  retry_after?: number;
  limit?: number;
  reason?: NonNullable<FailureFacts['limitReason']>;
}

async function toFault(url: string, response: Response): Promise<Error> {
  const reply = (await response.json().catch(() => ({}))) as Partial<ErrorReply>;
  const { error, message, details, retry_after, limit, reason } = reply;
  if (error !== undefined && Object.hasOwn(failureTable, error))
    return new Failure(error, {
      message: `${url} replied: ${message ?? failureTable[error].sentence}`,
      ...(details && { details }),
      ...(retry_after !== undefined && { retryAfterSeconds: retry_after }),
      ...(limit !== undefined && { limit }),
      ...(reason && { limitReason: reason }),
    });
  const text = `${url} returned status ${response.status}, which is not a reply of Sonant`;
  return [502, 503, 504].includes(response.status) ? new Unreachable(text) : new CommandError(text);
}

/** The bytes of a reply. Throws `Unreachable` if the connection breaks. */
export async function* readReply({ body }: Response, { url }: Pick<ServiceClient, 'url'>, signal: AbortSignal) {
  const reader: ReadableStreamDefaultReader<Uint8Array> = body!.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        signal.throwIfAborted();
        throw unreadable(url, error);
      });
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** Reads Server-Sent Events as Sonant writes them. An incomplete event is dropped. */
export async function* readEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<{ id: string; data: string }> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of bytes) {
    const blocks = (rest + decoder.decode(piece, { stream: true })).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => toField(line)));
      const data = fields.get('data');
      if (data !== undefined) yield { id: fields.get('id') ?? '', data };
    }
  }
}

function toField(line: string): [name: string, value: string] {
  const at = line.indexOf(':');
  return [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')];
}

const waitMs = { first: 500, max: 10_000 };

interface Retries {
  signal: AbortSignal;
  /** Time without progress after which the last error is thrown. */
  patienceMs: number;
  mayPass(error: unknown): boolean;
  /** Called once for each series of failures. */
  onWait?(error: Error): void;
}

/** Repeats `work` while it fails with temporary errors. `work` calls `noteProgress` to restart the time limit. */
export async function withRetries<Result>(
  { signal, patienceMs, mayPass, onWait }: Retries,
  work: (noteProgress: () => void) => Promise<Result>,
): Promise<Result> {
  let progressMs = performance.now();
  for (let tries = 0; ; tries++) {
    try {
      return await work(() => {
        progressMs = performance.now();
        tries = 0;
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!mayPass(error) || performance.now() - progressMs > patienceMs) throw error;
      if (tries === 0) onWait?.(error as Error);
      const statedMs = error instanceof Failure ? (error.facts.retryAfterSeconds ?? 0) * 1000 : 0;
      await sleep(Math.min(waitMs.max, Math.max(statedMs, waitMs.first * 2 ** tries)), undefined, { signal });
    }
  }
}

/** Whether a retry may succeed soon. An exhausted monthly character quota does not recover in time. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Failure && failureTable[error.reason].retryable && error.facts.limitReason !== 'characters';

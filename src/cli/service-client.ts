// Calls of a running service from the command line. An error reply is the Failure that it states, so that it is told as one
// of this machine is; a service that does not answer is `Unreachable`, which may pass.
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, type FailureFacts, failureTable, type Reason } from '../errors.ts';
import { CommandError } from './command.ts';

/** The service does not answer, or what stands before it does in its place. */
export class Unreachable extends CommandError {}

export interface Sending {
  method?: string;
  /** Sent as JSON, if it is no bytes. */
  body?: object | Uint8Array<ArrayBuffer>;
  headers?: Readonly<Record<string, string>>;
}

export interface ServiceClient {
  /** Without a slash at its end. */
  url: string;
  /** Fails with the failure that the service states. */
  send(path: string, sending?: Sending): Promise<Response>;
  sendForJson<Answer>(path: string, sending?: Sending): Promise<Answer>;
  /** A link of the service's, which needs no key; from this byte on. */
  open(link: string, fromByte: number): Promise<Response>;
}

function unreadable(url: string, error: unknown): Unreachable {
  const { message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
  return new Unreachable(`cannot reach ${url}: ${cause?.message || cause?.code || message}`);
}

export function createServiceClient(url: string, apiKey: string, signal: AbortSignal): ServiceClient {
  const get = async (address: string, init: RequestInit) => {
    const response = await fetch(address, { ...init, signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw unreadable(url, error);
    });
    if (response.ok) return response;
    throw await toFault(url, response);
  };
  const send: ServiceClient['send'] = (path, { method, body, headers = {} } = {}) => {
    const isBytes = body instanceof Uint8Array;
    const type: Record<string, string> = body && !isBytes ? { 'content-type': 'application/json' } : {};
    return get(`${url}${path}`, {
      method: method ?? (body ? 'POST' : 'GET'),
      headers: { ...type, ...headers, 'x-api-key': apiKey },
      // The key goes nowhere else.
      redirect: 'error',
      ...(body && { body: isBytes ? body : JSON.stringify(body) }),
    });
  };
  return {
    url,
    send,
    async sendForJson<Answer>(path: string, sending?: Sending) {
      const response = await send(path, sending);
      return (await response.json().catch((error) => {
        signal.throwIfAborted();
        throw unreadable(url, error);
      })) as Answer;
    },
    open: (link, fromByte) => get(link, { headers: fromByte > 0 ? { range: `bytes=${fromByte}-` } : {} }),
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
      message: `${url} answers: ${message ?? failureTable[error].sentence}`,
      ...(details && { details }),
      ...(retry_after !== undefined && { retryAfterSeconds: retry_after }),
      ...(limit !== undefined && { limit }),
      ...(reason && { limitReason: reason }),
    });
  const text = `${url} answers ${response.status}, which is no reply of Sonant`;
  return [502, 503, 504].includes(response.status) ? new Unreachable(text) : new CommandError(text);
}

/** The bytes of a reply; one that breaks off is `Unreachable`. */
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

const waitMs = { first: 500, max: 10_000 };

export interface Patience {
  signal: AbortSignal;
  /** Since the last time that something went on. */
  patienceMs: number;
  mayPass(error: unknown): boolean;
  /** The first time in a row. */
  onWait?(error: Error): void;
}

/** Repeats the work while it fails with what may pass. It says when it goes on, which begins the patience anew. */
export async function withPatience<Result>(
  { signal, patienceMs, mayPass, onWait }: Patience,
  work: (goOn: () => void) => Promise<Result>,
): Promise<Result> {
  let goneOnMs = performance.now();
  for (let tries = 0; ; tries++) {
    try {
      return await work(() => {
        goneOnMs = performance.now();
        tries = 0;
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!mayPass(error) || performance.now() - goneOnMs > patienceMs) throw error;
      if (tries === 0) onWait?.(error as Error);
      const toldMs = error instanceof Failure ? (error.facts.retryAfterSeconds ?? 0) * 1000 : 0;
      await sleep(Math.min(waitMs.max, Math.max(toldMs, waitMs.first * 2 ** tries)), undefined, { signal });
    }
  }
}

/** A refusal that another try may not meet; the characters of a month come back with the next only. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Failure && failureTable[error.reason].retryable && error.facts.limitReason !== 'characters';

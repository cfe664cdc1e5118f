// Sends requests as a client that checks its answers, over HTTP and gRPC: failures are either documented or wrong;
// bodies are read at a given speed and compared byte for byte.
import { setTimeout as sleep } from 'node:timers/promises';
import grpc from '@grpc/grpc-js';
import { explain } from '../transports/rpc/grpc-client.ts';

const { GIVE_UP_SECONDS = '90' } = process.env;
/** Longer than anything may take on a machine that is not overloaded. */
export const giveUpMs = Number(GIVE_UP_SECONDS) * 1000;

export interface Outcome {
  beganMs: number;
  endedMs: number;
  /** The longest time without data. */
  silentMs: number;
  firstMs: number | undefined;
  /** Bytes of audio that were compared and found right. */
  bytes: number;
  /** "ok", or what happened instead. */
  outcome: string;
}

/** A failure as the caller sees it. */
export class Seen extends Error {}

export class Watch {
  readonly beganMs = performance.now();
  silentMs = 0;
  /** Time until the first data. For a stream, this is the first audio, because the headers wait for it. */
  firstMs: number | undefined;
  /** Bytes of audio that were compared and found right. */
  bytes = 0;
  #lastMs = this.beganMs;

  heard(): void {
    const now = performance.now();
    this.firstMs ??= now - this.beganMs;
    this.silentMs = Math.max(this.silentMs, now - this.#lastMs);
    this.#lastMs = now;
  }

  async outcomeOf(work: (watch: this) => Promise<void>): Promise<Outcome> {
    const outcome = await work(this).then(
      () => 'ok',
      (error: Error) => (error instanceof Seen ? error.message : `WRONG: ${error.stack ?? error}`),
    );
    this.heard();
    const { beganMs, silentMs, firstMs, bytes } = this;
    return { beganMs, endedMs: performance.now(), silentMs, firstMs, bytes, outcome };
  }

  /** Called after the client's own pauses. */
  rested(): void {
    this.#lastMs = performance.now();
  }
}

export class RequestClient {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  post(path: string, body: object, watch: Watch, headers: Record<string, string> = {}): Promise<Response> {
    const all = { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache', ...headers };
    return this.ask(path, { method: 'POST', headers: all, body: JSON.stringify(body) }, watch);
  }

  get(path: string, watch: Watch): Promise<Response> {
    return this.ask(path, {}, watch);
  }

  async ask(path: string, init: RequestInit, watch: Watch): Promise<Response> {
    const headers = { 'X-API-Key': this.#key, ...(init.headers as Record<string, string>) };
    const signal = AbortSignal.timeout(giveUpMs);
    const answer = await fetch(this.#url + path, { ...init, headers, signal }).catch((error) => {
      throw error.name === 'TimeoutError' ? new Error('nothing for ever') : new Seen('no answer');
    });
    if (answer.ok) {
      watch.heard();
      return answer;
    }
    const text = (await answer.text().catch(() => '')) || '{}';
    const reason = reasonIn(toObject(text));
    if (reason === undefined) throw new Error(`${answer.status}, and nobody can read why: ${text}`);
    const isAllowed = answer.status >= 429 || reason === 'stream_expired';
    if (!isAllowed) throw new Error(`${path}: ${answer.status} ${reason} ${text}`);
    throw new Seen(`${answer.status} ${reason}`);
  }
}

/** The reason for a refusal, in the format of Sonant or of a vendor. */
function reasonIn(fields: Record<string, unknown>): string | undefined {
  const { error, error_code, detail } = fields as {
    error?: string | { code?: string };
    error_code?: string;
    detail?: { status?: string };
  };
  return error_code ?? detail?.status ?? (typeof error === 'object' ? error.code : error);
}

function toObject(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

export async function readAll(
  answer: Response,
  watch: Watch,
  bytesPerSecond = Number.POSITIVE_INFINITY,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const pace = new Pace(watch, bytesPerSecond);
  try {
    for await (const piece of answer.body!) {
      watch.heard();
      pieces.push(piece);
      await pace.keep(piece.length);
    }
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') throw new Error('nothing for ever');
    throw new Seen('broken');
  }
  return Buffer.concat(pieces);
}

/** Limits the reading speed. */
export class Pace {
  readonly #watch: Watch;
  readonly #bytesPerSecond: number;
  readonly #sinceMs = performance.now();
  #bytes = 0;

  constructor(watch: Watch, bytesPerSecond: number) {
    this.#watch = watch;
    this.#bytesPerSecond = bytesPerSecond;
  }

  async keep(byteCount: number): Promise<void> {
    this.#bytes += byteCount;
    const early = (this.#bytes / this.#bytesPerSecond) * 1000 - (performance.now() - this.#sinceMs);
    if (early < 1) return;
    await sleep(early);
    this.#watch.rested();
  }
}

/** Converts the failure of a gRPC call. */
export async function seen<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => {
    if (error.metadata === undefined) throw error;
    const { code, info } = explain(error);
    if (error.code === grpc.status.DEADLINE_EXCEEDED && info === undefined) throw new Error('nothing for ever');
    // A failure without a reason is not from the service, but from the balancer or this client.
    throw new Seen(`${code} ${info?.reason.toLowerCase() ?? `(${error.details})`}`);
  });
}

/** `right` has the expected bytes of each version that may have answered. */
export function same(heard: Buffer, right: Buffer | readonly Buffer[], watch: Watch): void {
  const all = Buffer.isBuffer(right) ? [right] : right;
  if (all.some((each) => heard.equals(each))) {
    watch.bytes += heard.length;
    return;
  }
  const at = heard.findIndex((byte, i) => byte !== all[0]![i]);
  throw new Error(`${heard.length} bytes in place of ${all[0]!.length}, other from ${at} on`);
}

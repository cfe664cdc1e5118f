// Sends a GET with Node's own client, through the proxies in the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY).
// Follows redirects to the same host and to public addresses over https, and gives up if nothing arrives for a while.
// Node's fetch cannot set a proxy within a process, and gives no reason when a transfer is interrupted.
import { lookup as lookUp } from 'node:dns';
import { Agent as HttpAgent, get as httpGet, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, get as httpsGet } from 'node:https';
import type { LookupFunction } from 'node:net';
import { Failure } from '../../platform/errors.ts';
import { createOutboundTargets, hostOf, lookupTo } from '../../platform/net/outbound-targets.ts';
import { cleanText } from '../../platform/net/upstream-answer.ts';
import { PushQueue } from '../../platform/runtime/push-queue.ts';

const redirectsMax = 10;
const redirectStatus = [301, 302, 303, 307, 308];
/** How long the headers of a response may take, as a multiple of the stall time, even if data keeps arriving. */
const answerStalls = 3;
const userAgent = 'sonant';

interface GetOptions {
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** Longest time without any data. */
  stallMs: number;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** All data that arrives, even if the transfer is interrupted later. */
  body: AsyncIterable<Buffer>;
  /** The caller must always call this. */
  close(): void;
}

/** Returns the response after redirects, whatever its status. */
export async function get(url: string, options: GetOptions): Promise<Answer> {
  const seen: string[] = [];
  const targets = createOutboundTargets({ allow: [hostOf(new URL(url))], allowedIn: 'the configured host' });
  /** Checks the addresses of a redirect's host. The host may instead be a proxy, which resolves names itself. */
  const lookup: LookupFunction = (host, ...rest) =>
    (host === next.hostname ? lookupTo(() => targets.addressesOf(next)) : lookUp)(host, ...rest);
  let next = new URL(url);
  for (;;) {
    if (seen.includes(next.href)) throw unreachable(`${url} redirects to itself`);
    seen.push(next.href);
    if (seen.length > redirectsMax + 1) throw unreachable(`${url} redirects more than ${redirectsMax} times`);
    const answer = await getOnce(next, options, seen.length > 1 ? lookup : undefined);
    const { location } = answer.headers;
    if (!redirectStatus.includes(answer.status) || location === undefined) return answer;
    answer.close();
    const target = URL.parse(location, next.href);
    const isSafe = target?.protocol === 'https:' || next.protocol === 'http:';
    if (!target || !isSafe || targets.faultOf(target.href) !== undefined)
      throw unreachable(`${url} redirects to an address that is not allowed: ${cleanText(location)}`);
    next = target;
  }
}

export const unreachable = (message: string, cause?: unknown): Failure =>
  new Failure('engine_unavailable', { message }, cause);

function getOnce(url: URL, { headers, signal, stallMs }: GetOptions, lookup?: LookupFunction): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const isSecure = url.protocol === 'https:';
  const agentOptions = { proxyEnv: process.env };
  let answered: IncomingMessage | undefined;
  const request = (isSecure ? httpsGet : httpGet)(
    url,
    {
      agent: isSecure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions),
      headers: { 'User-Agent': userAgent, 'Accept-Encoding': 'identity', ...headers },
      signal,
      lookup,
    },
    (message) => {
      clearTimeout(late);
      answered = message;
      resolve(toAnswer(message));
    },
  );
  const answerMs = answerStalls * stallMs;
  const giveUp = () => request.destroy(new Error(`it did not answer within ${Math.ceil(answerMs / 1000)} s`));
  const late = setTimeout(giveUp, answerMs);
  request.once('close', () => clearTimeout(late));
  // The timeout applies between any two bytes, and while connecting.
  const stalled = new Error(`nothing arrived for ${Math.ceil(stallMs / 1000)} s`);
  request.setTimeout(stallMs, () => (answered ?? request).destroy(stalled));
  request.once('error', reject);
  return promise;
}

/** Limit on unread data in memory. Further data stays in the connection until it is read. */
const aheadBytesMax = 4 * 2 ** 20;

/** Listens from the first byte, because Node's stream drops unread data if a transfer is interrupted. */
function toAnswer(message: IncomingMessage): Answer {
  const queue = new PushQueue<Buffer>();
  let ahead = 0;
  message.on('data', (chunk: Buffer) => {
    queue.push(chunk);
    ahead += chunk.length;
    if (ahead > aheadBytesMax) message.pause();
  });
  message.once('end', () => queue.end());
  message.on('error', (error) => queue.fail(error));
  message.once('close', () => queue.fail(new Error('the connection was closed')));
  async function* read(): AsyncGenerator<Buffer> {
    for await (const chunk of queue.pull()) {
      ahead -= chunk.length;
      if (ahead <= aheadBytesMax) message.resume();
      yield chunk;
    }
  }
  return { status: message.statusCode!, headers: message.headers, body: read(), close: () => void message.destroy() };
}

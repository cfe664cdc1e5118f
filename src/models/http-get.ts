// One GET with Node's own client: through the proxies that the environment names (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), after
// redirects, and given up when nothing arrives for a while. fetch of Node takes no proxy inside a process, and says of a
// broken transfer only that it failed.
import { Agent as HttpAgent, get as httpGet, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, get as httpsGet } from 'node:https';
import { Failure } from '../errors.ts';

const redirectsMax = 10;
const redirectStatus = [301, 302, 303, 307, 308];
const userAgent = 'sonant';

export interface GetOptions {
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** How long nothing may arrive. */
  stallMs: number;
}

/** The answer after redirects, whatever its status; its body must be read or destroyed. */
export async function get(url: string, options: GetOptions): Promise<IncomingMessage> {
  const seen: string[] = [];
  for (let next = new URL(url); ; ) {
    if (seen.includes(next.href)) throw unreachable(`${url} redirects in a circle`);
    seen.push(next.href);
    if (seen.length > redirectsMax + 1) throw unreachable(`${url} redirects more than ${redirectsMax} times`);
    const answer = await getOnce(next, options);
    const { location } = answer.headers;
    if (!redirectStatus.includes(answer.statusCode!) || location === undefined) return answer;
    answer.destroy();
    const target = URL.canParse(location, next.href) ? new URL(location, next.href) : undefined;
    const isSafe = target?.protocol === 'https:' || (target?.protocol === 'http:' && next.protocol === 'http:');
    if (!target || !isSafe)
      throw unreachable(`${url} redirects to where nothing is fetched from: ${location.slice(0, 200)}`);
    next = target;
  }
}

export const unreachable = (message: string, cause?: unknown): Failure =>
  new Failure('engine_unavailable', { message }, cause);

function getOnce(url: URL, { headers, signal, stallMs }: GetOptions): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isSecure = url.protocol === 'https:';
  const agentOptions = { proxyEnv: process.env };
  const request = (isSecure ? httpsGet : httpGet)(
    url,
    {
      agent: isSecure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions),
      headers: { 'User-Agent': userAgent, 'Accept-Encoding': 'identity', ...headers },
      signal,
    },
    resolve,
  );
  // Between any two bytes, from the connection on.
  request.setTimeout(stallMs, () => request.destroy(new Error(`nothing arrived for ${Math.ceil(stallMs / 1000)} s`)));
  request.once('error', reject);
  return promise;
}

// One attempt: a POST to one checked address, with the name of the host in TLS and in the Host header. No proxy, no redirect, no
// connection kept; of the answer only the status and Retry-After are read.
import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';

export interface PostRequest {
  url: URL;
  /** The address to connect to. */
  address: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  signal: AbortSignal;
  /** Certificates to trust instead of the usual ones. */
  ca?: string | undefined;
}

export interface PostAnswer {
  status: number;
  retryAfter: string | undefined;
}

const answerHeadBytesMax = 16 * 1024;

export function postMessage({ url, address, headers, body, signal, ca }: PostRequest): Promise<PostAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<PostAnswer>();
  const family = isIP(address);
  const lookup: LookupFunction = (_, { all }, done) =>
    all ? done(null, [{ address, family }]) : done(null, address, family);
  const options: RequestOptions = {
    method: 'POST',
    // An agent of its own, which takes no proxy from the environment.
    agent: false,
    lookup,
    maxHeaderSize: answerHeadBytesMax,
    headers: { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' },
    signal,
  };
  const isSecure = url.protocol === 'https:';
  const request = isSecure ? httpsRequest(url, { ...options, ...(ca && { ca }) }) : httpRequest(url, options);
  request.on('error', reject);
  // A reply without a response, such as 101 Switching Protocols, ends the connection without an error.
  request.once('close', () => reject(new Error('the connection was closed without an answer')));
  request.once('response', (answer) => {
    resolve({ status: answer.statusCode!, retryAfter: answer.headers['retry-after'] });
    answer.destroy();
    request.destroy();
  });
  request.end(body);
  return promise;
}

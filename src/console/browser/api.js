// The service, as the pages ask it: with the key, from wherever the console itself came. What it refuses is thrown as a
// Refusal, in its own words.
/** @import { FailureBody } from './wire.d.ts' */

/** What the service said in place of an answer. */
export class Refusal extends Error {
  /** @param {FailureBody} body */
  constructor(body) {
    const faults = (body.details ?? []).map(({ field, message }) => `${field} ${message}`);
    super(faults.length > 0 ? `${body.message} ${faults.join('; ')}.` : body.message);
    this.reason = body.error;
    this.status = body.status;
    this.requestId = body.request_id;
    this.retryAfterSeconds = body.retry_after;
    this.details = body.details ?? [];
  }
}

/**
 * @typedef {object} Asked
 * @property {string} [method] Usually GET, or POST where there is a body.
 * @property {Record<string, string | number | undefined>} [query]
 * @property {unknown} [body] Sent as JSON.
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 *
 * @typedef {object} Upload
 * @property {(share: number) => void} [onProgress] From 0 to 1.
 * @property {AbortSignal} [signal]
 */

/** Where the service is: the console stands right below it. */
export const serviceUrl = new URL('.', document.baseURI).href.replace(/\/$/, '');

/** @typedef {ReturnType<typeof createApi>} Api */

/**
 * @param {string} apiKey
 * @param {(refusal: Refusal) => void} [onRefusedKey] Told when the key itself is refused.
 */
export function createApi(apiKey, onRefusedKey = () => {}) {
  /** @param {FailureBody} body */
  const refuse = (body) => {
    const refusal = new Refusal(body);
    if (refusal.reason === 'invalid_api_key') onRefusedKey(refusal);
    return refusal;
  };

  /**
   * The reply, once it is known to be a success.
   * @param {string} path Such as `/api/voices`.
   * @param {Asked} [asked]
   */
  async function send(path, { method, query = {}, body, headers = {}, signal } = {}) {
    const hasBody = body !== undefined;
    const reply = await fetch(toUrl(path, query), {
      method: method ?? (hasBody ? 'POST' : 'GET'),
      headers: { 'X-API-Key': apiKey, ...(hasBody && { 'Content-Type': 'application/json' }), ...headers },
      body: hasBody ? JSON.stringify(body) : null,
      credentials: 'omit',
      ...(signal && { signal }),
    }).catch((error) => {
      throw signal?.aborted ? signal.reason : unreachable(error);
    });
    if (!reply.ok) throw refuse(await toFailure(reply));
    return reply;
  }

  return {
    send,

    /**
     * What it answers, as JSON; nothing where the answer is empty.
     * @param {string} path
     * @param {Asked} [asked]
     * @returns {Promise<any>}
     */
    async ask(path, asked) {
      const reply = await send(path, asked);
      return reply.status === 204 ? undefined : reply.json();
    },

    /**
     * All pages of a list, as one.
     * @param {string} path
     * @param {string} member What the list is called: `voices`.
     * @param {Asked} [asked]
     * @returns {Promise<any[]>}
     */
    async list(path, member, asked = {}) {
      const all = [];
      for (let cursor = ''; cursor !== null; ) {
        const query = { limit: 1000, ...asked.query, ...(cursor && { cursor }) };
        const page = await (await send(path, { ...asked, query })).json();
        all.push(...page[member]);
        cursor = page.next_cursor;
      }
      return all;
    },

    /**
     * Sends a form, telling how far it is.
     * @param {string} path
     * @param {FormData} form
     * @param {Upload} [upload]
     * @returns {Promise<any>}
     */
    upload(path, form, { onProgress, signal } = {}) {
      const { promise, resolve, reject } = Promise.withResolvers();
      // `fetch` does not say how much of a body has left.
      const request = new XMLHttpRequest();
      request.open('POST', toUrl(path, {}));
      request.setRequestHeader('X-API-Key', apiKey);
      request.responseType = 'json';
      request.upload.addEventListener('progress', ({ loaded, total }) => onProgress?.(loaded / total));
      request.addEventListener('load', () => {
        const { status, response } = request;
        if (status < 300) resolve(response);
        else reject(refuse(response ?? noBody(status)));
      });
      request.addEventListener('error', () => reject(unreachable()));
      request.addEventListener('abort', () => reject(signal?.reason));
      signal?.addEventListener('abort', () => request.abort());
      request.send(form);
      return promise;
    },
  };
}

/**
 * @param {string} path
 * @param {Record<string, string | number | undefined>} query
 */
function toUrl(path, query) {
  const url = new URL(serviceUrl + path);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url.href;
}

/** @param {unknown} [cause] */
const unreachable = (cause) => new Error('The service cannot be reached. Is it running?', { cause });

/**
 * @param {Response} reply
 * @returns {Promise<FailureBody>}
 */
const toFailure = (reply) => reply.json().catch(() => noBody(reply.status));

/**
 * Something between here and the service has answered.
 * @param {number} status
 * @returns {FailureBody}
 */
const noBody = (status) => ({ error: 'unknown', message: `The answer was ${status}.`, status, request_id: '' });

// HTTP client of the console pages. Sends each request, with the API key or the session of a person who has signed in,
// to the origin and path prefix that served the console. Throws an ApiError for an error response.
/** @import { Failure } from '../../../../gen/openapi.ts' */
import { element } from './element.js';

/** An error response of the API. If fields are invalid, the error message lists their faults. */
export class ApiError extends Error {
  /** @param {Failure} body */
  constructor(body) {
    // A message that starts with a line number does not need the field name.
    const fieldErrors = (body.details ?? []).map(({ field, message }) =>
      toSentence(message.startsWith('line ') ? message : `${toWords(field)} ${message}`),
    );
    super(fieldErrors.length > 0 ? [...new Set(fieldErrors)].join(' ') : body.message);
    this.body = body;
    this.reason = body.error;
    this.status = body.status;
    this.requestId = body.request_id;
    this.retryAfterSeconds = body.retry_after;
    this.details = body.details ?? [];
  }
}

/** @param {string} field An API field name, such as `text_chunks[0]`. */
const toWords = (field) => field.replace(/^text_chunks\[\d+\]$/, 'text').replaceAll('_', ' ');

/** @param {string} message */
export const toSentence = (message) =>
  `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`;

/**
 * @typedef {object} ApiRequest
 * @property {string} [method] Default: POST if there is a body or a file, else GET.
 * @property {Record<string, string | number | undefined>} [query]
 * @property {unknown} [body] A string is sent unchanged, any other value as JSON.
 * @property {Blob} [file] Sent unchanged instead of a body.
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 *
 * @typedef {object} Upload
 * @property {(fraction: number) => void} [onProgress] Receives the uploaded fraction, 0 to 1.
 * @property {AbortSignal} [signal]
 */

/** Base URL of the service, without a trailing slash. The console is at `/console` below this URL. */
export const serviceUrl = new URL('.', document.baseURI).href.replace(/\/$/, '');

/** @typedef {ReturnType<typeof createApi>} Api */

/**
 * The session of a person who has signed in. It manages keys, and cannot be used for anything else.
 * @typedef {{ name: string, csrf_token: string, scopes: string[] }} Session
 */

/**
 * Returns the session of this browser; undefined if nobody has signed in.
 * @returns {Promise<Session | undefined>}
 */
export async function findSession() {
  if (document.body.dataset.signInUrl === undefined) return undefined;
  const reply = await fetch(toUrl('/oauth/session', {})).catch((error) => {
    throw unreachable(error);
  });
  return reply.status === 200 ? reply.json() : undefined;
}

/** Ends the session of this browser. */
export async function endSession() {
  const session = await findSession();
  if (session) await createApi(session).send('/oauth/sign-out', { method: 'POST' });
}

/**
 * @param {string | Session} credentials The API key or the session.
 * @param {(error: ApiError) => void} [onKeyRejected] Called if the API reports that the key is invalid.
 */
export function createApi(credentials, onKeyRejected = () => {}) {
  const own =
    typeof credentials === 'string' ? { 'X-API-Key': credentials } : { 'X-CSRF-Token': credentials.csrf_token };
  /** @param {Failure} body */
  const toApiError = (body) => {
    const error = new ApiError(body);
    if (error.reason === 'invalid_api_key') onKeyRejected(error);
    return error;
  };

  /**
   * Returns the response if it is a success; throws otherwise.
   * @param {string} path A path of the API, such as `/api/voices`.
   * @param {ApiRequest} [request]
   */
  async function send(path, request = {}) {
    const reply = await fetchReply(path, own, request);
    if (!reply.ok) throw toApiError(await toFailureBody(reply));
    return reply;
  }

  return {
    send,

    /**
     * Returns the response body as JSON, or undefined for 204.
     * @param {string} path
     * @param {ApiRequest} [request]
     * @returns {Promise<any>}
     */
    async requestJson(path, request) {
      const reply = await send(path, request);
      return reply.status === 204 ? undefined : reply.json();
    },

    /**
     * Saves the response body under this name, as a download of the user.
     * @param {string} file
     * @param {string} path
     * @param {ApiRequest} [request]
     */
    async save(file, path, request) {
      const href = URL.createObjectURL(await (await send(path, request)).blob());
      element('a', { href, download: file }).click();
      setTimeout(() => URL.revokeObjectURL(href), 60_000);
    },

    /**
     * Fetches all pages of a list.
     * @param {string} path
     * @param {string} member The member that holds the items, such as `voices`.
     * @param {ApiRequest} [request]
     * @returns {Promise<any[]>}
     */
    async list(path, member, request = {}) {
      const all = [];
      for (let cursor = ''; cursor !== null; ) {
        const query = { limit: 1000, ...request.query, ...(cursor && { cursor }) };
        const page = await (await send(path, { ...request, query })).json();
        all.push(...page[member]);
        cursor = page.next_cursor;
      }
      return all;
    },

    /**
     * Sends a form and reports the upload progress.
     * @param {string} path
     * @param {FormData} form
     * @param {Upload} [upload]
     * @returns {Promise<any>}
     */
    async upload(path, form, upload = {}) {
      const { status, response } = await postForm(path, own, form, upload);
      if (status < 300) return response;
      throw toApiError(response ?? withoutBody(status));
    },
  };
}

/**
 * @param {string} path
 * @param {Record<string, string>} own The headers with the credentials.
 * @param {ApiRequest} request
 */
function fetchReply(path, own, { method, query = {}, body, file, headers = {}, signal }) {
  const hasBody = body !== undefined;
  // The operating system may report a wrong file type, so the service detects the type from the file name.
  const type = file ? 'application/octet-stream' : hasBody ? 'application/json' : '';
  return fetch(toUrl(path, query), {
    method: method ?? (hasBody || file ? 'POST' : 'GET'),
    headers: { ...own, ...(type && { 'Content-Type': type }), ...headers },
    body: file ?? (hasBody ? (typeof body === 'string' ? body : JSON.stringify(body)) : null),
    credentials: 'X-API-Key' in own ? 'omit' : 'same-origin',
    ...(signal && { signal }),
  }).catch((error) => {
    throw signal?.aborted ? signal.reason : unreachable(error);
  });
}

/**
 * Uses XMLHttpRequest, since `fetch` reports no upload progress.
 * @param {string} path
 * @param {Record<string, string>} own The headers with the credentials.
 * @param {FormData} form
 * @param {Upload} upload
 * @returns {Promise<XMLHttpRequest>} The finished request.
 */
function postForm(path, own, form, { onProgress, signal }) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const request = new XMLHttpRequest();
  request.open('POST', toUrl(path, {}));
  for (const [name, value] of Object.entries(own)) request.setRequestHeader(name, value);
  request.responseType = 'json';
  request.upload.addEventListener('progress', ({ loaded, total }) => onProgress?.(loaded / total));
  request.addEventListener('load', () => resolve(request));
  request.addEventListener('error', () => reject(unreachable()));
  request.addEventListener('abort', () => reject(signal?.reason));
  signal?.addEventListener('abort', () => request.abort());
  request.send(form);
  return promise;
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
 * @returns {Promise<Failure>}
 */
const toFailureBody = (reply) => reply.json().catch(() => withoutBody(reply.status));

/**
 * Returns the failure for a response that Sonant did not send, such as a proxy's error page.
 * @param {number} status
 * @returns {Failure}
 */
const withoutBody = (status) => ({
  error: /** @type {any} */ ('unknown'),
  message: `The server responded with status ${status}.`,
  status,
  request_id: '',
});

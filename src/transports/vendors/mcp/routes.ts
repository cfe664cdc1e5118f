// An MCP server at /mcp: Streamable HTTP in the stateless revision 2026-07-28 and in earlier revisions, whose clients
// send `initialize`. Clients get no session, because no answer depends on an earlier request. Every request needs an
// API key, as a bearer token or in X-API-Key. A failure of a tool is a result that the agent reads. Other failures are
// JSON-RPC errors, with the HTTP status of the REST API.
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Fields, isObject } from '../../../contract.ts';
import { Failure, retrySecondsOf, shorten } from '../../../platform/errors.ts';
import { jobBytesMax, jobValuesMax } from '../../../platform/net/request-limits.ts';
import { run } from '../../http/admission.ts';
import { renamed, sentencesOf } from '../../http/failure-sentences.ts';
import type { RouteTools } from '../../http/route-tools.ts';
import { fromThrown, toFailureBody, toFailureReply } from '../../net/failure-reply.ts';
import { apiVersion } from '../../net/headers.ts';
import { createTools, type Tool } from './tools.ts';

/** The revision in which every request states its revision. */
const statelessRevision = '2026-07-28';
const sessionRevisions = ['2025-11-25', '2025-06-18', '2025-03-26'];
const supported = [statelessRevision, ...sessionRevisions];

const codes = {
  parse: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  failure: -32_000,
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
};

class RpcError extends Error {
  readonly code: number;
  readonly status: number;
  readonly data: object | undefined;

  constructor(code: number, message: string, { status = 400, data }: { status?: number; data?: object } = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.data = data;
  }
}

export function addMcpRoute(app: FastifyInstance, parts: RouteTools): void {
  const { admission, isAllowedOrigin } = parts;
  const tools = createTools(parts);
  const admit = admission.admitBearerTo(...tools.map(({ method }) => method));
  const checkOrigin = async ({ headers: { origin } }: FastifyRequest) => {
    if (origin !== undefined && !isAllowedOrigin(origin))
      throw new Failure('access_denied', { message: 'Pages of this origin may not call this server.' });
  };
  // make_job accepts a book, so its limits are the limits of createJob.
  const config = { jsonBytesMax: jobBytesMax, jsonValuesMax: jobValuesMax };
  app.post('/mcp', { onRequest: [checkOrigin, admit], config }, async (request, reply) => {
    request.call!.api = 'mcp';
    const { body } = request;
    const id = isObject(body) ? body.id : undefined;
    try {
      const { method, params } = readMessage(body);
      // Notifications need no answer.
      if (id === undefined) return reply.code(202).send();
      const isStateless = checkRevision(request.headers, method, params);
      const result = await answer(method, params, { tools, isStateless, request, reply });
      const stamp = { resultType: 'complete', _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } };
      return reply.send({ jsonrpc: '2.0', id, result: { ...result, ...(isStateless && stamp) } });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { code, status, message, data } = error;
      return reply.code(status).send({ jsonrpc: '2.0', id: isId(id) ? id : null, error: { code, message, data } });
    }
  });
}

/** Replies repeat the id. */
const idCharsMax = 100;
const isId = (id: unknown) => typeof id === 'number' || (typeof id === 'string' && id.length <= idCharsMax);

/**
 * Renders, as a JSON-RPC error, the failure of a request that was not admitted or could not be read. Its id is null:
 * without an id, the client for Python hides the message.
 */
export const toMcpReply: typeof toFailureReply = (failure, { requestId }) => {
  const reply = toFailureReply(failure, { requestId, accept: undefined });
  const { message, ...data } = toFailureBody(failure, requestId);
  const code = reply.status === 400 ? codes.parse : codes.failure;
  return { ...reply, body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message, data } }) };
};

function readMessage(body: unknown): { method: string; params: Fields } {
  if (!isObject(body) || body.jsonrpc !== '2.0' || typeof body.method !== 'string')
    throw new RpcError(codes.invalidRequest, 'The body must be one JSON-RPC 2.0 request or notification, not a batch.');
  const { id, method, params = {} } = body;
  if (id !== undefined && !isId(id))
    throw new RpcError(
      codes.invalidRequest,
      `The id must be a number, or a string of at most ${idCharsMax} characters.`,
    );
  if (!isObject(params)) throw new RpcError(codes.invalidParams, 'params must be an object.');
  return { method, params };
}

/**
 * Whether the request uses the stateless revision. In that revision, headers repeat members of the body for proxies,
 * and must match the body.
 */
function checkRevision(headers: IncomingHttpHeaders, method: string, { _meta, name }: Fields): boolean {
  const inBody = isObject(_meta) ? _meta['io.modelcontextprotocol/protocolVersion'] : undefined;
  const inHeader = headers['mcp-protocol-version'];
  const requested = inBody ?? inHeader;
  const isStateless = inBody !== undefined || inHeader === statelessRevision;
  if (isStateless) {
    const checks: [string, unknown][] = [
      ['MCP-Protocol-Version', inBody],
      ['Mcp-Method', method],
      ...(method === 'tools/call' ? [['Mcp-Name', name] as [string, unknown]] : []),
    ];
    for (const [header, value] of checks)
      if (decoded(headers[header.toLowerCase()]) !== value)
        throw new RpcError(codes.headerMismatch, `Header mismatch: ${header} must be the same as in the body.`);
  }
  const isSupported = isStateless
    ? requested === statelessRevision
    : !inHeader || sessionRevisions.includes(`${inHeader}`);
  if (!isSupported)
    throw new RpcError(codes.unsupportedVersion, 'Unsupported protocol version', {
      data: { supported, requested: typeof requested === 'string' ? shorten(requested) : undefined },
    });
  return isStateless;
}

/** Names that are not plain ASCII are sent as =?base64?...?=. */
function decoded(header: string | string[] | undefined): unknown {
  const base64 = /^=\?base64\?(.*)\?=$/.exec(String(header))?.[1];
  return base64 === undefined ? header : Buffer.from(base64, 'base64').toString();
}

interface Answering {
  tools: readonly Tool[];
  isStateless: boolean;
  request: FastifyRequest;
  reply: FastifyReply;
}

const serverInfo = { name: 'sonant', title: 'Sonant text to speech', version: apiVersion };
const capabilities = { tools: {} };
const instructions =
  'Speaks text. Give the user the link that speak returns; it expires. list_voices finds a voice by language or words.';
/** Cache rules for answers that are the same for all keys and do not change while the process runs. */
const cached = { ttlMs: 3_600_000, cacheScope: 'public' };

async function answer(method: string, params: Fields, answering: Answering): Promise<object> {
  const { tools, isStateless } = answering;
  switch (method) {
    case 'initialize': {
      if (isStateless) break;
      const { protocolVersion: given } = params;
      const protocolVersion = sessionRevisions.find((each) => each === given) ?? sessionRevisions[0];
      return { protocolVersion, capabilities, serverInfo, instructions };
    }
    case 'server/discover':
      return { supportedVersions: supported, capabilities, instructions, ...cached };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: tools.map(({ method: _, run: __, ...tool }) => tool), ...cached };
    case 'tools/call':
      return callTool(params, answering);
  }
  throw new RpcError(codes.unknownMethod, `Unknown method: ${shorten(method)}`, { status: isStateless ? 404 : 200 });
}

async function callTool(
  { name, arguments: given = {} }: Fields,
  { tools, request, reply }: Answering,
): Promise<object> {
  if (typeof name !== 'string') throw new RpcError(codes.invalidParams, 'name must be a string.');
  const tool = tools.find((each) => each.name === name);
  if (!tool) throw new RpcError(codes.invalidParams, `Unknown tool: ${shorten(name)}`, { status: 200 });
  if (!isObject(given)) throw new RpcError(codes.invalidParams, 'arguments must be an object.', { status: 200 });
  try {
    return { content: await run(request, reply, tool.method, (call) => tool.run(call, given)), isError: false };
  } catch (error) {
    return { content: [{ type: 'text', text: explain(fromThrown(error)) }], isError: true };
  }
}

/** The sentences of a failure, one per line. */
function explain(failure: Failure): string {
  const { requiredScopes } = failure.facts;
  const retrySeconds = retrySecondsOf(failure);
  const named = renamed(failure, { fields: {}, listVoices: 'list_voices' });
  return [
    ...sentencesOf(named),
    ...(requiredScopes ? [`Scopes that the call needs: ${requiredScopes.join(', ')}`] : []),
    ...(retrySeconds === undefined ? [] : [`Try again in ${Math.ceil(retrySeconds)} s.`]),
  ].join('\n');
}

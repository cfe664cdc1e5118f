// The lexicon routes that differ from the contract: lexicons can also be read and written as PLS documents, and request
// bodies may have more values than usual.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { create, type DescMethod } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LexiconService, LexiconSpecSchema } from '../../../gen/sonant/v1/lexicon_pb.ts';
import { endpointsOf, memberSchema, nameUnknown, Reading, readQuery, toViolation } from '../../contract.ts';
import { writePls } from '../../library.ts';
import { Failure } from '../../platform/errors.ts';
import { toLanguageCode } from '../../platform/language-code.ts';
import {
  bodyArrivalMs,
  lexiconRequestBytesMax,
  lexiconValuesMax as valuesMax,
} from '../../platform/net/request-limits.ts';
import { asksFor } from '../net/headers.ts';
import { parseBody } from '../net/request-body.ts';
import { parseStrictJsonInSteps } from '../net/strict-json.ts';
import { run } from './admission.ts';
import { addContractRoutes, contractRoute } from './contract-routes.ts';
import { checkEncoding } from './request-fields.ts';
import { documented, queryParameter, withDocs } from './route-docs.ts';
import type { RouteTools } from './route-tools.ts';

const plsTypes = ['application/pls+xml', 'application/xml', 'text/xml'];
const document = { type: 'string', description: 'A document of PLS 1.0.' };
const examplePls = writePls('Products', [{ grapheme: 'AWS', alias: 'Amazon Web Services' }], undefined);
const plsQuery = [
  queryParameter('name', 'Name of the lexicon, for a PLS document. Default: the title of the document.'),
  queryParameter(
    'access',
    'Who may use the lexicon, for a PLS document.',
    memberSchema(LexiconSpecSchema, 'access', 'request'),
  ),
];

export function addLexiconRoutes(app: FastifyInstance, tools: RouteTools): void {
  const { admission, callRpc, isStrict } = tools;
  const { getLexicon, createLexicon, replaceLexicon } = LexiconService.method;
  addContractRoutes(app, LexiconService, tools, {
    byHand: ['getLexicon', 'createLexicon', 'replaceLexicon'],
  });
  const byHand = (method: DescMethod) => contractRoute(method, endpointsOf(method)[0]!, tools);
  const readingOf = ({ ignoredQuery = [] }: FastifyRequest) => {
    const reading = new Reading(isStrict);
    if (isStrict) reading.violations.add(ignoredQuery.map(toViolation));
    return reading;
  };

  const { docs, handle } = byHand(getLexicon);
  const both = withDocs(docs, {
    get answers() {
      const answer = docs.answers[200]!;
      const content = { ...answer.content, 'application/pls+xml': { schema: document, example: examplePls } };
      return { 200: { ...answer, content } };
    },
  });
  app.get('/api/lexicons/:id', documented(both, admission.admitTo(getLexicon)), async (request, reply) => {
    // The value is appended, because CORS has already set `Vary: Origin`.
    reply.raw.appendHeader('vary', 'Accept');
    if (!plsTypes.some((type) => asksFor(request.headers.accept, type))) return handle(request, reply);
    const message = create(getLexicon.input, { lexiconId: (request.params as { id: string }).id });
    const reading = readingOf(request);
    const { language_code } = request.query as Record<string, unknown>;
    readQuery(message, getLexicon.input, { language_code }, reading);
    const { violations } = reading;
    const { lexicon } = await run(request, reply, getLexicon, (call) =>
      callRpc(getLexicon, message, call, { violations }),
    );
    const languageCode = toLanguageCode(message.languageCode);
    const entries = lexicon.entries.filter((entry: { languageCode?: string }) => entry.languageCode === languageCode);
    return reply.type('application/pls+xml; charset=utf-8').send(writePls(lexicon.name, entries, languageCode));
  });

  app.register(async (scope) => {
    readLexiconBodies(scope);
    for (const method of [createLexicon, replaceLexicon] as const) {
      const { docs, handle, send } = byHand(method);
      const handler = async (request: FastifyRequest, reply: FastifyReply) => {
        if (!(request.body instanceof Buffer)) return handle(request, reply);
        // An empty body is reported as an unreadable document, not as a missing field.
        const spec = create(LexiconSpecSchema, { pls: request.body.toString() || ' ' });
        const reading = readingOf(request);
        const { name, access } = request.query as Record<string, unknown>;
        readQuery(spec, LexiconSpecSchema, { name, access }, reading);
        const { violations } = reading;
        const message = create<DescMethod['input']>(method.input, {
          lexiconId: (request.params as { id?: string }).id,
          spec,
        } as never);
        const made = run(request, reply, method, (call) => callRpc(method, message, call, { violations }));
        const result = await made.catch((error) => {
          throw nameUnknown(inBody(error), request.ignoredQuery ?? []);
        });
        return send(reply, result, []);
      };
      scope.route({
        method: method === createLexicon ? 'POST' : 'PUT',
        url: method === createLexicon ? '/api/lexicons' : '/api/lexicons/:id',
        handler,
        ...documented(
          withDocs(docs, { parameters: [...(docs.parameters ?? []), ...plsQuery] }),
          admission.admitTo(method),
          {
            bodyBytesMax: lexiconRequestBytesMax,
          },
        ),
      });
    }
  });
}

/** Renames the field in violations, because the body itself is the document on these routes. */
function inBody(error: unknown): unknown {
  if (!(error instanceof Failure) || !error.facts.details) return error;
  const details = error.facts.details.map((each) => (each.field === 'pls' ? { ...each, field: 'body' } : each));
  return new Failure(error.reason, { ...error.facts, details }, error.cause);
}

const limits = { bytesMax: lexiconRequestBytesMax, arrivalMs: bodyArrivalMs };
const notReadable = 'The request body must be application/json or application/pls+xml, in UTF-8 and uncompressed.';

function readLexiconBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const add = (type: string | string[], parse: (bytes: Uint8Array) => unknown) =>
    scope.addContentTypeParser(type, async (request: FastifyRequest, payload: IncomingMessage) => {
      checkEncoding(request, notReadable);
      return parseBody(payload, limits, parse);
    });
  add('application/json', (bytes) => (bytes.length === 0 ? undefined : parseStrictJsonInSteps(bytes, { valuesMax })));
  add(plsTypes, (bytes) => {
    if (isUtf8(bytes)) return bytes;
    throw new Failure('invalid_request', { message: 'The body is not valid UTF-8.' });
  });
  scope.addContentTypeParser('*', (_request, _payload, done) =>
    done(new Failure('unsupported_media_type', { message: notReadable })),
  );
}

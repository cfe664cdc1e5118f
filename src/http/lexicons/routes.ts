// /api/lexicons: lists, makes, replaces and deletes lexicons, as JSON or as PLS documents.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { LexiconOperations, ListedLexicon } from '../../api/lexicons.ts';
import { lexiconOperations } from '../../api/operation.ts';
import { Failure } from '../../errors.ts';
import { toEntryJson } from '../../lexicons/lexicon-fields.ts';
import { asksFor } from '../../net/accept.ts';
import { lexiconRequestBytesMax } from '../../net/limits.ts';
import { toLanguageCode } from '../../text/language-code.ts';
import { writePls } from '../../text/pls.ts';
import { type AdmitTo, run } from '../admission.ts';
import { ignoredHeaders } from '../ignored-fields.ts';
import { sortQuery } from '../known-fields.ts';
import { addWithoutBody } from '../no-body.ts';
import { takePage, takeText } from '../page-query.ts';
import { documented } from '../route-docs.ts';
import { parseLexicon } from './fields.ts';
import { plsTypes, readLexiconBodies } from './lexicon-body.ts';
import { lexiconDocs } from './openapi.ts';

export interface LexiconRoutesOptions {
  lexicons: LexiconOperations;
  admitTo: AdmitTo;
  isStrict: boolean;
  baseUrl(): string;
}

type WithId = FastifyRequest<{ Params: { id: string } }>;

const url = '/api/lexicons';
const { listLexicons, getLexicon, createLexicon, replaceLexicon, deleteLexicon } = lexiconOperations;

export function addLexiconRoutes(app: FastifyInstance, options: LexiconRoutesOptions): void {
  addLexiconReading(app, options);
  addLexiconChanging(app, options);
}

function addLexiconReading(app: FastifyInstance, { lexicons, admitTo, isStrict }: LexiconRoutesOptions): void {
  app.get(url, documented(lexiconDocs.list, admitTo(listLexicons)), async (request, reply) => {
    const { fields: query, faults: violations } = sortQuery(request, isStrict);
    const page = takePage(query, ['lexicons'], violations);
    if (violations.length > 0) throw new Failure('invalid_request', { details: violations });
    const list = run(request, reply, listLexicons, (call) => lexicons.listLexicons(call, page));
    const { items, nextCursor } = await list;
    return { lexicons: items.map(toLexiconJson), next_cursor: nextCursor || null };
  });

  app.get(`${url}/:id`, documented(lexiconDocs.get, admitTo(getLexicon)), async (request: WithId, reply) => {
    const { fields: query, faults: violations } = sortQuery(request, isStrict);
    const language = takeText(query, 'language_code', violations);
    const languageCode = toLanguageCode(language);
    if (language !== '' && languageCode === undefined) {
      const message = 'must be a BCP-47 language code such as en-US';
      violations.push({ field: 'language_code', reason: 'format', message });
    }
    if (violations.length > 0) throw new Failure('invalid_request', { details: violations });
    const lexicon = await run(request, reply, getLexicon, (call) => lexicons.getLexicon(call, request.params.id));
    // Beside the Origin of CORS.
    reply.raw.appendHeader('vary', 'Accept');
    const isPls = plsTypes.some((type) => asksFor(request.headers.accept, type));
    if (!isPls) return { ...toLexiconJson(lexicon), entries: lexicon.entries().map(toEntryJson) };
    const entries = lexicon.entries().filter((entry) => entry.languageCode === languageCode);
    return reply.type('application/pls+xml; charset=utf-8').send(writePls(lexicon.name, entries, languageCode));
  });
}

function addLexiconChanging(app: FastifyInstance, options: LexiconRoutesOptions): void {
  const { lexicons, admitTo, isStrict, baseUrl } = options;
  const limits = { bodyBytesMax: lexiconRequestBytesMax };
  app.register(async (scope) => {
    readLexiconBodies(scope);
    scope.post(url, documented(lexiconDocs.create, admitTo(createLexicon), limits), async (request, reply) => {
      const { fields, ignored } = parseLexicon(request, isStrict);
      const made = await run(request, reply, createLexicon, (call) => lexicons.createLexicon(call, fields));
      return reply
        .code(201)
        .headers({ ...ignoredHeaders(request, ignored), Location: `${baseUrl()}${url}/${made.lexiconId}` })
        .send(toLexiconJson(made));
    });

    scope.put(
      `${url}/:id`,
      documented(lexiconDocs.replace, admitTo(replaceLexicon), limits),
      async (request: WithId, reply) => {
        const { fields, ignored } = parseLexicon(request, isStrict);
        const { id } = request.params;
        const replaced = run(request, reply, replaceLexicon, (call) => lexicons.replaceLexicon(call, id, fields));
        return reply.headers(ignoredHeaders(request, ignored)).send(toLexiconJson(await replaced));
      },
    );
  });

  addWithoutBody(app, (scope) => {
    scope.delete(
      `${url}/:id`,
      documented(lexiconDocs.remove, admitTo(deleteLexicon)),
      async (request: WithId, reply) => {
        await run(request, reply, deleteLexicon, (call) => lexicons.deleteLexicon(call, request.params.id));
        return reply.code(204).send();
      },
    );
  });
}

const toLexiconJson = (lexicon: ListedLexicon) => ({
  lexicon_id: lexicon.lexiconId,
  name: lexicon.name,
  access: lexicon.access,
  owner: lexicon.owner,
  version: lexicon.version,
  entry_count: lexicon.entryCount,
  created_at: lexicon.createdAt.toISOString(),
  updated_at: lexicon.updatedAt.toISOString(),
});

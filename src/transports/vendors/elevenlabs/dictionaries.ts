// Pronunciation dictionaries of ElevenLabs's API, which are lexicons: GET /v1/pronunciation-dictionaries and
// /v1/pronunciation-dictionaries/{id}, POST /add-from-rules and /add-from-file. Their only version is the current one.
import { isUtf8 } from 'node:buffer';
import type { DescMethod } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LexiconService } from '../../../../gen/sonant/v1/lexicon_pb.ts';
import { type Fields, isObject } from '../../../contract.ts';
import { Failure } from '../../../platform/errors.ts';
import { lexiconRequestBytesMax, lexiconValuesMax } from '../../../platform/net/request-limits.ts';
import { run } from '../../http/admission.ts';
import { FormBody, readForms } from '../../http/form-body.ts';
import { fieldsOf, ignoredHeaders, sortFields } from '../../http/request-fields.ts';
import type { RouteTools } from '../../http/route-tools.ts';
import { callForJson } from '../contract-calls.ts';

const root = '/v1/pronunciation-dictionaries';
const { listLexicons, getLexicon, createLexicon } = LexiconService.method;
const pageSizeDefault = 30;

export function addDictionaryRoutes(app: FastifyInstance, { callRpc, admission }: RouteTools): void {
  const config = { jsonBytesMax: lexiconRequestBytesMax, jsonValuesMax: lexiconValuesMax };
  const route = (method: DescMethod) => ({ onRequest: admission.admitAnyTo(method), config });
  const call = (request: FastifyRequest, reply: FastifyReply, method: DescMethod, members: Fields) =>
    run(request, reply, method, (begun) => callForJson(callRpc, method, members, begun));

  app.get(root, route(listLexicons), async (request, reply) => {
    const { fields, ignored } = sortFields(request.query as Fields, ['page_size', 'cursor', 'api_key']);
    const { page_size: size = pageSizeDefault, cursor } = fields;
    const page = await call(request, reply, listLexicons, { limit: Number(size), cursor });
    reply.headers(ignoredHeaders(request, ignored));
    const pronunciation_dictionaries = page.lexicons.map(toDictionary);
    return { pronunciation_dictionaries, next_cursor: page.next_cursor, has_more: page.next_cursor !== null };
  });

  app.get(`${root}/:id`, route(getLexicon), async (request, reply) => {
    const { id: lexicon_id } = request.params as { id: string };
    const lexicon = await call(request, reply, getLexicon, { lexicon_id });
    return { ...toDictionary(lexicon), rules: (lexicon.entries ?? []).map(toRule) };
  });

  app.post(`${root}/add-from-rules`, route(createLexicon), async (request, reply) => {
    const { fields, ignored } = sortFields(fieldsOf(request), ['name', 'rules']);
    const { name, rules } = fields;
    const entries = Array.isArray(rules) ? rules.map(toEntry) : (rules ?? []);
    const dictionary = toDictionary(await call(request, reply, createLexicon, { name, entries }));
    return reply.headers(ignoredHeaders(request, ignored)).send(dictionary);
  });

  app.register(async (scope) => {
    readForms(scope, { fileNames: ['file'], textNames: ['name'] });
    scope.post(`${root}/add-from-file`, route(createLexicon), async (request, reply) => {
      const { texts, files } = request.body instanceof FormBody ? request.body : new FormBody();
      // An empty file is reported as an unreadable document, not as a missing field.
      const file = Buffer.from(files.get('file') ?? []);
      if (!isUtf8(file)) throw new Failure('invalid_request', { message: 'The file is not valid UTF-8.' });
      const pls = file.toString() || ' ';
      return toDictionary(await call(request, reply, createLexicon, { name: texts.get('name')?.[0], pls }));
    });
  });
}

const toDictionary = ({ lexicon_id: id, name, version, entry_count, created_at, owner }: Fields) => ({
  id,
  name,
  created_by: owner,
  creation_time_unix: Math.floor(Date.parse(String(created_at)) / 1000),
  version_id: version,
  version_rules_num: entry_count,
  latest_version_id: version,
  latest_version_rules_num: entry_count,
  permission_on_resource: owner === 'self' ? 'admin' : 'viewer',
});

const toRule = ({ grapheme: string_to_replace, alias, phoneme, alphabet = 'ipa', case: letters }: Fields) => ({
  string_to_replace,
  case_sensitive: letters !== 'insensitive',
  word_boundaries: true,
  ...(alias === undefined ? { type: 'phoneme', phoneme, alphabet } : { type: 'alias', alias }),
});

function toEntry(rule: unknown): unknown {
  if (!isObject(rule)) return rule;
  const { string_to_replace: grapheme, alias, phoneme, alphabet, case_sensitive: isSensitive } = rule;
  return { grapheme, alias, phoneme, alphabet, case: isSensitive === false ? 'insensitive' : undefined };
}

// An operation as a command for a shell, to be pasted as it is once the key is in $SONANT_KEY.

import type { Parameter, Schema } from '../http/route-docs.ts';
import type { DocumentedContent, OpenApi } from './openapi-document.ts';
import { answersOf, type ToldOperation } from './reference-model.ts';

export interface CurlExample {
  title: string;
  command: string;
}

/** One for each example of what the operation takes. */
export function curlExamplesOf(document: OpenApi, told: ToldOperation): CurlExample[] {
  const content = told.operation.requestBody?.content ?? {};
  const json = Object.entries((content['application/json']?.examples ?? {}) as Record<string, { value: Schema }>);
  const bodies = [
    ...json.map(([title, { value }]) => ({ title, fields: value, flags: jsonFlags(value) })),
    ...['multipart/form-data', 'application/x-www-form-urlencoded'].flatMap((type) => formOf(content, type)),
  ];
  if (bodies.length === 0) bodies.push({ title: '', fields: {}, flags: [] });
  return bodies.map(({ title, fields, flags }) => ({ title, command: commandOf(document, told, fields, flags) }));
}

const jsonFlags = (value: Schema) => ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(value))}`];

function formOf(content: Readonly<Record<string, DocumentedContent>>, type: string) {
  const fields = content[type]?.example as Schema | undefined;
  if (!fields) return [];
  const flag = type === 'multipart/form-data' ? '-F' : '--data-urlencode';
  const flags = Object.entries(fields).map(([name, value]) => `${flag} ${quoted(`${name}=${value}`)}`);
  return [{ title: 'form', fields, flags }];
}

function commandOf(document: OpenApi, told: ToldOperation, fields: Schema, flags: readonly string[]): string {
  const { method, path, operation } = told;
  const { parameters = [], security } = operation;
  const exampleOf = (name: string) =>
    parameters.find((one: Parameter) => one.in === 'path' && one.name === name)?.example;
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(exampleOf(name))));
  const query = parameters.filter((one) => one.in === 'query' && one.example !== undefined);
  const usual = flags.length > 0 ? 'POST' : 'GET';
  const way = outputOf(document, told, fields);
  const lines = [
    [
      'curl',
      ...(way === 'events' ? ['-N'] : []),
      ...(method === usual ? [] : [`-X ${method}`]),
      ...(query.length > 0 ? ['--get'] : []),
      quoted(document.servers[0].url + address),
    ].join(' '),
    ...(security.length > 0 ? ['-H "X-API-Key: $SONANT_KEY"'] : []),
    ...(path === '/oauth/get-key' && method === 'GET' ? ["-H 'Accept: application/json'"] : []),
    ...flags,
    ...query.map(({ name, example }) => `--data-urlencode ${quoted(`${name}=${example}`)}`),
    ...(way.startsWith('-o') ? [way] : []),
  ];
  return lines.join(' \\\n  ');
}

/** Where the sound goes, if it is sound that comes. */
function outputOf(document: OpenApi, { operation }: ToldOperation, fields: Schema): string {
  const [first] = answersOf(document, operation);
  const types = Object.keys(first?.content ?? {});
  if (types.length === 1 && types[0] === 'text/event-stream') return 'events';
  const sounds = types.filter((type) => type.startsWith('audio/'));
  const isLink =
    types.includes('application/json') && fields.return_format !== 'buffer' && fields.method !== 'streaming';
  if (sounds.length === 0 || isLink) return '';
  const usual = sounds.includes('audio/wav') && !types.includes('application/json') ? 'wav' : undefined;
  const format = fields.output_format ?? fields.response_format ?? (operation.requestBody ? undefined : usual);
  return `-o speech.${format ?? (operation.tags[0] === 'OpenAI' || sounds.length === 1 ? 'mp3' : 'wav')}`;
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

// Writes curl commands for an operation. The commands run unchanged if SONANT_API_KEY contains an API key.

import type { Parameter, Schema } from '../route-docs.ts';
import type { DocumentedContent, OpenApi } from './openapi-document.ts';
import { type ReferenceOperation, responsesOf } from './reference-model.ts';

interface CurlExample {
  title: string;
  command: string;
}

/** One command per example of the request body, or a single command if there is no example. */
export function curlExamplesOf(document: OpenApi, reference: ReferenceOperation): CurlExample[] {
  const content = reference.operation.requestBody?.content ?? {};
  const json = Object.entries((content['application/json']?.examples ?? {}) as Record<string, { value: Schema }>);
  const bodies = [
    ...json.map(([title, { value }]) => ({ title, fields: value, flags: jsonFlags(value) })),
    ...formOf(content, 'multipart/form-data'),
    ...formOf(content, 'application/x-www-form-urlencoded'),
    ...fileOf(content),
  ];
  if (bodies.length === 0) bodies.push({ title: '', fields: {}, flags: [] });
  return bodies.map(({ title, fields, flags }) => ({ title, command: commandOf(document, reference, fields, flags) }));
}

const jsonFlags = (value: Schema) => ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(value))}`];

function formOf(content: Readonly<Record<string, DocumentedContent>>, type: string) {
  const fields = content[type]?.example as Schema | undefined;
  if (!fields) return [];
  const flag = type === 'multipart/form-data' ? '-F' : '--data-urlencode';
  const flags = Object.entries(fields).map(([name, value]) => `${flag} ${quoted(`${name}=${value}`)}`);
  return [{ title: 'form', fields, flags }];
}

/** A file with the example of the first content type that has a text example, or an audio file. */
function fileOf(content: Readonly<Record<string, DocumentedContent>>) {
  const [type, { example = '@speech.wav' } = {}] =
    Object.entries(content).find(([type, { example }]) => typeof example === 'string' || type === 'audio/wav') ?? [];
  if (type === undefined) return [];
  const flags = [`-H 'Content-Type: ${type}'`, `--data-binary ${quoted(String(example))}`];
  return [{ title: 'file', fields: {}, flags }];
}

function commandOf(document: OpenApi, reference: ReferenceOperation, fields: Schema, flags: readonly string[]): string {
  const { method, path, operation } = reference;
  const { parameters = [], security } = operation;
  const exampleOf = (name: string) =>
    parameters.find((one: Parameter) => one.in === 'path' && one.name === name)?.example;
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(exampleOf(name))));
  const query = parameters.filter((one) => one.in === 'query' && one.example !== undefined);
  const defaultMethod = flags.length > 0 ? 'POST' : 'GET';
  const output = outputOf(document, reference, fields);
  const lines = [
    [
      'curl',
      ...(output === 'events' ? ['-N'] : []),
      ...(method === defaultMethod ? [] : [`-X ${method}`]),
      ...(query.length > 0 ? ['--get'] : []),
      quoted(document.servers[0].url + address),
    ].join(' '),
    ...(security.length > 0 ? ['-H "X-API-Key: $SONANT_API_KEY"'] : []),
    ...(path === '/oauth/get-key' && method === 'GET' ? ["-H 'Accept: application/json'"] : []),
    ...flags,
    ...query.map(({ name, example }) => `--data-urlencode ${quoted(`${name}=${example}`)}`),
    ...(output.startsWith('-o') ? [output] : []),
  ];
  return lines.join(' \\\n  ');
}

/** The `-o` flag if the response is audio, `events` if it is an event stream. */
function outputOf(document: OpenApi, { operation }: ReferenceOperation, fields: Schema): string {
  const [first] = responsesOf(document, operation);
  const types = Object.keys(first?.content ?? {});
  if (types.length === 1 && types[0] === 'text/event-stream') return 'events';
  const audioTypes = types.filter((type) => type.startsWith('audio/'));
  const isLink =
    types.includes('application/json') && fields.return_format !== 'buffer' && fields.method !== 'streaming';
  if (audioTypes.length === 0 || isLink) return '';
  const defaultFormat = audioTypes.includes('audio/wav') && !types.includes('application/json') ? 'wav' : undefined;
  const format = fields.output_format ?? fields.response_format ?? (operation.requestBody ? undefined : defaultFormat);
  return `-o speech.${format ?? (operation.tags[0] === 'OpenAI' || audioTypes.length === 1 ? 'mp3' : 'wav')}`;
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

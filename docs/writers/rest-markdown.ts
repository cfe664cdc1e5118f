// docs/reference/rest.md: the OpenAPI document as Markdown.
import { failureTable } from '../../src/errors.ts';
import { curlExamplesOf } from '../../src/gateway/docs/curl-example.ts';
import type { OpenApi } from '../../src/gateway/docs/openapi-document.ts';
import {
  failuresOf,
  fieldsOf,
  groupsOf,
  kindOf,
  limitsOf,
  type ReferenceOperation,
  type ReferenceResponse,
  responsesOf,
  schemaNameOf,
} from '../../src/gateway/docs/reference-model.ts';
import type { Schema } from '../../src/gateway/http/route-docs.ts';
import { anchorOf, cell, fence, table } from './markdown.ts';

export function toRestMarkdown(document: OpenApi): string {
  const groups = groupsOf(document);
  const contents = groups.map(({ name, operations }) => {
    const links = operations.map(({ operation: { summary } }) => `  - [${summary}](#${anchorOf(summary)})`);
    return [`- [${name}](#${anchorOf(name)})`, ...links].join('\n');
  });
  const parts = groups.map(({ name, description, operations }) =>
    [`## ${name}`, description, ...operations.map((told) => toOperation(document, told))].join('\n\n'),
  );
  return [
    '# REST',
    '<!-- Written by `npm run gen:docs` from what the service says of itself. -->',
    document.info.description,
    'Every running service has the same at `/docs`, and for programs at `/openapi.json`; here it is as [openapi.json](openapi.json). The gRPC API is in [grpc.md](grpc.md).',
    [
      ...contents,
      '- [Failures](#failures)',
      '- [Schemas](#schemas)',
      '- [Headers of replies](#headers-of-replies)',
    ].join('\n'),
    ...parts,
    '## Failures',
    table(
      ['error', 'status', 'try again', 'when'],
      Object.entries(failureTable).map(([reason, { status, retryable, sentence }]) => [
        ...[`\`${reason}\``, String(status), retryable ? 'yes' : 'no'],
        sentence,
      ]),
    ),
    ...toSchemas(document),
    '## Headers of replies',
    table(
      ['header', '', 'such as'],
      Object.entries(document.components.headers).map(([name, { description, example }]) => [
        ...[`\`${name}\``, description],
        `\`${example}\``,
      ]),
    ),
    '',
  ].join('\n\n');
}

function toOperation(document: OpenApi, told: ReferenceOperation): string {
  const { method, path, operation } = told;
  const { summary, description = '', parameters = [], requestBody } = operation;
  const answers = responsesOf(document, operation);
  const taken = parameters.map(({ name, in: place, description: what, schema, required }) => [
    ...[`\`${name}\`${required ? ' *' : ''}`, place, [kindOf(schema), limitsOf(schema)].filter(Boolean).join('; ')],
    what,
  ]);
  const bodies = Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) => [
    `Body, \`${type}\`${schemaLink(schema, ': ')}:`,
    fieldTable(document, schema),
  ]);
  const examples = curlExamplesOf(document, told).map(({ command }) => fence('text', command));
  return [
    `### ${summary}`,
    `\`${method} ${path}\``,
    ...(description === '' ? [] : [description]),
    ...examples,
    ...(taken.length > 0 ? [table(['parameter', 'in', 'kind', ''], taken)] : []),
    ...bodies,
    table(['status', 'body', ''], answers.map(answerRow)),
  ].join('\n\n');
}

function answerRow(answer: ReferenceResponse): string[] {
  const { status, description, content } = answer;
  const names = failuresOf(answer).map((name) => `\`${name}\``);
  const bodies = Object.entries(content).map(([type, { schema }]) => {
    const inside = (schema.contentSchema as Schema | undefined) ?? schema;
    return `\`${type}\`${schemaLink(inside, ' ')}`;
  });
  return [status, names.length > 0 ? '' : bodies.join(', '), names.length > 0 ? names.join(', ') : description];
}

const schemaLink = (schema: Schema, before: string): string => {
  const name = schemaNameOf(schema);
  return name ? `${before}[${name}](#${anchorOf(name)})` : '';
};

const fieldTable = (document: OpenApi, schema: Schema): string =>
  table(
    ['member', 'kind', 'default', ''],
    fieldsOf(document, schema).map(({ name, kind, limits, isRequired, fallback, description }) => [
      ...[`\`${name}\`${isRequired ? ' *' : ''}`, [cell(kind), limits].filter(Boolean).join('; ')],
      ...[fallback === undefined ? '' : `\`${fallback}\``, description],
    ]),
  );

function toSchemas(document: OpenApi): string[] {
  const told = Object.entries(document.components.schemas).map(([name, schema]) => {
    const choices = (schema.oneOf as readonly Schema[] | undefined)?.map((one) => schemaLink(one, ''));
    const { description } = schema;
    return [
      `### ${name}`,
      ...(description ? [String(description)] : []),
      choices ? `One of ${choices.join(', ')}.` : fieldTable(document, schema),
    ].join('\n\n');
  });
  return ['## Schemas', 'Members with a star are always there, or must be given.', ...told];
}

// Renders the REST part of /docs: each operation with its parameters, bodies, responses and curl commands, then all
// schemas and headers.

import type { Schema } from '../route-docs.ts';
import { curlExamplesOf } from './curl-example.ts';
import { code, escaped, fieldList, phrase, prose } from './html-elements.ts';
import type { OpenApi } from './openapi-document.ts';
import {
  failuresOf,
  fieldsOf,
  groupsOf,
  kindOf,
  moreOf,
  type ReferenceOperation,
  type ReferenceResponse,
  resolve,
  responsesOf,
  schemaNameOf,
} from './reference-model.ts';

export function toRestSection(document: OpenApi): string {
  const groups = groupsOf(document).map(
    ({ name, description, operations }) => `<section class="group" id="${name.toLowerCase()}">
<h2><a href="#${name.toLowerCase()}">${escaped(name)}</a></h2>
${prose(description)}
${operations.map((reference) => toOperation(document, reference)).join('\n')}
</section>`,
  );
  return groups.join('\n');
}

function toOperation(document: OpenApi, reference: ReferenceOperation): string {
  const { method, path, operation } = reference;
  const { operationId, summary, description = '', parameters = [], requestBody } = operation;
  const responses = responsesOf(document, operation);
  const parameterFields = parameters.map((parameter) => ({
    ...parameter,
    kind: `${escaped(kindOf(parameter.schema))} in ${parameter.in}`,
    isRequired: parameter.required ?? false,
    more: moreOf(parameter.schema),
  }));
  const bodies = Object.entries(requestBody?.content ?? {}).map(
    ([type, { schema }]) =>
      `<h4>Body <code>${escaped(type)}</code> ${schemaLink(schema)}</h4>\n${schemaFields(document, schema)}`,
  );
  const successes = responses.filter(({ status }) => status < '4');
  const failures = responses.filter(({ status }) => status >= '4');
  return `<section class="operation" id="${operationId}" aria-labelledby="${operationId}-title">
<div class="description">
<h3 id="${operationId}-title"><a href="#${operationId}">${escaped(summary)}</a></h3>
<p class="address"><span class="method ${method.toLowerCase()}">${method}</span> <code>${escaped(path).replaceAll('/', '/<wbr>')}</code></p>
${description && prose(description)}
${parameterFields.length > 0 ? `<h4>Parameters</h4>\n${fieldList(parameterFields)}` : ''}
${bodies.join('\n')}
<h4>Responses</h4>
<dl class="responses">${successes.map((response) => toResponse(document, response)).join('\n')}</dl>
${failures.length > 0 ? `<h4>Failures</h4>\n<ul class="failures">${failures.map(toFailure).join('')}</ul>` : ''}
</div>
<div class="examples">
${curlExamplesOf(document, reference)
  .map(({ title, command }) => code(title === '' ? 'curl' : `curl: ${title}`, command))
  .join('\n')}
${successes.flatMap(({ status, content }) => toExamples(status, content)).join('\n')}
</div>
</section>`;
}

function toResponse(document: OpenApi, { status, description, headers, content }: ReferenceResponse): string {
  const bodies = Object.entries(content).map(([type, { schema }]) => {
    const contentSchema = schema.contentSchema as Schema | undefined;
    return `<code>${escaped(type)}</code> ${schemaLink(contentSchema ?? schema)}`;
  });
  const links = headers.map((name) => `<a href="#header-${name.toLowerCase()}">${escaped(name)}</a>`);
  const whole = Object.values(content).find(({ schema }) => schemaNameOf(schema));
  const members = whole ? schemaFields(document, whole.schema) : '';
  return `<div><dt><span class="status">${status}</span> ${phrase(description)}</dt>
<dd>${bodies.length > 0 ? `<p>${bodies.join('<br>')}</p>` : ''}
${members && `<details><summary>Members</summary>${members}</details>`}
<details><summary>Headers</summary><p class="names">${links.join(', ')}</p></details></dd></div>`;
}

function toFailure(response: ReferenceResponse): string {
  const names = failuresOf(response);
  const links = names.map((name) => `<a href="#${name}"><code>${name}</code></a>`);
  const content = names.length > 0 ? links.join(' ') : phrase(response.description);
  return `<li><span class="status bad">${response.status}</span> ${content}</li>`;
}

function toExamples(status: string, content: ReferenceResponse['content']): string[] {
  return Object.entries(content)
    .filter(([, { example }]) => example !== undefined)
    .map(([type, { example }]) =>
      code(`${status} ${type}`, typeof example === 'string' ? example.trim() : JSON.stringify(example, null, 2)),
    );
}

const schemaLink = (schema: Schema): string => {
  const name = schemaNameOf(schema);
  return name ? `<a class="schema" href="#schema-${name}">${name}</a>` : '';
};

function schemaFields(document: OpenApi, schema: Schema): string {
  return fieldList(
    fieldsOf(document, schema).map((field) => ({
      ...field,
      kind: field.schemaName
        ? escaped(field.kind).replace(field.schemaName, `<a href="#schema-${field.schemaName}">${field.schemaName}</a>`)
        : escaped(field.kind),
    })),
  );
}

export function toSchemas(document: OpenApi): string {
  const { schemas, headers } = document.components;
  const sections = Object.entries(schemas).map(([name, schema]) => {
    const choices = (schema.oneOf as readonly Schema[] | undefined)?.map(schemaLink).join(', ');
    const { description = '' } = resolve(document, schema);
    return `<section class="schema" id="schema-${name}"><h3><a href="#schema-${name}">${name}</a></h3>
${description === '' ? '' : prose(String(description))}${choices ? `<p>One of ${choices}.</p>` : schemaFields(document, schema)}</section>`;
  });
  const rows = Object.entries(headers).map(([name, { description, schema, example }]) => ({
    name,
    kind: escaped(kindOf(schema)),
    description,
    more: `such as \`${example}\``,
  }));
  const list = fieldList(rows).replace(/<div><dt><code>([\w-]+)/g, (whole, name: string) =>
    whole.replace('<div>', `<div id="header-${name.toLowerCase()}">`),
  );
  return `<section class="group" id="schemas"><h2><a href="#schemas">Schemas</a></h2>\n${sections.join('\n')}\n</section>
<section class="group" id="headers"><h2><a href="#headers">Response headers</a></h2>\n${list}\n</section>`;
}

// docs/reference/grpc.md: what the protos say, as Markdown.
import { type ProtoReference, protoReference } from '../../gen/sonant/v1/reference.ts';
import { grpcurlOf } from '../../src/gateway/docs/grpcurl-example.ts';
import { anchorOf, cell, fence, table } from './markdown.ts';

type Service = ProtoReference['services'][number];

const named = new Set([...protoReference.messages, ...protoReference.enums].map(({ name }) => name));
const link = (name: string) => (named.has(name) ? `[${name}](#${anchorOf(name)})` : name);
const typeLinks = (type: string) => cell(type).replace(/[\w.]+$|[\w.]+(?=>$)/, link);

export function toGrpcMarkdown(): string {
  const { services, messages, enums } = protoReference;
  const contents = services.map(({ name, methods }) =>
    [`- [${name}](#${anchorOf(name)})`, ...methods.map((one) => `  - [${one.name}](#${anchorOf(one.name)})`)].join(
      '\n',
    ),
  );
  return [
    '# gRPC',
    '<!-- Written by `npm run gen:docs` from the comments of the protos. -->',
    'The package `sonant.v1`, from [proto/sonant/v1](../../proto/sonant/v1). It is spoken as gRPC at `127.0.0.1:50051`, and as Connect and gRPC-Web at the port of REST. Reflection and `grpc.health.v1` are served. What each failure means is in [rest.md](rest.md#failures): its word in upper case is the `reason` of the `google.rpc.ErrorInfo`.',
    [...contents, '- [Messages](#messages)', '- [Enums](#enums)'].join('\n'),
    ...services.map(toService),
    '## Messages',
    ...messages.map(({ name, comment, fields }) => {
      const rows = fields.map((field) => [
        ...[`\`${field.name}\``, String(field.number), typeLinks(field.type)],
        cell(field.comment) + (field.oneof ? ` One of \`${field.oneof}\`.` : ''),
      ]);
      const told = rows.length > 0 ? table(['field', 'no.', 'type', ''], rows) : 'It has no fields.';
      return [`### ${name}`, comment, told].join('\n\n');
    }),
    '## Enums',
    ...enums.map(({ name, comment, values }) => {
      const rows = values.map((value) => [`\`${value.name}\``, String(value.number), cell(value.comment)]);
      return [`### ${name}`, comment, table(['value', 'no.', ''], rows)].join('\n\n');
    }),
    '',
  ].join('\n\n');
}

const toService = (service: Service): string =>
  [
    `## ${service.name}`,
    service.comment,
    ...service.methods.flatMap((method) => [
      `### ${method.name}`,
      `Takes ${link(method.input)}, answers ${method.isStream ? 'a stream of ' : ''}${link(method.output)}.${
        method.scopes.length > 0 ? ` The key needs ${method.scopes.map((scope) => `\`${scope}\``).join(' and ')}.` : ''
      }`,
      method.comment,
      fence('text', grpcurlOf(protoReference, service.name, method)),
    ]),
  ].join('\n\n');

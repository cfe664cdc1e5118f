// Renders the gRPC part of /docs from the proto files: each method with its messages and a grpcurl command, then all
// messages and enums.
import { createRegistry } from '@bufbuild/protobuf';
import { file_sonant_v1_api_key } from '../../../gen/sonant/v1/api_key_pb.ts';
import { file_sonant_v1_job_service } from '../../../gen/sonant/v1/job_service_pb.ts';
import { file_sonant_v1_lexicon } from '../../../gen/sonant/v1/lexicon_pb.ts';
import { file_sonant_v1_model } from '../../../gen/sonant/v1/model_pb.ts';
import { type ProtoReference, protoReference } from '../../../gen/sonant/v1/reference.ts';
import { file_sonant_v1_speech } from '../../../gen/sonant/v1/speech_pb.ts';
import { file_sonant_v1_usage } from '../../../gen/sonant/v1/usage_pb.ts';
import { file_sonant_v1_voice } from '../../../gen/sonant/v1/voice_pb.ts';
import { schemaOf } from '../../contract/openapi.ts';
import { code, escaped, fieldList, prose } from './html-elements.ts';
import { moreOf } from './reference-model.ts';

type Service = ProtoReference['services'][number];
type Method = Service['methods'][number];

const messages = new Map(protoReference.messages.map((message) => [message.name, message]));
const enums = new Map(protoReference.enums.map((one) => [one.name, one]));
const registry = createRegistry(
  file_sonant_v1_api_key,
  file_sonant_v1_job_service,
  file_sonant_v1_lexicon,
  file_sonant_v1_model,
  file_sonant_v1_speech,
  file_sonant_v1_usage,
  file_sonant_v1_voice,
);
const idOf = (name: string) => `grpc-${name.replaceAll('.', '-')}`;
const link = (name: string) =>
  messages.has(name) || enums.has(name) ? `<a href="#${idOf(name)}">${escaped(name)}</a>` : escaped(name);

export const grpcServices: readonly Service[] = protoReference.services;

export function toGrpcSection(): string {
  return protoReference.services.map(toService).join('\n');
}

const toService = (service: Service) => `<section class="group" id="${idOf(service.name)}">
<h2><a href="#${idOf(service.name)}">${service.name}</a></h2>
${prose(service.comment)}
${service.methods.map((method) => toMethod(service, method)).join('\n')}
</section>`;

function toMethod({ name: service }: Service, method: Method): string {
  const id = idOf(method.name);
  const output = `${method.isStream ? 'stream of ' : ''}${link(method.output)}`;
  const scopes = method.scopes.map((scope) => `<code>${scope}</code>`).join(' and ');
  return `<section class="operation" id="${id}" aria-labelledby="${id}-title">
<div class="description">
<h3 id="${id}-title"><a href="#${id}">${method.name}</a></h3>
<p class="address"><span class="method rpc">RPC</span> <code>sonant.v1.<wbr>${service}/<wbr>${method.name}</code></p>
${prose(method.comment)}
${scopes && `<p>The key needs ${scopes}.</p>`}
<h4>Request ${link(method.input)}</h4>
${fieldsOf(method.input) || '<p>It has no fields.</p>'}
<h4>Response ${output}</h4>
${fieldsOf(method.output) || '<p>It has no fields.</p>'}
</div>
<div class="examples">
${code('grpcurl', grpcurlOf(protoReference, service, method))}
</div>
</section>`;
}

/** Limits and default of a field. The values of an enum are listed with the enum. */
function limitsOf(message: string, name: string): string {
  const field = registry.getMessage(`sonant.v1.${message}`)?.fields.find((each) => each.name === name);
  return field && !field.enum ? moreOf(schemaOf(field, 'request')) : '';
}

function fieldsOf(message: string): string {
  return fieldList(
    (messages.get(message)?.fields ?? []).map(({ name, number, type, comment, oneof }) => ({
      name,
      kind: `${typeLinks(type)} = ${number}`,
      description: comment,
      more: oneof ? `one of \`${oneof}\`` : limitsOf(message, name),
    })),
  );
}

/** Links the type name in `repeated Voice` and `map<string, Voice>`. */
const typeLinks = (type: string) => escaped(type).replace(/[\w.]+$|[\w.]+(?=&gt;$)/, link);

export function toMessages(): string {
  const parts = [...messages.values()].map(
    ({
      name,
      comment,
    }) => `<section class="schema" id="${idOf(name)}"><h3><a href="#${idOf(name)}">${escaped(name)}</a></h3>
${prose(comment)}${fieldsOf(name)}</section>`,
  );
  const choices = [...enums.values()].map(({ name, comment, values }) => {
    const list = fieldList(
      values.map((one) => ({ name: one.name, kind: `= ${one.number}`, description: one.comment })),
    );
    return `<section class="schema" id="${idOf(name)}"><h3><a href="#${idOf(name)}">${escaped(name)}</a></h3>
${prose(comment)}${list}</section>`;
  });
  return `<section class="group" id="grpc-messages"><h2><a href="#grpc-messages">Messages</a></h2>\n${parts.join('\n')}\n${choices.join('\n')}</section>`;
}

const examples: Readonly<Record<string, unknown>> = {
  voice_id: 'clara',
  text: 'Hello, world.',
  text_chunks: ['Hello, ', 'world.'],
  audio_id: 'aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H',
  key_id: 'key_01JD3Q8S6V5W2K9YB4XJ7M0C3F',
  name: 'Ada',
  language_code: 'en-US',
  speaker_name: 'Ada L.',
  reference_audio: '<base64>',
  consent_audio: '<base64>',
};

/** A grpcurl command with example values for the required fields; grpcurl learns the schema by server reflection. */
function grpcurlOf({ messages }: ProtoReference, service: string, method: { name: string; input: string }): string {
  const fields = messages.find(({ name }) => name === method.input)?.fields ?? [];
  const required = fields.filter(
    ({ name, comment }) => /\brequired\b|^Texts? to speak/.test(comment) && name in examples,
  );
  const body = Object.fromEntries(required.map(({ name }) => [name, examples[name]]));
  return [
    'grpcurl -plaintext -H "x-api-key: $SONANT_API_KEY"',
    ...(required.length > 0 ? [`-d '${JSON.stringify(body)}'`] : []),
    `127.0.0.1:50051 sonant.v1.${service}/${method.name}`,
  ].join(' \\\n  ');
}

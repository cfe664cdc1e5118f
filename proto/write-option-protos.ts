// Writes the protos of the options that Sonant's protos use, so that `protoc -I proto` needs no other folder:
// buf/validate/validate.proto (field rules) and google/api/{http,annotations}.proto (REST paths). They are written from
// the descriptors in npm packages. Comments are left out, and of the field rules all kinds that Sonant's protos do not
// use, which keeps the generated code small. Names and numbers are those of the originals, so compilers may use these
// instead. The syntax is proto3 in all three, because the generator for PHP refuses the proto2 of the field rules.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type DescExtension, type DescField, type DescFile, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { file_buf_validate_validate as rules } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { file_google_api_annotations as annotations } from '../gen/google/api/annotations_pb.ts';
import { file_google_api_http as http } from '../gen/google/api/http_pb.ts';

const folder = process.argv[2] ?? 'proto';
const keptRules = [
  'FieldRules',
  'StringRules',
  'Int32Rules',
  'UInt32Rules',
  'Int64Rules',
  'DoubleRules',
  'EnumRules',
  'RepeatedRules',
  'MapRules',
];
const ignore = rules.enums.find(({ name }) => name === 'Ignore')!;
const option = rules.extensions.find(({ name }) => name === 'field')!;
const kept = [...keptRules.map((name) => rules.messages.find((message) => message.name === name)!), ...http.messages];

const typeOf = ({ scalar, message, enum: values }: DescField | DescExtension) =>
  message?.name ?? values?.name ?? ScalarType[scalar!]!.toLowerCase();
const isKept = ({ message, enum: values }: DescField) =>
  (!message || kept.includes(message)) && (!values || values === ignore);

function toField(field: DescField | DescExtension): string {
  const isOptional = field.presence === FeatureSet_FieldPresence.EXPLICIT && !field.message;
  const label = field.fieldKind === 'list' ? 'repeated ' : isOptional ? 'optional ' : '';
  return `${field.oneof ? '' : label}${typeOf(field)} ${field.name} = ${field.number};`;
}

function toMessage({ name, fields, oneofs }: DescMessage): string[] {
  const own = fields.filter(isKept);
  const plain = own.filter(({ oneof }) => !oneof).map((field) => `  ${toField(field)}`);
  const groups = oneofs.flatMap((oneof) => {
    const members = own.filter((field) => field.oneof === oneof).map((field) => `    ${toField(field)}`);
    return members.length > 0 ? [`  oneof ${oneof.name} {`, ...members, '  }'] : [];
  });
  return [`message ${name} {`, ...plain, ...groups, '}', ''];
}

function write(path: string, about: string, { proto }: DescFile, imports: readonly string[], parts: string[][]): void {
  const { goPackage, javaPackage } = proto.options!;
  const lines = [
    `// ${about}`,
    '// Written by proto/write-option-protos.ts.',
    'syntax = "proto3";',
    '',
    `package ${proto.package};`,
    '',
    ...imports.map((name) => `import "${name}";`),
    ...(imports.length > 0 ? [''] : []),
    `option go_package = "${goPackage}";`,
    'option java_multiple_files = true;',
    `option java_package = "${javaPackage}";`,
    '',
    ...parts.flat(),
  ];
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), lines.join('\n'));
}

const extend = (target: string, field: DescExtension) => [`extend ${target} {`, `  ${toField(field)}`, '}', ''];
const descriptor = 'google/protobuf/descriptor.proto';
const ofGoogle = 'for REST paths, of https://github.com/googleapis/googleapis (Apache License 2.0).';
write(
  'buf/validate/validate.proto',
  'The field rules of https://protovalidate.com (Apache License 2.0) that our protos use.',
  rules,
  [descriptor],
  [
    extend('google.protobuf.FieldOptions', option),
    ...kept.filter(({ file }) => file === rules).map(toMessage),
    [`enum ${ignore.name} {`, ...ignore.values.map(({ name, number }) => `  ${name} = ${number};`), '}', ''],
  ],
);
write('google/api/http.proto', `The message ${ofGoogle}`, http, [], http.messages.map(toMessage));
write(
  'google/api/annotations.proto',
  `The option ${ofGoogle}`,
  annotations,
  ['google/api/http.proto', descriptor],
  [extend('google.protobuf.MethodOptions', annotations.extensions[0]!)],
);

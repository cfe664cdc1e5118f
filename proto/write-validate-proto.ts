// Writes proto/buf/validate/validate.proto, the standard options for field rules, from the descriptor in
// @bufbuild/protovalidate, because no npm package contains the file itself. The written file has only the kinds of
// rules that Sonant's protos use, which keeps the generated code small. The field numbers are those of the standard, so
// compilers of Sonant's protos may use the complete file instead.
import { writeFileSync } from 'node:fs';
import { type DescExtension, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { file_buf_validate_validate as file } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';

const kept = [
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
const messages = kept.map((name) => file.messages.find((message) => message.name === name)!);
const ignore = file.enums.find(({ name }) => name === 'Ignore')!;
const option = file.extensions.find(({ name }) => name === 'field')!;

const typeOf = ({ scalar, message, enum: values }: DescField | DescExtension) =>
  message?.name ?? values?.name ?? ScalarType[scalar!]!.toLowerCase();
const isKept = ({ message, enum: values }: DescField) =>
  (!message || messages.includes(message)) && (!values || values === ignore);

function toField(field: DescField | DescExtension): string {
  const label =
    field.fieldKind === 'list' ? 'repeated ' : field.presence === FeatureSet_FieldPresence.EXPLICIT ? 'optional ' : '';
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

const lines = [
  '// The field rules of https://protovalidate.com (Apache License 2.0) that our protos use.',
  '// Written by proto/write-validate-proto.ts.',
  'syntax = "proto2";',
  '',
  `package ${file.proto.package};`,
  '',
  'import "google/protobuf/descriptor.proto";',
  '',
  `option go_package = "${file.proto.options!.goPackage}";`,
  'option java_multiple_files = true;',
  `option java_package = "${file.proto.options!.javaPackage}";`,
  '',
  'extend google.protobuf.FieldOptions {',
  `  ${toField(option)}`,
  '}',
  '',
  ...messages.flatMap(toMessage),
  `enum ${ignore.name} {`,
  ...ignore.values.map(({ name, number }) => `  ${name} = ${number};`),
  '}',
  '',
];
writeFileSync(process.argv[2] ?? 'proto/buf/validate/validate.proto', lines.join('\n'));

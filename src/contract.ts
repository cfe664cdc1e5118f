// Messages: from and to JSON, their rules, and the OpenAPI document.

// Messages from and to JSON

export { type MemberNames, newReading, type Reading, readFrame, readMembers, readQuery } from './contract/decode.ts';
export { writeMessage } from './contract/encode.ts';
export { valuesOf } from './contract/values.ts';

// Rules and violations

export { checkRules, type Scope } from './contract/rules.ts';
export {
  type Fields,
  isObject,
  nameUnknown,
  throwNamed,
  toViolation,
  type UnknownField,
  unknownField,
  unknownFieldsMax,
  Violations,
} from './contract/violations.ts';

// Protos and OpenAPI

export {
  anyOfTexts,
  documentMethod,
  memberSchema,
  messageComment,
  requestSchema,
  type Schema,
  withNull,
} from './contract/openapi.ts';
export {
  type Endpoint,
  endpointsOf,
  enumNames,
  fieldOf,
  isFile,
  isOurs,
  membersOf,
  restOf,
} from './contract/schema.ts';

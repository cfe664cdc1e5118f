// Messages: from and to JSON, their rules, and the OpenAPI document.

// Messages from and to JSON

export { Reading, readFrame, readMembers, readQuery } from './contract/decode.ts';
export { writeMessage } from './contract/encode.ts';
export { valuesOf } from './contract/values.ts';

// Rules and violations

export { checkRules, type Scope } from './contract/rules.ts';
export {
  type Fields,
  isObject,
  nameUnknown,
  toViolation,
  type UnknownField,
  unknownField,
  unknownFieldsMax,
  Violations,
} from './contract/violations.ts';

// Protos and OpenAPI

export { bodySchema, documentMethod, memberSchema, messageSchema } from './contract/method-docs.ts';
export { endpointsOf, enumNames, fieldOf, isOurs, restOptions } from './contract/schema.ts';

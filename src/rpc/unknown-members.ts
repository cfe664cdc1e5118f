// Unknown members of a message in JSON, for Connect and gRPC-Web: left out and named in X-Ignored-Fields, or rejected where
// the service is strict, as REST does. Values of enums stay strict: the library's own option would ignore unknown ones too.
//     Connect, unary   the message                                                     application/json
//     else             1 byte flags, 4 bytes length, the message                       application/connect+json
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { type ContextKey, createContextKey } from '@connectrpc/connect';
import { Failure, type FieldViolation } from '../errors.ts';
import { headerText } from '../net/header-text.ts';
import { parseStrictJson } from '../net/strict-json.ts';
import { didYouMean } from '../runtime/nearest-name.ts';
import { atOnce, type Steps } from '../runtime/steps.ts';
import { headBytes, lengthOf, toEnvelope } from './envelope.ts';
import { ignoredMembersMax } from './limits.ts';

/** The names that were left out of the message of a call. */
export const ignoredMembersKey: ContextKey<string[]> = createContextKey<string[]>([], {
  description: 'ignored members',
});

export const toIgnoredHeader = (names: readonly string[]): string =>
  names.slice(0, ignoredMembersMax).map(headerText).join(', ');

/** The body without its unknown members, which are added to `ignored`; it must be JSON as REST takes it. */
export function withoutUnknown(body: Uint8Array, type: string, schema: DescMessage, ignored: string[]): Uint8Array {
  const isEnveloped = /^application\/(connect|grpc-web)\+json/i.test(type);
  if (!isEnveloped && !/^application\/json/i.test(type)) return body;
  if (isEnveloped && !isOneMessage(body)) return body;
  const message = parseStrictJson(isEnveloped ? body.subarray(headBytes) : body);
  const before = ignored.length;
  const known = atOnce(keepKnown(message, schema, '', ignored));
  if (ignored.length === before) return body;
  const bytes = Buffer.from(JSON.stringify(known));
  return isEnveloped ? toEnvelope(bytes) : bytes;
}

/** And not compressed; the library says what is wrong with others. */
const isOneMessage = (body: Uint8Array): boolean =>
  body.length >= headBytes && body[0] === 0 && lengthOf(body) === body.length - headBytes;

/** The value without unknown members, which are added to `ignored`. */
export function* keepKnown(value: unknown, schema: DescMessage, prefix: string, ignored: string[]): Steps<unknown> {
  if (!isOwn(schema) || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value)) {
    const field = fieldNamed(schema, name);
    const inner = field?.fieldKind === 'map' ? undefined : field?.message;
    if (!field) ignored.push(prefix + name);
    else if (!inner) kept.push([name, member]);
    else if (!Array.isArray(member)) kept.push([name, yield* keepKnown(member, inner, `${prefix}${name}.`, ignored)]);
    else {
      const items: unknown[] = [];
      for (const [i, item] of member.entries()) {
        items.push(yield* keepKnown(item, inner, `${prefix}${name}[${i}].`, ignored));
        yield;
      }
      kept.push([name, items]);
    }
  }
  return Object.fromEntries(kept);
}

/** Other packages have types with a form of their own in JSON, such as Timestamp. */
export const isOwn = ({ typeName }: DescMessage): boolean => typeName.startsWith('sonant.');

export const fieldNamed = ({ fields }: DescMessage, name: string): DescField | undefined =>
  fields.find(({ jsonName, name: own }) => name === jsonName || name === own);

/** For a service that is strict. */
export function rejectUnknown(names: readonly string[], schema: DescMessage): void {
  if (names.length === 0) return;
  throw new Failure('invalid_request', { details: violationsOf(names, schema, '; leave it out') });
}

/** The failure of a message; an invalid one is told of what was ignored too, which may be what it lacks, misspelt. */
export function nameIgnored(error: unknown, names: readonly string[], schema: DescMessage): unknown {
  if (!(error instanceof Failure) || error.reason !== 'invalid_request' || names.length === 0) return error;
  const { reason, facts, cause } = error;
  const details = [...(facts.details ?? []), ...violationsOf(names, schema, '')];
  return new Failure(reason, { ...facts, details }, cause);
}

/** The same of a stream of answers. */
export async function* namingIgnored<Answer>(
  answers: AsyncIterable<Answer>,
  names: readonly string[],
  schema: DescMessage,
): AsyncGenerator<Answer> {
  try {
    yield* answers;
  } catch (error) {
    throw nameIgnored(error, names, schema);
  }
}

function violationsOf(names: readonly string[], schema: DescMessage, otherwise: string): FieldViolation[] {
  return names.slice(0, ignoredMembersMax).map((field) => {
    const message = `means nothing here${didYouMean(field, namesBeside(field, schema)) || otherwise}`;
    return { field, reason: 'unknown', message };
  });
}

/** The members that a message has where the unknown one is, by their paths as it has one. */
function namesBeside(path: string, schema: DescMessage): string[] {
  const outer = path.split('.').slice(0, -1);
  let at: DescMessage | undefined = schema;
  for (const member of outer) at = at && fieldNamed(at, member.replace(/\[\d+\]$/, ''))?.message;
  const prefix = outer.map((member) => `${member}.`).join('');
  return at?.fields.map(({ name }) => prefix + name) ?? [];
}

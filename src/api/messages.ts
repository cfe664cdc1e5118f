// What messages of all services share: enum names, times, update masks, and the pages of a list. A cursor holds the
// position of the last item of the previous page, so that added or deleted items cause no gaps and no duplicates. A
// cursor is valid only for its list and filters.
import { createHash } from 'node:crypto';
import type { DescMessage, Message } from '@bufbuild/protobuf';
import type { GenEnum } from '@bufbuild/protobuf/codegenv2';
import { type FieldMask, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { enumNames, isOurs, type Violations } from '../contract.ts';
import { toLanguageCode } from '../platform/language-code.ts';
import { cursorCharsMax, pageSizeDefault, updatePathsMax } from './call-limits.ts';

/** The enum value with this name: `VoiceStatus.READY` for "ready". */
export const toEnum = <Value extends number>(desc: GenEnum<Value>, name: string): Value =>
  enumNames(desc).toNumber(name)! as Value;

/** The name of an enum value; undefined for the unspecified value. */
export const nameOf = <Name extends string>(desc: GenEnum<number>, value: number | undefined): Name | undefined =>
  value === undefined ? undefined : (enumNames(desc).toName(value) as Name | undefined);

export const toTime = (time: Date | number | null | undefined) =>
  time == null ? undefined : timestampFromMs(Number(time));

/** Removes undefined from the types of members, because `create` and `writeMessage` treat undefined as absent. */
export const defined = <T extends object>(fields: T) => fields as { [Name in keyof T]: Exclude<T[Name], undefined> };

export const unlessEmpty = <T>(items: readonly T[] | undefined): readonly T[] | undefined =>
  items?.length ? items : undefined;

/** The language code in canonical BCP-47. An empty or invalid code becomes empty. */
export function readLanguageCode(given: string, field: string, violations: Violations): string {
  const code = given === '' ? '' : toLanguageCode(given);
  if (code === undefined) violations.report(field, 'format', 'must be a BCP-47 language code such as en-US');
  return code ?? '';
}

/** The distinct paths of an update mask, or an empty set if the mask is invalid. */
export function pathsOf(desc: DescMessage, mask: FieldMask | undefined, violations: Violations): ReadonlySet<string> {
  const { paths } = mask ?? { paths: [] };
  const { length: actual } = paths;
  const allowed = changeable(desc);
  if (actual > updatePathsMax) {
    const message = `has ${actual} paths, over the limit of ${updatePathsMax}`;
    violations.report('update_mask', 'length', message, { limit: updatePathsMax, actual });
    return new Set();
  }
  // The mask of a JSON request contains only fields that could be read. If it is empty, the reason has already been
  // reported.
  if (mask && actual === 0 && violations.details.length > 0) return new Set();
  if (actual > 0 && paths.every((path) => allowed.includes(path))) return new Set(paths);
  violations.report('update_mask', 'enum', `must name at least one of ${allowed.join(', ')}`, { allowed });
  return new Set();
}

/** Reports fields that this version of the protos does not have. The keys are the paths of the messages. */
export function reportUnknown(messages: Readonly<Record<string, Message | undefined>>, violations: Violations): void {
  for (const [path, message] of Object.entries(messages))
    for (const { no } of message?.$unknown ?? [])
      violations.report(path, 'unknown', `field ${no} is not a known field; remove it`);
}

const changeable = (desc: DescMessage): string[] =>
  desc.fields.flatMap(({ fieldKind, name, message }) =>
    fieldKind === 'message' && isOurs(message!)
      ? [name, ...message!.fields.map((inner) => `${name}.${inner.name}`)]
      : [name],
  );

interface Page {
  size: number;
  /** Position of the last item of the previous page; undefined for the first page. */
  after: string | undefined;
  /** Prefix of the list's cursors. */
  tokenPrefix: string;
}

/** Parses the requested page of a list. `list` is the name of the list and its filters. */
export function pageOf(
  { limit = pageSizeDefault, cursor }: { limit?: number | undefined; cursor: string },
  list: readonly string[],
  violations: Violations,
): Page {
  const tokenPrefix = createHash('sha256').update(JSON.stringify(list)).digest('base64url').slice(0, prefixChars);
  const isReadable = cursor !== '' && cursor.length <= cursorCharsMax;
  const after = isReadable ? fromToken(cursor, tokenPrefix) : undefined;
  if (cursor !== '' && after === undefined)
    violations.report('cursor', 'format', 'must be a next_cursor that this list returned for the same filter');
  return { size: limit, after, tokenPrefix };
}

/** Cuts the items to the page size. The cursor of the next page is empty on the last page. */
export function toPage<Item>(items: readonly Item[], page: Page, positionOf: (item: Item) => string) {
  const first = items.slice(0, page.size);
  const hasMore = items.length > page.size;
  return { items: first, nextCursor: hasMore ? toToken(positionOf(first.at(-1)!), page.tokenPrefix) : '' };
}

const prefixChars = 8;
const toToken = (position: string, prefix: string) => Buffer.from(prefix + position).toString('base64url');

function fromToken(token: string, prefix: string): string | undefined {
  const position = Buffer.from(token, 'base64url').toString().slice(prefix.length);
  return toToken(position, prefix) === token ? position : undefined;
}

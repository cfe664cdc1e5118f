// What handlers share: names of enum values, pages, update masks, and times.
import type { DescMessage, Message } from '@bufbuild/protobuf';
import type { GenEnum } from '@bufbuild/protobuf/codegenv2';
import { type FieldMask, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { enumNames, isOurs } from '../contract/schema.ts';
import type { Violations } from '../contract/violations.ts';
import type { FieldViolation } from '../errors.ts';
import { updatePathsMax } from './limits.ts';
import { type Page, parsePage } from './page.ts';

/** The value of an enum by its name: VoiceStatus.READY by "ready". */
export const toEnum = <Value extends number>(desc: GenEnum<Value>, name: string): Value =>
  enumNames(desc).toNumber(name)! as Value;

/** The name of a value; undefined for the unspecified one. */
export const nameOf = <Name extends string>(desc: GenEnum<number>, value: number | undefined): Name | undefined =>
  value === undefined ? undefined : (enumNames(desc).toName(value) as Name | undefined);

export const toTime = (time: Date | undefined) => time && timestampFromDate(time);

/** The same members by a type of which messages are made: both `create` and `writeMessage` take undefined for absent. */
export const defined = <T extends object>(fields: T) => fields as { [Name in keyof T]: Exclude<T[Name], undefined> };

export const unlessEmpty = <T>(items: readonly T[] | undefined): readonly T[] | undefined =>
  items?.length ? items : undefined;

/** The requested page of a list, which is identified by its name and filters. */
export function pageOf(
  { limit, cursor }: { limit?: number | undefined; cursor: string },
  list: readonly string[],
  violations: Violations,
): Page {
  const found: FieldViolation[] = [];
  const page = parsePage({ limit, cursor }, list, found);
  violations.add(found);
  return page;
}

/** The paths of an update mask, each once; none where they are not valid. */
export function pathsOf(desc: DescMessage, mask: FieldMask | undefined, violations: Violations): ReadonlySet<string> {
  const { paths } = mask ?? { paths: [] };
  const { length: actual } = paths;
  const allowed = changeable(desc);
  if (actual > updatePathsMax) {
    const message = `has ${actual} paths, over the limit of ${updatePathsMax}`;
    violations.report('update_mask', 'length', message, { limit: updatePathsMax, actual });
    return new Set();
  }
  // The mask of a request in JSON is what could be read: why that is nothing has been reported.
  if (mask && actual === 0 && violations.details.length > 0) return new Set();
  if (actual > 0 && paths.every((path) => allowed.includes(path))) return new Set(paths);
  violations.report('update_mask', 'enum', `must name what changes, of ${allowed.join(', ')}`, { allowed });
  return new Set();
}

/** Reports the fields of messages that are not in this version of the protos, by the paths of the messages. */
export function reportUnknown(messages: Readonly<Record<string, Message | undefined>>, violations: Violations): void {
  for (const [path, message] of Object.entries(messages))
    for (const { no } of message?.$unknown ?? [])
      violations.report(path, 'unknown', `field ${no} means nothing here; leave it out`);
}

const changeable = (desc: DescMessage): string[] =>
  desc.fields.flatMap(({ fieldKind, name, message }) =>
    fieldKind === 'message' && isOurs(message!)
      ? [name, ...message!.fields.map((inner) => `${name}.${inner.name}`)]
      : [name],
  );

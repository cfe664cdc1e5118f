// Helpers that handlers share, for enum names, update masks and times.
import type { DescMessage, Message } from '@bufbuild/protobuf';
import type { GenEnum } from '@bufbuild/protobuf/codegenv2';
import { type FieldMask, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { enumNames, isOurs, type Violations } from '../contract.ts';
import { updatePathsMax } from './call-limits.ts';

/** The enum value with this name: `VoiceStatus.READY` for "ready". */
export const toEnum = <Value extends number>(desc: GenEnum<Value>, name: string): Value =>
  enumNames(desc).toNumber(name)! as Value;

/** The name of an enum value; undefined for the unspecified value. */
export const nameOf = <Name extends string>(desc: GenEnum<number>, value: number | undefined): Name | undefined =>
  value === undefined ? undefined : (enumNames(desc).toName(value) as Name | undefined);

export const toTime = (time: Date | undefined) => time && timestampFromDate(time);

/** Removes undefined from the types of members, because `create` and `writeMessage` treat undefined as absent. */
export const defined = <T extends object>(fields: T) => fields as { [Name in keyof T]: Exclude<T[Name], undefined> };

export const unlessEmpty = <T>(items: readonly T[] | undefined): readonly T[] | undefined =>
  items?.length ? items : undefined;

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

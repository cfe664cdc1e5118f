// Checks of required fields: ids and update masks.
import type { Message } from '@bufbuild/protobuf';
import type { FieldMask } from '@bufbuild/protobuf/wkt';
import { updatePathsMax } from '../api/limits.ts';
import { Failure, type FieldViolation } from '../errors.ts';

/** The value of the field, which must not be empty. */
export function requireText(field: string, value: string, message: string): string {
  if (value.includes('\0'))
    throw new Failure('invalid_request', {
      details: [{ field, reason: 'encoding', message: 'holds a NUL character' }],
    });
  if (value !== '') return value;
  throw new Failure('invalid_request', { details: [{ field, reason: 'required', message }] });
}

/** The paths of the mask, each once: at least one, each a key of `known`. */
export function requirePaths(mask: FieldMask | undefined, known: object): readonly string[] {
  const paths = mask?.paths ?? [];
  const { length: actual } = paths;
  if (actual > updatePathsMax) {
    const message = `has ${actual} paths, over the limit of ${updatePathsMax}`;
    const details: FieldViolation[] = [{ field: 'update_mask', reason: 'length', message }];
    throw new Failure('invalid_request', { details, limit: updatePathsMax, actual });
  }
  if (actual > 0 && paths.every((path) => Object.hasOwn(known, path))) return [...new Set(paths)];
  const allowed = Object.keys(known);
  const message = `must name what changes, of ${allowed.join(', ')}`;
  throw new Failure('invalid_request', { details: [{ field: 'update_mask', reason: 'enum', message, allowed }] });
}

/** The fields of messages that are not in this version of the protos, by the paths of the messages. */
export const unknownFields = (messages: Readonly<Record<string, Message | undefined>>): FieldViolation[] =>
  Object.entries(messages).flatMap(([path, message]) =>
    (message?.$unknown ?? []).map(({ no }) => ({
      field: path,
      reason: 'unknown',
      message: `field ${no} means nothing here; leave it out`,
    })),
  );

// Checks of required fields: ids and update masks.
import type { FieldMask } from '@bufbuild/protobuf/wkt';
import { Failure } from '../errors.ts';
import { updatePathsMax } from '../operations/limits.ts';

/** The value of the field, which must not be empty. */
export function requireText(field: string, value: string, message: string): string {
  if (value !== '') return value;
  throw new Failure('invalid_request', { details: [{ field, reason: 'required', message }] });
}

/** The paths of the mask, each once: at least one, each a key of `known`. */
export function requirePaths(mask: FieldMask | undefined, known: object): readonly string[] {
  const paths = mask?.paths ?? [];
  const { length: actual } = paths;
  if (actual > updatePathsMax) {
    const message = `has ${actual} paths, over the limit of ${updatePathsMax}`;
    const details = [{ field: 'update_mask', reason: 'length', message }];
    throw new Failure('invalid_request', { details, limit: updatePathsMax, actual });
  }
  if (actual > 0 && paths.every((path) => Object.hasOwn(known, path))) return [...new Set(paths)];
  const message = `must name what changes, of ${Object.keys(known).join(', ')}`;
  throw new Failure('invalid_request', { details: [{ field: 'update_mask', reason: 'enum', message }] });
}

/** The names of the page fields in the protos. */
export const pageNames = { size: 'page_size', token: 'page_token', next: 'next_page_token' };

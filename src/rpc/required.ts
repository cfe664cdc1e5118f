// Checks of required fields.
import { Failure } from '../errors.ts';

/** The value of the field, which must not be empty. */
export function requireText(field: string, value: string, message: string): string {
  if (value.includes('\0'))
    throw new Failure('invalid_request', {
      details: [{ field, reason: 'encoding', message: 'contains a NUL character' }],
    });
  if (value !== '') return value;
  throw new Failure('invalid_request', { details: [{ field, reason: 'required', message }] });
}

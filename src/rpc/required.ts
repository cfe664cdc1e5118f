// Checks of required fields.
import { Failure } from '../errors.ts';

/** Returns the field's value. Throws a Failure if it is empty. */
export function requireText(field: string, value: string, message: string): string {
  if (value.includes('\0'))
    throw new Failure('invalid_request', {
      details: [{ field, reason: 'encoding', message: 'holds a NUL character' }],
    });
  if (value !== '') return value;
  throw new Failure('invalid_request', { details: [{ field, reason: 'required', message }] });
}

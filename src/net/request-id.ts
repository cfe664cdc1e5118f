// The id of a request and the version of the API, which every reply carries.
import { createId } from '../runtime/id.ts';

export const apiVersion = '1.0.0';

/** The caller's own id if it is safe to repeat in a header, else a new one. */
export const toRequestId = (theirs: unknown): string =>
  typeof theirs === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(theirs) ? theirs : createId('req');

// What every reply begins with, through any door: the id of the request, the caller's own where it is of a form that is
// safe to repeat, and the version of the API.
import { createId } from '../id.ts';

export const apiVersion = '1.0.0';

export const toRequestId = (theirs: unknown): string =>
  typeof theirs === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(theirs) ? theirs : createId('req');

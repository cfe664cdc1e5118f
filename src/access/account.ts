// The account that a key belongs to: the root of its descent. That is the person or client who signed in, or the first key
// that the operator or an admin made; all keys that descend from it share the account, and rotation does not change it.
import type { ApiKeyRow } from '../store/api-key-rows.ts';

/** The id of the account: that of its root. */
export const accountOf = ({ path, ownerId }: Pick<ApiKeyRow, 'path' | 'ownerId'>): string =>
  path.split('/', 1)[0] || ownerId;

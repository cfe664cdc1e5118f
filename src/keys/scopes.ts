// Scopes: what a key may do. Their names are part of the contract (wire contract section 7).

export const scopes = [
  'speech:synthesize',
  'speech:stream',
  'voices:read',
  'voices:write',
  'jobs:read',
  'jobs:write',
  'keys:read',
  'keys:write',
  'usage:read',
  'admin',
] as const;

export type Scope = (typeof scopes)[number];

/** What a new key may do unless its maker says otherwise. */
export const defaultScopes: readonly Scope[] = ['speech:synthesize', 'speech:stream', 'voices:read'];

/** The key of the first start makes the others; `admin` is only ever given by hand. */
export const firstKeyScopes: readonly Scope[] = scopes.filter((scope) => scope !== 'admin');

export const isScope = (name: string): name is Scope => scopes.some((scope) => scope === name);

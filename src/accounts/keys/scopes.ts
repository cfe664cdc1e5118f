// The scopes of keys. Their names are part of the API.

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

/** The scopes of a new key if none are given. */
export const defaultScopes: readonly Scope[] = ['speech:synthesize', 'speech:stream', 'voices:read'];

/** The first key belongs to the operator, so it has all scopes. */
export const firstKeyScopes: readonly Scope[] = scopes;

export const isScope = (name: string): name is Scope => scopes.some((scope) => scope === name);

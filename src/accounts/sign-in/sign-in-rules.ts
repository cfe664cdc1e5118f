// Rules for who may create keys after signing in: by subject, by domain of a verified e-mail address, or by group. If
// there are no rules, nobody may create keys. The first person to sign in has no more rights than others.
import { createHash } from 'node:crypto';
import { Failure } from '../../platform/errors.ts';
import { isScope, type KeyCaller, keyDefaults, type Scope } from '../keys/caller.ts';

/** The issuer's claims about a person. */
export interface Claims {
  iss: string;
  sub: string;
  email?: unknown;
  email_verified?: unknown;
  name?: unknown;
  groups?: unknown;
}

export interface SignInRules {
  subjects: readonly string[];
  domains: readonly string[];
  groups: readonly string[];
}

/** Throws `access_denied` if no rule allows the person. */
export function checkSignInRules({ subjects, domains, groups }: SignInRules, claims: Claims): void {
  const { sub, email, email_verified, groups: own } = claims;
  const domain = email_verified === true && typeof email === 'string' ? email.split('@').at(-1)!.toLowerCase() : '';
  const mayByDomain = domain !== '' && domains.some((allowed) => allowed.toLowerCase() === domain);
  const mayByGroup = Array.isArray(own) && groups.some((group) => own.includes(group));
  if (subjects.includes('*') || subjects.includes(sub) || mayByDomain || mayByGroup) return;
  throw new Failure('access_denied', {
    message: 'You have signed in, but the operator has not allowed you to create keys.',
  });
}

/** Returns only the claims that the rules use, and only the groups that the rules name. */
export function claimsOfRules(
  { groups }: SignInRules,
  { iss, sub, email, email_verified, groups: own }: Claims,
): Claims {
  const named = Array.isArray(own) ? groups.filter((group) => own.includes(group)) : [];
  return { iss, sub, email, email_verified, groups: named };
}

/** The scopes of bearer tokens and sessions, and the lifetime of tokens. A client may request fewer scopes. */
export const keyTokens: { scopes: readonly Scope[]; seconds: number } = {
  scopes: ['keys:read', 'keys:write'],
  seconds: 900,
};

/** Returns a caller that may only manage keys. `id` permanently identifies the person or client. */
export function toKeyHolder(kind: 'user' | 'client', id: string, keyScopes: readonly string[]): KeyCaller {
  const holderId = `${kind === 'user' ? 'usr' : 'cli'}_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
  const given = keyScopes.length > 0 ? keyScopes : [...keyDefaults.scopes, 'usage:read'];
  const scopes: readonly Scope[] = given.filter(isScope);
  return {
    callerId: holderId,
    keyId: holderId,
    accountId: holderId,
    actorName: `${kind}:${id}`,
    scopes: keyTokens.scopes,
    limits: keyDefaults.limits,
    grant: { range: { path: `${holderId}/` }, scopes, limits: keyDefaults.limits },
  };
}

export const toUserId = ({ iss, sub }: Pick<Claims, 'iss' | 'sub'>): string => `${iss}|${sub}`;

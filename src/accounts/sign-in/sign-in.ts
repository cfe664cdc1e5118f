// Sign-in for managing keys: people sign in at the issuer; machines use client credentials or exchange a token of the
// issuer. There is no session table: sessions are encrypted cookies, bearer tokens are encrypted strings, and both are
// short-lived.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Failure } from '../../platform/errors.ts';
import { isScope, type KeyCaller, keyDefaults, type Scope } from '../keys/caller.ts';
import type { Claims, Issuer, LoginFacts } from './oidc-issuer.ts';
import type { Seal } from './sealed-tokens.ts';

/** A person who has signed in. */
export interface Session {
  holder: KeyCaller;
  /** The name of the person, for display. */
  name: string;
  /** The token that every change from a page must carry. */
  csrf: string;
}

export type SignIn = ReturnType<typeof createSignIn>;

export interface SignInOptions {
  seal: Seal;
  /** Undefined if no issuer is configured. */
  issuer: Issuer | undefined;
  signInRules: SignInRules;
  /** Each client is "id:SHA-256 of its secret". */
  clients: readonly string[];
  keyScopes: readonly string[];
}

const loginSeconds = 600;
const sessionSeconds = 3600;
const noHash = Buffer.alloc(32);

export function createSignIn({ seal, issuer, signInRules, clients, keyScopes }: SignInOptions) {
  const hashes = new Map(
    clients.map((client) => {
      const [id = '', hash = ''] = client.split(':');
      return [id, Buffer.from(hash, 'hex')] as const;
    }),
  );
  const requireIssuer = (): Issuer => {
    if (!issuer) throw new Failure('oauth_not_configured');
    return issuer;
  };
  const toSealed = (claims: Claims) => {
    checkSignInRules(signInRules, claims);
    const name = String(claims.name ?? claims.email ?? claims.sub).slice(0, 100);
    return { kind: 'user', name, claims: claimsOfRules(signInRules, claims) };
  };
  /** Checks the current rules each time, because the session may have been created under older rules. */
  const toHolder = (facts: Readonly<Record<string, unknown>>): KeyCaller => {
    if (facts.kind === 'client') {
      const id = String(facts.id);
      if (!hashes.has(id)) throw new Failure('invalid_token');
      return toKeyHolder('client', id, keyScopes);
    }
    const claims = facts.claims as Claims;
    checkSignInRules(signInRules, claims);
    return toKeyHolder('user', toUserId(claims), keyScopes);
  };

  return {
    hasIssuer: issuer !== undefined,
    /** Lifetimes of the cookies of `begin` and `finish`. */
    loginSeconds,
    sessionSeconds,
    /** Returns the URL to redirect to, and a cookie for `finish`. */
    async begin(redirectUri: string): Promise<{ url: string; cookie: string }> {
      const { url, facts } = await requireIssuer().begin(redirectUri);
      return { url, cookie: await seal.close('login', { ...facts }, loginSeconds) };
    },
    /** Returns the session cookie of the person who was redirected to `url` with the cookie of `begin`. */
    async finish(url: URL, loginCookie: string | undefined): Promise<string> {
      const knownIssuer = requireIssuer();
      const facts = await seal.open('login', loginCookie);
      if (!facts) {
        const message =
          'No sign-in is in progress in this browser, or it took too long. Start again at /oauth/get-key.';
        throw new Failure('invalid_request', { message });
      }
      const person = toSealed(await knownIssuer.finish(url, facts as unknown as LoginFacts));
      return seal.close('session', { ...person, csrf: randomBytes(18).toString('base64url') }, sessionSeconds);
    },
    async session(cookie: string | undefined): Promise<Session | undefined> {
      const facts = await seal.open('session', cookie);
      return facts && { holder: toHolder(facts), name: String(facts.name), csrf: String(facts.csrf) };
    },
    /** Returns the caller of a bearer token. Throws `invalid_token`. */
    async verifyToken(token: string): Promise<KeyCaller> {
      const facts = await seal.open('access', token);
      if (!facts) throw new Failure('invalid_token');
      const given = (facts.scopes as readonly string[] | undefined) ?? keyTokens.scopes;
      return { ...toHolder(facts), scopes: keyTokens.scopes.filter((scope) => given.includes(scope)) };
    },
    /** Returns a bearer token with some of `keyTokens.scopes`. Undefined if the client's id or secret is wrong. */
    async tokenForClient(id: string, secret: string, scopes: readonly Scope[]): Promise<string | undefined> {
      // Checking an unknown client takes as long as checking a wrong secret.
      const hash = hashes.get(id) ?? noHash;
      const isRight = timingSafeEqual(createHash('sha256').update(secret).digest(), hash);
      return isRight && hashes.has(id)
        ? seal.close('access', { kind: 'client', id, scopes }, keyTokens.seconds)
        : undefined;
    },
    /** Exchanges a token of the issuer for a bearer token with some of `keyTokens.scopes`. */
    async tokenForToken(token: string, scopes: readonly Scope[]): Promise<string> {
      const person = toSealed(await requireIssuer().verify(token));
      return seal.close('access', { ...person, scopes }, keyTokens.seconds);
    },
  };
}

// Rules for who may create keys after signing in: by subject, by domain of a verified e-mail address, or by group. If
// there are no rules, nobody may create keys. The first person to sign in has no more rights than others.

interface SignInRules {
  subjects: readonly string[];
  domains: readonly string[];
  groups: readonly string[];
}

/** Throws `access_denied` if no rule allows the person. */
function checkSignInRules({ subjects, domains, groups }: SignInRules, claims: Claims): void {
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
function claimsOfRules({ groups }: SignInRules, { iss, sub, email, email_verified, groups: own }: Claims): Claims {
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

const toUserId = ({ iss, sub }: Pick<Claims, 'iss' | 'sub'>): string => `${iss}|${sub}`;

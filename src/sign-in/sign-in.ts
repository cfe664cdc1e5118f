// Signing in, to manage keys: people through the issuer, machines by client credentials or by exchanging a token of the
// issuer. There is no table of sessions: a session is a sealed cookie, a bearer token a sealed text, and both end soon.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Failure } from '../errors.ts';
import type { KeyCaller } from '../keys/key-verifier.ts';
import type { Seal } from '../secrets/seal.ts';
import type { Issuer, LoginFacts } from './oidc-issuer.ts';
import {
  type Claims,
  checkSignInRules,
  claimsOfRules,
  type SignInRules,
  toKeyHolder,
  toUserId,
} from './sign-in-rules.ts';

/** Someone who has signed in. */
export interface Session {
  holder: KeyCaller;
  /** A name to greet them by. */
  name: string;
  /** Must come with whatever a page of theirs changes. */
  csrf: string;
}

export interface SignIn {
  /** Whether people can sign in at all. */
  readonly hasIssuer: boolean;
  /** Where to send somebody, and the cookie to bring back. */
  begin(redirectUri: string): Promise<{ url: string; cookie: string }>;
  /** The cookie of the session of who comes back with that cookie to that address. */
  finish(url: URL, loginCookie: string | undefined): Promise<string>;
  session(cookie: string | undefined): Promise<Session | undefined>;
  /** Whom a bearer token is for, or a Failure `invalid_token`. */
  verifyToken(token: string): Promise<KeyCaller>;
  /** A bearer token for a machine that is known here; undefined for one that is not. */
  tokenForClient(id: string, secret: string): Promise<string | undefined>;
  /** A bearer token for whom the issuer has given its own. */
  tokenForToken(token: string): Promise<string>;
}

export interface SignInOptions {
  seal: Seal;
  /** Undefined where nobody can sign in. */
  issuer: Issuer | undefined;
  signInRules: SignInRules;
  /** Each "id:SHA-256 of its secret". */
  clients: readonly string[];
  keyScopes: readonly string[];
}

export const loginSeconds = 600;
export const sessionSeconds = 3600;
export const tokenSeconds = 900;
const noHash = Buffer.alloc(32);

export function createSignIn({ seal, issuer, signInRules, clients, keyScopes }: SignInOptions): SignIn {
  const hashes = new Map(
    clients.map((client) => {
      const [id = '', hash = ''] = client.split(':');
      return [id, Buffer.from(hash, 'hex')] as const;
    }),
  );
  const needIssuer = (): Issuer => {
    if (!issuer) throw new Failure('oauth_not_configured');
    return issuer;
  };
  const allowed = (claims: Claims) => {
    checkSignInRules(signInRules, claims);
    const name = String(claims.name ?? claims.email ?? claims.sub).slice(0, 100);
    return { kind: 'user', name, claims: claimsOfRules(signInRules, claims) };
  };
  /** The rules are asked each time: what was sealed under others before counts for nothing. */
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
    async begin(redirectUri) {
      const { url, facts } = await needIssuer().begin(redirectUri);
      return { url, cookie: await seal.close('login', { ...facts }, loginSeconds) };
    },
    async finish(url, loginCookie) {
      const known = needIssuer();
      const facts = await seal.open('login', loginCookie);
      if (!facts) {
        const message =
          'There is no sign-in under way in this browser, or it took too long; start again at /oauth/get-key.';
        throw new Failure('invalid_request', { message });
      }
      const person = allowed(await known.finish(url, facts as unknown as LoginFacts));
      return seal.close('session', { ...person, csrf: randomBytes(18).toString('base64url') }, sessionSeconds);
    },
    async session(cookie) {
      const facts = await seal.open('session', cookie);
      return facts && { holder: toHolder(facts), name: String(facts.name), csrf: String(facts.csrf) };
    },
    async verifyToken(token) {
      const facts = await seal.open('access', token);
      if (!facts) throw new Failure('invalid_token');
      return toHolder(facts);
    },
    async tokenForClient(id, secret) {
      // A client that is unknown takes as long as a wrong secret.
      const hash = hashes.get(id) ?? noHash;
      const isRight = timingSafeEqual(createHash('sha256').update(secret).digest(), hash);
      return isRight && hashes.has(id) ? seal.close('access', { kind: 'client', id }, tokenSeconds) : undefined;
    },
    async tokenForToken(token) {
      return seal.close('access', allowed(await needIssuer().verify(token)), tokenSeconds);
    },
  };
}

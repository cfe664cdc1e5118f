// The operator's OpenID Connect issuer: sending people there to sign in (authorization code with PKCE, state and nonce;
// RFC 6749, RFC 7636, OpenID Connect Core), and believing the tokens that it has signed. What the issuer publishes of
// itself is asked for when it is first needed, and again after a failure; its keys are looked up anew when they change.
import { Failure } from '../errors.ts';
import type { Claims } from './who-may.ts';

export interface IssuerOptions {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Whom tokens must be for. */
  audience: string;
  /** Believe it without TLS. */
  isInsecure: boolean;
}

/** What must be remembered until somebody comes back. */
export interface LoginFacts {
  codeVerifier: string;
  state: string;
  nonce: string;
}

export interface Issuer {
  begin(redirectUri: string): Promise<{ url: string; facts: LoginFacts }>;
  /** Who has come back to `url`; a Failure `invalid_request` if that is not the end of what was begun. */
  finish(url: URL, facts: LoginFacts): Promise<Claims>;
  /** Whose token this is; a Failure `invalid_token` if it is not a good one of this issuer for us. */
  verify(token: string): Promise<Claims>;
}

const timeoutSeconds = 10;
const clockToleranceSeconds = 5;
/** Keys are asked for again for a token that none of them has signed, but not more often than this. */
const keysAgainMs = 1_000;
const tokenCharsMax = 16 * 1024;

export function createIssuer({ issuer, clientId, clientSecret, audience, isInsecure }: IssuerOptions): Issuer {
  const open = async () => {
    const [oidc, jose] = await Promise.all([import('openid-client'), import('jose')]);
    const authentication = clientSecret === '' ? oidc.None() : oidc.ClientSecretBasic(clientSecret);
    const execute = isInsecure ? [oidc.allowInsecureRequests] : [];
    const config = await oidc.discovery(new URL(issuer), clientId, undefined, authentication, {
      execute,
      timeout: timeoutSeconds,
    });
    const { jwks_uri } = config.serverMetadata();
    if (!jwks_uri) throw new Error('the issuer names no jwks_uri');
    const keys = jose.createRemoteJWKSet(new URL(jwks_uri), {
      timeoutDuration: timeoutSeconds * 1000,
      cooldownDuration: keysAgainMs,
    });
    return { oidc, jose, config, keys };
  };
  let opening: ReturnType<typeof open> | undefined;
  const opened = () => {
    opening ??= open();
    return opening.catch((cause: unknown) => {
      opening = undefined;
      const message = 'The issuer where people sign in does not answer; try again.';
      throw new Failure('engine_unavailable', { message, retryAfterSeconds: 5 }, cause);
    });
  };

  return {
    async begin(redirectUri) {
      const { oidc, config } = await opened();
      const facts = {
        codeVerifier: oidc.randomPKCECodeVerifier(),
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
      };
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        code_challenge: await oidc.calculatePKCECodeChallenge(facts.codeVerifier),
        code_challenge_method: 'S256',
        state: facts.state,
        nonce: facts.nonce,
      });
      return { url: url.href, facts };
    },

    async finish(url, { codeVerifier, state, nonce }) {
      const { oidc, config } = await opened();
      const checks = {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      };
      try {
        const tokens = await oidc.authorizationCodeGrant(config, url, checks);
        const claims = tokens.claims()!;
        // Some issuers tell of a person only where they are asked.
        const more = claims.email
          ? {}
          : await oidc.fetchUserInfo(config, tokens.access_token, claims.sub).catch(() => ({}));
        return { ...more, ...claims };
      } catch (cause) {
        const message = 'The sign-in did not come to a good end; start again at /oauth/get-key.';
        throw new Failure('invalid_request', { message }, cause);
      }
    },

    async verify(token) {
      if (token.length > tokenCharsMax) throw new Failure('invalid_token');
      const { jose, config, keys } = await opened();
      try {
        const options = { issuer: config.serverMetadata().issuer, audience, clockTolerance: clockToleranceSeconds };
        const { payload } = await jose.jwtVerify(token, keys, { ...options, requiredClaims: ['sub', 'exp'] });
        return { ...payload, iss: payload.iss!, sub: payload.sub! };
      } catch (cause) {
        throw new Failure('invalid_token', {}, cause);
      }
    },
  };
}

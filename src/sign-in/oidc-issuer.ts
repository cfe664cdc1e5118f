// The operator's OpenID Connect issuer: sending people there to sign in (authorization code with PKCE, state and nonce;
// RFC 6749, RFC 7636, OpenID Connect Core), and believing the tokens that it has signed. What the issuer publishes of
// itself is asked for when it is first needed, and again after a failure; its keys are looked up anew when they change.
import { Failure } from '../errors.ts';
import type { Claims } from './sign-in-rules.ts';

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
/** Those with a public key alone. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Access and ID tokens, and nothing else that an issuer signs. */
const types = /^(application\/)?(at\+)?jwt$/i;
const tokenCharsMax = 16 * 1024;

const away = (cause: unknown) =>
  new Failure(
    'engine_unavailable',
    { message: 'The issuer where people sign in does not answer; try again.', retryAfterSeconds: 5 },
    cause,
  );

/** Whether it is the issuer's keys that could not be had. */
const isAway = (cause: unknown) => {
  const { code } = (cause ?? {}) as { code?: string };
  return (
    cause instanceof TypeError || code === 'ERR_JWKS_TIMEOUT' || code === 'ERR_JOSE_GENERIC' || code === 'OAUTH_TIMEOUT'
  );
};

export function createIssuer({ issuer, clientId, clientSecret, audience, isInsecure }: IssuerOptions): Issuer {
  const open = async () => {
    const [oidc, jose] = await Promise.all([import('openid-client'), import('jose')]);
    const authentication = clientSecret === '' ? oidc.None() : oidc.ClientSecretBasic(clientSecret);
    const execute = isInsecure ? [oidc.allowInsecureRequests] : [];
    const config = await oidc.discovery(new URL(issuer), clientId, undefined, authentication, {
      execute,
      timeout: timeoutSeconds,
    });
    // A token's signature counts, however it came here.
    oidc.enableNonRepudiationChecks(config);
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
      throw away(cause);
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
        if (!config.serverMetadata().userinfo_endpoint || (claims.email && claims.groups)) return claims;
        // Some issuers tell of a person only where they are asked.
        const told = oidc.fetchUserInfo(config, tokens.access_token, claims.sub);
        const more = await told.catch((cause: unknown) => Promise.reject(away(cause)));
        // An address and its proof are believed from one mouth only.
        const { email, email_verified } = claims.email === undefined ? more : claims;
        return { ...more, ...claims, email, email_verified };
      } catch (cause) {
        if (cause instanceof Failure) throw cause;
        if (isAway(cause) || isAway((cause as Error).cause)) throw away(cause);
        const message = 'The sign-in did not come to a good end; start again at /oauth/get-key.';
        throw new Failure('invalid_request', { message }, cause);
      }
    },

    async verify(token) {
      if (token.length > tokenCharsMax) throw new Failure('invalid_token');
      const { jose, config, keys } = await opened();
      try {
        const options = {
          issuer: config.serverMetadata().issuer,
          audience,
          algorithms,
          clockTolerance: clockToleranceSeconds,
        };
        const { payload, protectedHeader } = await jose.jwtVerify(token, keys, {
          ...options,
          requiredClaims: ['sub', 'exp'],
        });
        if (!types.test(protectedHeader.typ ?? 'JWT')) throw new Error(`a token of type ${protectedHeader.typ}`);
        return { ...payload, iss: payload.iss!, sub: payload.sub! };
      } catch (cause) {
        throw isAway(cause) ? away(cause) : new Failure('invalid_token', {}, cause);
      }
    },
  };
}

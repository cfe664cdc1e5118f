// Signs people in at the operator's OpenID Connect issuer (authorization code with PKCE, state and nonce; RFC 6749, RFC
// 7636, OpenID Connect Core) and verifies the issuer's tokens. The issuer's metadata is discovered on first use and
// again after a failure. The issuer's keys are fetched again when they change.
import { Failure } from '../../platform/errors.ts';
import { createOutboundTargets, hostOf } from '../../platform/net/outbound-targets.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';

export interface IssuerOptions {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The audience that tokens must have. */
  audience: string;
  /** Allows an issuer without TLS. */
  isInsecure: boolean;
}

/** The state of a login between `begin` and `finish`. */
export interface LoginFacts {
  codeVerifier: string;
  state: string;
  nonce: string;
}

/** The issuer's claims about a person. */
export interface Claims {
  iss: string;
  sub: string;
  email?: unknown;
  email_verified?: unknown;
  name?: unknown;
  groups?: unknown;
}

export type Issuer = ReturnType<typeof createIssuer>;

const timeoutSeconds = 10;
/** Time after which a client may retry if the issuer has not answered. */
const issuerRetrySeconds = 5;
const clockToleranceSeconds = 5;
/** Shortest time between two fetches of the issuer's keys. A token signed with an unknown key causes a fetch. */
const keysCooldownMs = 1_000;
/** Accepted algorithms; all are asymmetric. */
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
/** Accepted types of tokens: access and ID tokens. */
const types = /^(application\/)?(at\+)?jwt$/i;
const tokenCharsMax = 16 * 1024;

const unavailable = (error: unknown) =>
  new Failure('temporarily_unavailable', { retryAfterSeconds: issuerRetrySeconds }, toCause(error as Error));

/** The error to log. The messages of the libraries are fixed, but the causes of their errors contain the issuer's words. */
function toCause({ message, cause }: Error): Error {
  const isOfConnection =
    cause instanceof Error && /^(E(?!RR_)[A-Z]|UND_ERR)/.test((cause as NodeJS.ErrnoException).code ?? '');
  return new Error(isOfConnection ? `${message}: ${reasonOf(cause)}` : message);
}

/** Whether the error means that the issuer sent no answer or an invalid answer. */
const isUnavailable = (cause: unknown) => {
  const { code } = (cause ?? {}) as { code?: string };
  return (
    cause instanceof TypeError || code === 'ERR_JWKS_TIMEOUT' || code === 'ERR_JOSE_GENERIC' || code === 'OAUTH_TIMEOUT'
  );
};

export function createIssuer(options: IssuerOptions) {
  let discovering: Promise<Discovered> | undefined;
  const discovered = () => {
    discovering ??= discover(options);
    return discovering.catch((cause: unknown) => {
      discovering = undefined;
      throw unavailable(cause);
    });
  };

  return {
    async begin(redirectUri: string): Promise<{ url: string; facts: LoginFacts }> {
      const { oidc, config } = await discovered();
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

    /**
     * Returns the claims of the person who was redirected to `url`. Throws `invalid_request` if the URL does not match
     * the login.
     */
    async finish(url: URL, facts: LoginFacts): Promise<Claims> {
      const issuer = await discovered();
      try {
        return await claimsOfLogin(issuer, url, facts);
      } catch (cause) {
        if (cause instanceof Failure) throw cause;
        if (isUnavailable(cause) || isUnavailable((cause as Error).cause)) throw unavailable(cause);
        const message = 'The sign-in failed. Start again at /oauth/get-key.';
        throw new Failure('invalid_request', { message }, cause);
      }
    },

    /** Returns the claims of a token. Throws `invalid_token` if the token is invalid or meant for another audience. */
    async verify(token: string): Promise<Claims> {
      if (token.length > tokenCharsMax) throw new Failure('invalid_token');
      const { jose, config, keys } = await discovered();
      try {
        const { payload, protectedHeader } = await jose.jwtVerify(token, keys, {
          issuer: config.serverMetadata().issuer,
          audience: options.audience,
          algorithms,
          clockTolerance: clockToleranceSeconds,
          requiredClaims: ['sub', 'exp'],
        });
        if (!types.test(protectedHeader.typ ?? 'JWT')) throw new Error(`a token of type ${protectedHeader.typ}`);
        return { ...payload, iss: payload.iss!, sub: payload.sub! };
      } catch (cause) {
        throw isUnavailable(cause) ? unavailable(cause) : new Failure('invalid_token', {}, cause);
      }
    },
  };
}

/** Rejects if the issuer sends no answer or an invalid answer. */
export async function readIssuerKeys(options: IssuerOptions): Promise<void> {
  const { keys } = await discover(options);
  await keys.reload();
}

type Discovered = Awaited<ReturnType<typeof discover>>;

async function discover({ issuer, clientId, clientSecret, isInsecure }: IssuerOptions) {
  const [oidc, jose] = await Promise.all([import('openid-client'), import('jose')]);
  const authentication = clientSecret === '' ? oidc.None() : oidc.ClientSecretBasic(clientSecret);
  const config = await oidc.discovery(new URL(issuer), clientId, undefined, authentication, {
    execute: isInsecure ? [oidc.allowInsecureRequests] : [],
    timeout: timeoutSeconds,
  });
  // ID tokens are verified by signature, even if they come from the token endpoint over TLS.
  oidc.enableNonRepudiationChecks(config);
  const { jwks_uri, token_endpoint, userinfo_endpoint } = config.serverMetadata();
  if (!jwks_uri) throw new Error('the issuer does not publish a jwks_uri');
  const targets = createOutboundTargets({ allow: [hostOf(new URL(issuer))], allowedIn: 'the host of the issuer' });
  for (const url of [jwks_uri, token_endpoint, userinfo_endpoint]) {
    const fault = url === undefined ? undefined : targets.faultOf(url);
    if (fault !== undefined) throw new Error(`the issuer states a URL that ${fault}`);
  }
  const keys = jose.createRemoteJWKSet(new URL(jwks_uri), {
    timeoutDuration: timeoutSeconds * 1000,
    cooldownDuration: keysCooldownMs,
  });
  return { oidc, jose, config, keys };
}

async function claimsOfLogin({ oidc, config }: Discovered, url: URL, facts: LoginFacts): Promise<Claims> {
  const tokens = await oidc.authorizationCodeGrant(config, url, {
    pkceCodeVerifier: facts.codeVerifier,
    expectedState: facts.state,
    expectedNonce: facts.nonce,
    idTokenExpected: true,
  });
  const claims = tokens.claims()!;
  if (!config.serverMetadata().userinfo_endpoint || (claims.email && claims.groups)) return claims;
  // Some issuers return a person's claims only from the userinfo endpoint.
  const more = await oidc.fetchUserInfo(config, tokens.access_token, claims.sub).catch((cause: unknown) => {
    throw unavailable(cause);
  });
  // The e-mail address and its verification must come from the same source.
  const { email, email_verified } = claims.email === undefined ? more : claims;
  return { ...more, ...claims, email, email_verified };
}

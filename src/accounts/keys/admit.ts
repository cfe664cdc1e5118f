// Decides whether a call is admitted. Checks, in this order: the form of the key (without a lookup), its validity, the
// client's address, the required scopes and the request rate. Only operations that manage keys also accept a bearer
// token or a session.
import { Failure, type Reason } from '../../platform/errors.ts';
import type { FailedAttempts } from '../limits/failed-attempts.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { LimitStatus } from '../limits/rate-limit.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { KeyCaller } from './caller.ts';
import type { KeyVerifier } from './key-verifier.ts';

/** The credentials of a call. */
interface Presented {
  key: string | undefined;
  /** Id of the key for which the call's ticket was issued. Replaces `key`. */
  ticketKeyId?: string | undefined;
  /** The Authorization header. */
  authorization?: string | undefined;
  /** The session cookie, and the CSRF token of the session. */
  session?: { cookie: string; csrf: string } | undefined;
  /** The IP address of the caller. */
  address: string;
  /** Called with the state of the key's limits, even if the call is rejected. */
  reportLimits?: ((status: LimitStatus) => void) | undefined;
}

/**
 * Returns the caller that holds the key. Throws `invalid_api_key`, `invalid_token`, `access_denied` or
 * `insufficient_scope`. The key must have all scopes of at least one choice. If there are no choices, any key is
 * accepted.
 */
export type Admit = (presented: Presented, ...choices: readonly (readonly string[])[]) => Promise<KeyCaller>;

interface AdmitOptions {
  keyVerifier: Pick<KeyVerifier, 'verify' | 'verifyId'>;
  signIn?: Pick<SignIn, 'verifyToken' | 'session'> | undefined;
  /** Absent if no limits apply. */
  limits?: { limiter: Pick<Limiter, 'takeRequest' | 'reportStatus'>; addresses: FailedAttempts } | undefined;
}

/** Failures that count as failed attempts from an address. */
const attempts: readonly Reason[] = ['invalid_api_key', 'invalid_token'];

export function createAdmit({ keyVerifier, signIn, limits }: AdmitOptions): Admit {
  const verify = async (
    { key, ticketKeyId, authorization, session, address }: Presented,
    scopes: readonly string[],
  ) => {
    if (ticketKeyId !== undefined) return keyVerifier.verifyId(ticketKeyId, address);
    const isForKeys = scopes.length > 0 && scopes.every((scope) => scope.startsWith('keys:'));
    const takesToken = isForKeys && signIn !== undefined;
    if (key === undefined && !session) checkHeader(authorization, takesToken);
    if (key !== undefined || !takesToken) return keyVerifier.verify(key, address);
    const [, token] = /^Bearer +([\w.~+/=-]+)$/i.exec(authorization ?? '') ?? [];
    if (token) return signIn.verifyToken(token);
    if (!session) return keyVerifier.verify(key, address);
    const known = await signIn.session(session.cookie);
    if (!known || known.csrf !== session.csrf) throw new Failure('invalid_token');
    return known.holder;
  };
  return async (presented, ...choices) => {
    const requiredScopes = [...new Set(choices.flat())];
    const caller = await verify(presented, requiredScopes).catch((error: unknown) => {
      if (error instanceof Failure && attempts.includes(error.reason)) limits?.addresses.noteFailure(presented.address);
      throw error;
    });
    const { reportLimits = () => {} } = presented;
    try {
      checkScopes(caller, ...choices);
    } catch (error) {
      // If the status cannot be read, the original refusal is still thrown.
      await limits?.limiter.reportStatus(caller, reportLimits).catch(() => {});
      throw error;
    }
    await limits?.limiter.takeRequest(caller, reportLimits);
    return caller;
  };
}

/** Throws a Failure that names the header for API keys if a bearer token is an API key or is not accepted. */
function checkHeader(authorization: string | undefined, takesToken: boolean): void {
  const isKey = /^Bearer +snt_/i.test(authorization ?? '');
  const message = 'Send the API key in the X-API-Key header (gRPC: the metadata x-api-key), not in Authorization.';
  if (takesToken && isKey) throw new Failure('invalid_token', { message });
  if (!takesToken && /^Bearer /i.test(authorization ?? '')) throw new Failure('invalid_api_key', { message });
}

const holds = ({ scopes: held }: { scopes: readonly string[] }, scopes: readonly string[]): boolean =>
  scopes.every((scope) => held.includes(scope));

/** Throws `insufficient_scope` unless the caller has all scopes of at least one choice. */
export function checkScopes(caller: Pick<KeyCaller, 'scopes'>, ...choices: readonly (readonly string[])[]): void {
  if (choices.length === 0 || choices.some((choice) => holds(caller, choice))) return;
  const requiredScopes = [...new Set(choices.flat())];
  const message = `This call needs an API key with one of the scopes ${requiredScopes.join(', ')}.`;
  throw new Failure('insufficient_scope', { requiredScopes, ...(choices.length > 1 && { message }) });
}

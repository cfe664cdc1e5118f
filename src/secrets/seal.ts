// Encrypted tokens that only this service can create and read, and that expire: sign-in cookies, bearer tokens, tickets.
// A token is a JWE in compact form (RFC 7516), encrypted directly with A256GCM under a key derived from the secret:
//
//     eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0 .. iv . ciphertext . tag        { use, exp, iat, ... }
//
// `use` is the purpose of the token; for any other purpose it is not valid.
import { createHash } from 'node:crypto';

export type SealUse = 'login' | 'session' | 'access' | 'ticket' | 'live-ticket' | 'webhook';

/** Tokens that clients send are short; a ticket contains the text to speak, and stays in the database. */
const textCharsMax: Readonly<Record<SealUse, number>> = {
  login: 4096,
  session: 4096,
  access: 4096,
  ticket: 1 << 20,
  'live-ticket': 4096,
  webhook: 4096,
};

export type Seal = ReturnType<typeof createSeal>;

export function createSeal(secret: string) {
  const key = createHash('sha256').update(`sonant seal ${secret}`).digest();
  return {
    /** Encrypts facts into a token that is valid for so many seconds. */
    async close(use: SealUse, facts: Readonly<Record<string, unknown>>, seconds: number): Promise<string> {
      const { EncryptJWT } = await import('jose');
      return new EncryptJWT({ ...facts, use })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setIssuedAt()
        .setExpirationTime(`${seconds}s`)
        .encrypt(key);
    },
    /** The facts of a token; undefined if it is for another use, was not created here, was changed, or has expired. */
    async open(use: SealUse, text: string | undefined): Promise<Readonly<Record<string, unknown>> | undefined> {
      if (!text || text.length > textCharsMax[use]) return undefined;
      const { jwtDecrypt } = await import('jose');
      const options = { contentEncryptionAlgorithms: ['A256GCM'], keyManagementAlgorithms: ['dir'] };
      const opened = await jwtDecrypt(text, key, { ...options, requiredClaims: ['exp'] }).catch(() => undefined);
      return opened?.payload.use === use ? opened.payload : undefined;
    },
  };
}

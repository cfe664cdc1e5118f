// Texts that only this service can make and read, and that end by themselves: sign-in cookies, bearer tokens, tickets. A sealed
// text is a JWE in compact form (RFC 7516), encrypted directly with A256GCM under a key made of the secret:
//
//     eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0 .. iv . ciphertext . tag        { use, exp, iat, ... }
//
// `use` says what it was made for; as anything else it is worth nothing.
import { createHash } from 'node:crypto';

export type SealUse = 'login' | 'session' | 'access' | 'ticket';

export interface Seal {
  /** A text that `open` gives the facts of, for so many seconds. */
  close(use: SealUse, facts: Readonly<Record<string, unknown>>, seconds: number): Promise<string>;
  /** The facts; undefined for what was not sealed here for this use, was changed, or is over. */
  open(use: SealUse, text: string | undefined): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** What comes back from callers is short; a ticket holds what is to be spoken, and never leaves. */
const textCharsMax: Readonly<Record<SealUse, number>> = {
  ...{ login: 4096, session: 4096, access: 4096 },
  ticket: 1 << 20,
};

export function createSeal(secret: string): Seal {
  const key = createHash('sha256').update(`sonant seal ${secret}`).digest();
  return {
    async close(use, facts, seconds) {
      const { EncryptJWT } = await import('jose');
      return new EncryptJWT({ ...facts, use })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setIssuedAt()
        .setExpirationTime(`${seconds}s`)
        .encrypt(key);
    },
    async open(use, text) {
      if (!text || text.length > textCharsMax[use]) return undefined;
      const { jwtDecrypt } = await import('jose');
      const options = { contentEncryptionAlgorithms: ['A256GCM'], keyManagementAlgorithms: ['dir'] };
      const opened = await jwtDecrypt(text, key, { ...options, requiredClaims: ['exp'] }).catch(() => undefined);
      return opened?.payload.use === use ? opened.payload : undefined;
    },
  };
}

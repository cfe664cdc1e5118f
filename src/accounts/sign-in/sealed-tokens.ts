// Creates and reads encrypted, expiring tokens: sign-in cookies, bearer tokens, tickets. A token is a JWE in compact
// form (RFC 7516), encrypted directly with A256GCM under a key derived from the secret. A token is valid only for the
// purpose in `use`.
//     eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0 .. iv . ciphertext . tag        { use, exp, iat, ... }
import { createHash } from 'node:crypto';

export type SealUse = 'login' | 'session' | 'access' | 'ticket' | 'live-ticket' | 'preview' | 'speech' | 'webhook';

/** Maximum length of a token from a client. If the payload has its own limit, this limit covers the rest. */
const tokenCharsMax = 4096;
/** Adds the length of the payload, which is encoded in base64. */
const charsMaxFor = (factsBytesMax: number | undefined) =>
  tokenCharsMax + (factsBytesMax === undefined ? 0 : Math.ceil((factsBytesMax * 4) / 3));

type Facts = Readonly<Record<string, unknown>>;

export type Seal = ReturnType<typeof createSeal>;

export function createSeal(secret: string) {
  const key = createHash('sha256').update(`sonant seal ${secret}`).digest();
  return {
    /**
     * Encrypts a payload into a token that is valid for `seconds` seconds. Throws if the token is too long for `open`.
     * A token with a large payload needs the same `factsBytesMax` in `close` and in `open`.
     */
    async close(use: SealUse, facts: Facts, seconds: number, factsBytesMax?: number): Promise<string> {
      const { EncryptJWT } = await import('jose');
      const text = await new EncryptJWT({ ...facts, use })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setIssuedAt()
        .setExpirationTime(`${seconds}s`)
        .encrypt(key);
      if (text.length > charsMaxFor(factsBytesMax)) throw new Error(`the facts are too large for a token of ${use}`);
      return text;
    },
    /** Returns the payload of a token. Undefined if the token is for a different use, is forged or has expired. */
    async open(use: SealUse, text: string | undefined, factsBytesMax?: number): Promise<Facts | undefined> {
      if (!text || text.length > charsMaxFor(factsBytesMax)) return undefined;
      const { jwtDecrypt } = await import('jose');
      const options = { contentEncryptionAlgorithms: ['A256GCM'], keyManagementAlgorithms: ['dir'] };
      const opened = await jwtDecrypt(text, key, { ...options, requiredClaims: ['exp'] }).catch(() => undefined);
      return opened?.payload.use === use ? opened.payload : undefined;
    },
  };
}

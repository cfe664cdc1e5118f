// API keys, 64 characters:
//
//     snt_ 4fGh8Kd02Q _ 7hT...43 characters...x 1b2C3d
//          |            |                       +-- check: CRC-32 (ISO-HDLC) of all before, 6 digits, the highest first
//          |            +-- secret: 43 digits, 256 bits
//          +-- id part: 10 digits; it finds the key's row and is no secret
//
// in base 62, 0-9 A-Z a-z. The check lets a mistyped key be refused, and a leaked one be recognised, without a look-up.
// A fast hash is right at rest: 256 random bits cannot be guessed at any speed, and a slow one would be a way to choke
// the service.
import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

export interface ParsedApiKey {
  key: string;
  idPart: string;
}

/** A secret kept apart from the database, so that a stolen table cannot be used to check a key. */
export type Pepper = KeyObject;

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^snt_([0-9A-Za-z]{10})_[0-9A-Za-z]{43}([0-9A-Za-z]{6})$/;
const keyChars = 64;
const checkChars = 6;

export function createApiKey(): ParsedApiKey {
  const idPart = randomDigits(10);
  const body = `snt_${idPart}_${randomDigits(43)}`;
  return { key: body + checkOf(body), idPart };
}

/** The key that `text` is, or undefined if it cannot be one. Nothing is looked up. */
export function parseApiKey(text: string | undefined): ParsedApiKey | undefined {
  if (text?.length !== keyChars) return undefined;
  const [, idPart, check] = shape.exec(text) ?? [];
  return idPart !== undefined && checkOf(text.slice(0, -checkChars)) === check ? { key: text, idPart } : undefined;
}

export const createPepper = (secret: string): Pepper => createSecretKey(Buffer.from(secret));

/** What is kept of a key: SHA-256, or HMAC-SHA-256 where there is a pepper. 32 bytes. */
export function hashApiKey(key: string, pepper?: Pepper): Buffer {
  return (pepper ? createHmac('sha256', pepper) : createHash('sha256')).update(key).digest();
}

/** How a key is shown in lists: enough to tell it from others, and nothing of the secret. */
export const hintOf = (idPart: string): string => `snt_${idPart}_...`;

function randomDigits(count: number): string {
  let text = '';
  while (text.length < count) {
    for (const byte of randomBytes(count)) {
      // 248 is 4 * 62: bytes from there on would make some digits likelier than others.
      if (byte < 248 && text.length < count) text += digits[byte % 62];
    }
  }
  return text;
}

function checkOf(body: string): string {
  let check = '';
  for (let rest = crc32(body), left = checkChars; left > 0; left--) {
    check = digits[rest % 62] + check;
    rest = Math.floor(rest / 62);
  }
  return check;
}

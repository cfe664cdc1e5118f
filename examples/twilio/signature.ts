// Verifies the signature that proves that a request is from Twilio: https://www.twilio.com/docs/usage/security
import { createHmac, timingSafeEqual } from 'node:crypto';

/** `url` is the URL that Twilio was given; `fields` are the fields in the body of a POST. */
export function isSigned(signature: unknown, authToken: string, url: string, fields = new URLSearchParams()): boolean {
  const names = [...new Set(fields.keys())].sort();
  const signed = url + names.map((name) => name + fields.get(name)).join('');
  const expected = createHmac('sha1', authToken).update(signed).digest();
  const given = Buffer.from(String(signature), 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

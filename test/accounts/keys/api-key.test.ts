// Tests the format of a key: a generated key is valid, and every malformed key is refused.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { createApiKey, createPepper, hashApiKey, hintOf, parseApiKey } from '../../../src/accounts/keys/api-key.ts';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Appends the check digits, computed independently of the tested code: as a BigInt, then padded. */
function withCheck(body: string): string {
  let check = '';
  for (let rest = BigInt(crc32(body)); rest > 0n; rest /= 62n) check = digits[Number(rest % 62n)] + check;
  return body + check.padStart(6, '0');
}

test('a key is as it is drawn', () => {
  for (let i = 0; i < 500; i++) {
    const { key, idPart } = createApiKey();
    expect(key).toMatch(/^snt_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$/);
    expect(key.slice(4, 14)).toBe(idPart);
    expect(withCheck(key.slice(0, -6))).toBe(key);
    expect(parseApiKey(key)).toEqual({ key, idPart });
  }
});

test('a key made elsewhere by the drawing is well-formed', () => {
  const key = 'snt_0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq42ts5l';
  expect(parseApiKey(key)).toEqual({ key, idPart: '0123456789' });
});

test('all digits are about as likely as each other, and no key comes twice', () => {
  const keys = Array.from({ length: 2_000 }, () => createApiKey().key);
  expect(new Set(keys).size).toBe(keys.length);
  const counts = new Map<string, number>();
  for (const digit of keys.map((key) => key.slice(15, 58)).join('')) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  const expected = (2_000 * 43) / 62;
  const chiSquared = [...digits].reduce((sum, digit) => sum + ((counts.get(digit) ?? 0) - expected) ** 2 / expected, 0);
  // With 61 degrees of freedom, chi-squared exceeds 150 once in a billion runs; a modulo bias gives thousands.
  expect(chiSquared).toBeLessThan(150);
});

const { key: good } = createApiKey();
const swapped = (text: string, at: number) => text.slice(0, at) + text[at + 1] + text[at] + text.slice(at + 2);

test.each([
  ['nothing', undefined],
  ['empty', ''],
  ['the prefix alone', 'snt_'],
  ['another prefix', withCheck(`sk_l_${good.slice(5, 58)}`)],
  ['the prefix in capitals', withCheck(`SNT_${good.slice(4, 58)}`)],
  ['one character short', good.slice(0, -1)],
  ['one character short in front', good.slice(1)],
  ['one character more', `${good}0`],
  ['a blank before', ` ${good}`],
  ['a line end after', `${good}\n`],
  ['a line end for the last character', `${good.slice(0, -1)}\n`],
  ['in quotes', `"${good}"`],
  ['with Bearer', `Bearer ${good}`],
  ['twice, as two headers arrive', `${good}, ${good}`],
  ['no underscore in the middle', withCheck(`${good.slice(0, 14)}0${good.slice(15, 58)}`)],
  ['a hyphen', withCheck(`${good.slice(0, 20)}-${good.slice(21, 58)}`)],
  ['a sign of base 64', withCheck(`${good.slice(0, 20)}+${good.slice(21, 58)}`)],
  ['a letter with an accent', withCheck(`${good.slice(0, 20)}é${good.slice(21, 58)}`)],
  ['a digit in full width', withCheck(`${good.slice(0, 20)}１${good.slice(21, 58)}`)],
  ['a NUL', withCheck(`${good.slice(0, 20)}\0${good.slice(21, 58)}`)],
  ['in lower case', good.toLowerCase()],
  ['a megabyte', `snt_${'A'.repeat(1_000_000)}`],
])('%s is no key', (_, text) => {
  expect(parseApiKey(text)).toBeUndefined();
});

test('every slip of one character, and of two neighbours, is seen', () => {
  for (let at = 4; at < good.length; at++) {
    if (at === 14) continue;
    for (const digit of digits) {
      if (digit !== good[at]) expect(parseApiKey(good.slice(0, at) + digit + good.slice(at + 1))).toBeUndefined();
    }
    if (at < 63 && at !== 13 && good[at] !== good[at + 1]) expect(parseApiKey(swapped(good, at))).toBeUndefined();
  }
});

test('the hash is SHA-256 of the key, or HMAC-SHA-256 under the pepper', () => {
  const pepper = createPepper('Jefe');
  // RFC 4231, test case 2.
  expect(hashApiKey('what do ya want for nothing?', pepper).toString('hex')).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  );
  // FIPS 180-2, appendix B.1.
  expect(hashApiKey('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('the hint holds nothing of the secret', () => {
  const { key, idPart } = createApiKey();
  expect(hintOf(idPart)).toBe(`${key.slice(0, 15)}...`);
});

test('hashes are compared in constant time, and nowhere else', () => {
  const read = (name: string) =>
    readFileSync(join(import.meta.dirname, `../../../src/accounts/keys/${name}.ts`), 'utf8');
  expect(read('api-key')).toMatch(/return timingSafeEqual\(/);
  for (const name of ['admit', 'first-key', 'key-verifier', 'api-key'])
    expect(read(name)).not.toMatch(/\bhash ===|\.equals\(/);
});

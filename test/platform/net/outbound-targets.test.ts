// Tests the allowed webhook targets: numeric addresses in every form, names, and targets that the operator allows.
import { describe, expect, test } from 'vitest';
import {
  createOutboundTargets,
  ForbiddenTarget,
  type TargetOptions,
} from '../../../src/platform/net/outbound-targets.ts';

const targets = (options: Partial<TargetOptions> = {}) =>
  createOutboundTargets({ allow: [], allowedIn: 'listed', urlCharsMax: 2_000, ...options });
const resolvesTo =
  (...addresses: string[]) =>
  async () =>
    addresses;

describe('a numeric internal address', () => {
  test.for([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://0x7f.1/',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://017700000001/',
    'https://0/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[::ffff:a00:1]/',
    'https://[64:ff9b::a00:1]/',
    'https://[2002:a00:1::]/',
    'https://[fd00::1]/',
    'https://[fe80::1]/',
    'https://169.254.169.254/latest/meta-data/',
    'https://100.100.100.200/',
    'https://１２７.0.0.1/',
    'https://127。0。0。1/',
  ])('a webhook to a numeric internal address is refused: %s', async (url) => {
    expect(targets().faultOf(url)).toMatch(/neither public/);
    await expect(targets().addressesOf(new URL(url))).rejects.toThrow(ForbiddenTarget);
  });
});

test.for([
  ['http://example.com/', /https/],
  ['https://user:secret@example.com/', /user name or a password/],
  ['ftp://example.com/', /https/],
  ['file:///etc/passwd', /https/],
  ['example.com', /https/],
  [`https://example.com/${'a'.repeat(2_000)}`, /2000 characters/],
] as const)('a URL that is none for webhooks is refused: %s', ([url, message]) => {
  expect(targets().faultOf(url)).toMatch(message);
});

test('a public name by https is accepted, and its addresses are those to connect to', async () => {
  const { faultOf, addressesOf } = targets({ resolve: resolvesTo('1.1.1.1', '2606:4700::1111') });
  expect(faultOf('https://example.com:8443/hook?a=b')).toBeUndefined();
  expect(await addressesOf(new URL('https://example.com/'))).toEqual(['1.1.1.1', '2606:4700::1111']);
});

test('one inside address among public ones refuses the name', async () => {
  for (const inside of ['10.0.0.1', '::1', '169.254.169.254', '::ffff:127.0.0.1']) {
    const { addressesOf } = targets({ resolve: resolvesTo('1.1.1.1', inside) });
    await expect(addressesOf(new URL('https://example.com/'))).rejects.toThrow(ForbiddenTarget);
  }
});

test('a name without an address fails, and not as forbidden', async () => {
  const { addressesOf } = targets({ resolve: resolvesTo() });
  await expect(addressesOf(new URL('https://example.com/'))).rejects.toThrow('has no address');
});

describe('what the operator allows', () => {
  test('an allowed host may be inside, and without TLS', async () => {
    const { faultOf, addressesOf } = targets({ allow: ['hooks.internal'], resolveAllowed: resolvesTo('10.1.2.3') });
    expect(faultOf('http://hooks.internal/a')).toBeUndefined();
    expect(await addressesOf(new URL('http://HOOKS.internal/a'))).toEqual(['10.1.2.3']);
    expect(faultOf('http://other.internal/')).toMatch(/https/);
  });

  test('an allowed block may be inside, and without TLS; its neighbour not', async () => {
    const allowed = targets({ allow: ['10.1.0.0/16'], resolve: resolvesTo('10.1.2.3') });
    expect(allowed.faultOf('http://10.1.2.3/')).toBeUndefined();
    expect(await allowed.addressesOf(new URL('http://any.name/'))).toEqual(['10.1.2.3']);
    const beside = targets({ allow: ['10.1.0.0/16'], resolve: resolvesTo('10.2.0.1') });
    expect(beside.faultOf('http://10.2.0.1/')).toMatch(/neither public/);
    await expect(beside.addressesOf(new URL('http://any.name/'))).rejects.toThrow(/neither public/);
    const outside = targets({ allow: ['10.1.0.0/16'], resolve: resolvesTo('1.1.1.1') });
    await expect(outside.addressesOf(new URL('http://any.name/'))).rejects.toThrow(/needs an https/);
  });
});

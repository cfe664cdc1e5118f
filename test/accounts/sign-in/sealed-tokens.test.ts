// Tests that an encrypted token of any size can be opened only for its own use and while it is valid.
import { expect, test } from 'vitest';
import { createSeal } from '../../../src/accounts/sign-in/sealed-tokens.ts';

const seal = createSeal('a secret');

test('a token is opened for its own use only, and only by who has the secret', async () => {
  const token = await seal.close('session', { name: 'Ada' }, 60);
  expect(await seal.open('session', token)).toMatchObject({ name: 'Ada' });
  expect(await seal.open('access', token)).toBeUndefined();
  expect(await createSeal('another').open('session', token)).toBeUndefined();
  expect(await seal.open('session', await seal.close('session', {}, -1))).toBeUndefined();
});

test.each([
  ['session', undefined, 2_500],
  ['ticket', 1 << 20, (1 << 20) - 20],
] as const)(
  'what is closed as a %s can be opened, and what could not be is not closed',
  async (use, bytesMax, bytes) => {
    const close = (chars: number) => seal.close(use, { text: 'x'.repeat(chars) }, 60, bytesMax);
    const opened = await seal.open(use, await close(bytes), bytesMax);
    expect(opened?.text).toHaveLength(bytes);
    await expect(close(bytes + 4_000)).rejects.toThrow(`too large for a token of ${use}`);
  },
);

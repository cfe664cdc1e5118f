// Tests that sealed data in the vault opens unchanged, and only for its clone.
import { expect, test } from 'vitest';
import { createVault } from '../../../src/library/voices/clone-vault.ts';

const vaultOf = (master: string) => createVault(async () => master);
const master = 'a master key of thirty-two chars.';
const plain = Buffer.from('the voice of a person');

test('what is sealed opens again, and does not reveal its content', async () => {
  const sealed = await vaultOf(master).seal(plain, 'cln_1');
  expect(Buffer.from(sealed).includes(plain)).toBe(false);
  expect(Buffer.from(await vaultOf(master).open(sealed, 'cln_1'))).toEqual(plain);
  expect(await vaultOf(master).seal(plain, 'cln_1')).not.toEqual(sealed);
});

test('clone data cannot be decrypted with another key, as the data of another clone, or after any byte has changed', async () => {
  const vault = vaultOf(master);
  const sealed = await vault.seal(plain, 'cln_1');
  await expect(vaultOf(`${master}!`).open(sealed, 'cln_1')).rejects.toThrow();
  await expect(vault.open(sealed, 'cln_2')).rejects.toThrow();
  for (let at = 0; at < sealed.length; at++) {
    const changed = Uint8Array.from(sealed, (byte, i) => (i === at ? byte ^ 1 : byte));
    await expect(vault.open(changed, 'cln_1')).rejects.toThrow();
  }
  for (const length of [0, 1, 12, 28]) await expect(vault.open(sealed.subarray(0, length), 'cln_1')).rejects.toThrow();
});

test('a master key that is missing is made to seal, never to open', async () => {
  const sealed = await vaultOf(master).seal(plain, 'cln_1');
  const asked: boolean[] = [];
  const without = createVault(async (mayMake) => {
    asked.push(mayMake);
    return mayMake ? 'one that was just made, for sealing.' : undefined;
  });
  await expect(without.open(sealed, 'cln_1')).rejects.toThrow('missing');
  const own = await without.seal(plain, 'cln_2');
  expect(Buffer.from(await without.open(own, 'cln_2'))).toEqual(plain);
  expect(asked).toEqual([false, true]);
});

test('one that could not be read for a moment is asked for again', async () => {
  let isAway = true;
  const vault = createVault(async () => {
    if (isAway) throw new Error('the disk is full');
    return master;
  });
  await expect(vault.seal(plain, 'cln_1')).rejects.toThrow('full');
  isAway = false;
  expect(Buffer.from(await vault.open(await vault.seal(plain, 'cln_1'), 'cln_1'))).toEqual(plain);
});

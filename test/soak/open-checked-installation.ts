// Opens an installation and a client that knows the right answers, and checks the conditions that hold after any fault.
import { expect } from 'vitest';
import { type CheckingClient, openCheckingClient } from './checking-client.ts';
import { expectSound, type KnownSounds, learnSounds } from './known-sounds.ts';
import { type Installation, type InstallationOptions, openInstallation } from './open-installation.ts';

export interface CheckedInstallation extends Installation {
  key: string;
  sounds: KnownSounds;
  client: CheckingClient;
  /** Everything acknowledged exists and is right: every link, every key, every charged character. */
  checkAcknowledged(): Promise<string>;
}

/** `toSounds` converts the current audio to the expected audio. */
export async function openCheckedInstallation(
  replicas: number,
  options: InstallationOptions = {},
  toSounds: (sounds: KnownSounds) => KnownSounds = (sounds) => sounds,
): Promise<CheckedInstallation> {
  const installation = await openInstallation(replicas, options);
  const { url, target, makeKey } = installation;
  const get = (path: string, key: string) => fetch(url + path, { headers: { 'X-API-Key': key } });
  const referenceKey = await makeKey();
  const heard = await learnSounds((path, body) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'X-API-Key': referenceKey.key, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    }),
  );
  const sounds = toSounds(heard);
  const { key } = await makeKey();
  const client = openCheckingClient({ url, target, key, sounds });
  return {
    ...installation,
    ...{ key, sounds, client },
    async checkAcknowledged() {
      const { links, keys, requests, chars } = client.acknowledged;
      for (const { path, sounds } of links) await expectSound(await get(path, key), sounds, path);
      for (const own of keys) expect((await get('/api/voices', own)).status).toBe(200);
      const usage = await get('/api/usage', key);
      const { total } = (await usage.json()) as { total: { requests: number; characters: number } };
      expect(total.requests).toBeGreaterThanOrEqual(requests);
      expect(total.characters).toBeGreaterThanOrEqual(chars);
      return `${links.length} links, ${keys.length} keys, ${requests} spoken requests on the books: all there`;
    },
    async close() {
      client.close();
      await installation.close();
    },
  };
}

// Checks a bucket as the service uses it: writes a small object, reads it back through the store and through a link (if
// links lead to the store), and deletes it. The error names the step that failed, with the store's own message.
import { buffer } from 'node:stream/consumers';
import { createId } from '../runtime/id.ts';
import type { OpenedClips } from './open-clips.ts';

const linkMs = 10_000;
const lifeMs = 60_000;

export async function checkClipStore({ clips, linkTo }: OpenedClips): Promise<void> {
  const key = createId('aud', 128);
  const bytes = Buffer.from('Sonant was here.');
  const contentType = 'audio/wav';
  await step('written', async () => {
    const draft = await clips.create(key, contentType);
    await draft.write(bytes);
    await draft.commit();
  });
  try {
    await step('read', async () => {
      const clip = await clips.open(key);
      if (!clip || !bytes.equals(await buffer(clip.body)))
        throw new Error('it is missing or differs from what was written');
    });
    if (!linkTo) return;
    const { url } = await linkTo({ key, contentType, fileName: `${key}.wav`, expiresAtMs: Date.now() + lifeMs });
    await step(`read by links, such as ${url.replace(/\?.*/, '')}`, async () => {
      const response = await fetch(url, { signal: AbortSignal.timeout(linkMs) });
      if (!response.ok || !bytes.equals(await response.bytes())) throw new Error(`it answers with ${response.status}`);
    });
  } finally {
    await step('deleted', () => clips.remove(key));
  }
}

async function step(done: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { name, message } = rootOf(error);
    throw new Error(`an object cannot be ${done}: ${name === 'Error' ? '' : `${name}: `}${message}`);
  }
}

const rootOf = (error: unknown): Error => {
  const { cause } = error as Error;
  return cause instanceof Error ? rootOf(cause) : (error as Error);
};

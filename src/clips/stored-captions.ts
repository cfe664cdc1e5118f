// Stores captions and manifests beside their audio, in clips with other key prefixes. Captions are stored before the
// audio is indexed, so that indexed audio always has its captions.
import type { Cue } from './captions.ts';
import type { ClipStore } from './stores/clip-store.ts';

const audioPrefix = /^aud_/;
const besidePrefix = /^(cap|man)_/;
/** Returns the key of the captions of stored audio. */
export const captionsOf = (audioId: string): string => audioId.replace(audioPrefix, 'cap_');

/** Returns the key of the manifest of stored audio. */
export const manifestOf = (audioId: string): string => audioId.replace(audioPrefix, 'man_');

/** Returns the key of the audio that captions or a manifest belong to. */
export const audioOf = (key: string): string => key.replace(besidePrefix, 'aud_');

export const storeCaptions = (clips: ClipStore, audioId: string, cues: readonly Cue[]): Promise<void> =>
  storeBeside(clips, captionsOf(audioId), 'application/json', Buffer.from(JSON.stringify(cues)));

export async function storeBeside(clips: ClipStore, key: string, contentType: string, bytes: Buffer): Promise<void> {
  const draft = await clips.create(key, contentType);
  try {
    await draft.write(bytes);
    await draft.commit();
  } finally {
    await draft.discard();
  }
}

/** Undefined if the audio has no captions. */
export async function readCaptions(clips: ClipStore, audioId: string): Promise<readonly Cue[] | undefined> {
  const stored = await clips.open(captionsOf(audioId));
  if (!stored) return undefined;
  return JSON.parse(Buffer.concat(await stored.body.toArray()).toString());
}

/** Removes the audio with its captions and its manifest. */
export async function removeClip(clips: Pick<ClipStore, 'remove'>, audioId: string): Promise<void> {
  await clips.remove(audioId);
  await clips.remove(captionsOf(audioId));
  await clips.remove(manifestOf(audioId));
}

// Stores the cues of captions beside their audio, in a clip with another key prefix. They are stored before the audio
// is indexed and removed with it, so that indexed audio always has its captions.
import type { Cue } from './captions.ts';
import type { ClipStore } from './stores/clip-store.ts';

const audioPrefix = /^aud_/;
const captionsPrefix = /^cap_/;
/** The key of the captions of an audio. */
export const captionsOf = (audioId: string): string => audioId.replace(audioPrefix, 'cap_');

/** The audio key to which a key in the store belongs. */
export const audioOf = (key: string): string => key.replace(captionsPrefix, 'aud_');

export async function storeCaptions(clips: ClipStore, audioId: string, cues: readonly Cue[]): Promise<void> {
  const draft = await clips.create(captionsOf(audioId), 'application/json');
  try {
    await draft.write(Buffer.from(JSON.stringify(cues)));
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

/** Removes the audio, and its captions if it has any. */
export async function removeClip(clips: Pick<ClipStore, 'remove'>, audioId: string): Promise<void> {
  await clips.remove(audioId);
  await clips.remove(captionsOf(audioId));
}

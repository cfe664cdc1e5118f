// Stores and reads captions, manifests and receipts beside their audio, in clips with other key prefixes, and removes
// audio together with them. Captions and receipts are stored before the audio is indexed, so that indexed audio always
// has them.
import { buffer } from 'node:stream/consumers';
import type { Cue } from './captions.ts';
import type { ClipStore } from './stores/clip-store.ts';

const toKey = (prefix: string) => (audioId: string) => audioId.replace(/^aud_/, prefix);

// The keys of what lies beside stored audio.
export const captionsKeyOf = toKey('cap_');
export const manifestKeyOf = toKey('man_');
export const receiptKeyOf = toKey('rec_');

/** Returns the key of the audio that captions, a manifest or a receipt belong to. */
export const audioKeyOf = (key: string): string => key.replace(/^(cap|man|rec)_/, 'aud_');

export const storeCaptions = (clips: ClipStore, audioId: string, cues: readonly Cue[]): Promise<void> =>
  storeFile(clips, captionsKeyOf(audioId), 'application/json', [Buffer.from(JSON.stringify(cues))]);

/** Stores a file that is complete only after its last piece. */
export async function storeFile(
  clips: Pick<ClipStore, 'create'>,
  key: string,
  contentType: string,
  pieces: readonly Uint8Array[] | AsyncIterable<Uint8Array>,
): Promise<void> {
  const draft = await clips.create(key, contentType);
  try {
    for await (const piece of pieces) await draft.write(piece);
    await draft.commit();
  } finally {
    await draft.discard();
  }
}

export async function readFile(clips: Pick<ClipStore, 'open'>, key: string): Promise<Buffer | undefined> {
  const stored = await clips.open(key);
  return stored && buffer(stored.body);
}

/** Undefined if the audio has no captions. */
export async function readCaptions(clips: ClipStore, audioId: string): Promise<readonly Cue[] | undefined> {
  const stored = await readFile(clips, captionsKeyOf(audioId));
  return stored && JSON.parse(stored.toString());
}

/** Removes the audio with its captions, its manifest and its receipt. */
export async function removeClip(clips: Pick<ClipStore, 'remove'>, audioId: string): Promise<void> {
  await clips.remove(audioId);
  await Promise.all([captionsKeyOf, manifestKeyOf, receiptKeyOf].map((keyOf) => clips.remove(keyOf(audioId))));
}

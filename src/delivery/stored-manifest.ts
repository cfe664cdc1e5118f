// The manifest beside stored audio, made at the first request and kept, because making it reads all of the audio.
import { buffer } from 'node:stream/consumers';
import type { ClipPieces } from './clip-memory.ts';
import { manifestOf, storeBeside } from './stored-captions.ts';
import type { ClipStore } from './stores/clip-store.ts';

/** Undefined if the audio does not exist. */
export async function openManifest(
  clips: ClipStore,
  audioId: string,
  sign: (audio: ClipPieces) => Promise<Buffer>,
): Promise<Buffer | undefined> {
  const kept = await clips.open(manifestOf(audioId));
  if (kept) return buffer(kept.body);
  const audio = await clips.open(audioId);
  if (!audio) return undefined;
  const manifest = await sign(audio.body);
  await storeBeside(clips, manifestOf(audioId), manifestType, manifest);
  return manifest;
}

export const manifestType = 'application/c2pa';

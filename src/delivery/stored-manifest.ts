// The manifest beside stored audio, made at the first request and kept, because making it reads all of the audio.
import { buffer } from 'node:stream/consumers';
import { type OpenSigner, signBeside } from '../provenance/places.ts';
import type { ClipRow } from '../store/clip-rows.ts';
import { manifestOf, storeBeside } from './stored-captions.ts';
import type { ClipStore } from './stores/clip-store.ts';

export const manifestType = 'application/c2pa';

/** Undefined if the file is gone, or if audio was not marked when it was made. */
export async function openManifest(
  clips: ClipStore,
  { clipId, origin }: Pick<ClipRow, 'clipId' | 'origin'>,
  openSigner: OpenSigner,
): Promise<Buffer | undefined> {
  const kept = await clips.open(manifestOf(clipId));
  if (kept) return buffer(kept.body);
  const audio = origin ? await clips.open(clipId) : undefined;
  if (!audio) return undefined;
  const manifest = await signBeside(audio.body, JSON.parse(origin!), openSigner);
  await storeBeside(clips, manifestOf(clipId), manifestType, manifest);
  return manifest;
}

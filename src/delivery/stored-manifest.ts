// The manifest beside stored audio, made at the first request and kept, because making it reads all of the audio.
import { buffer } from 'node:stream/consumers';
import { type OpenSigner, signBeside } from '../provenance/places.ts';
import type { ClipRow } from '../store/clip-rows.ts';
import { manifestOf, storeBeside } from './stored-captions.ts';
import type { ClipStore } from './stores/clip-store.ts';

export const manifestType = 'application/c2pa';

type MarkedClip = Pick<ClipRow, 'clipId' | 'origin'>;

/** Manifests that are being made. Two manifests of one audio differ, so concurrent requests share one. */
const making = new Map<string, Promise<Buffer | undefined>>();

/** Undefined if the file is gone, or if audio was not marked when it was made. */
export function openManifest(clips: ClipStore, row: MarkedClip, openSigner: OpenSigner): Promise<Buffer | undefined> {
  const made = making.get(row.clipId) ?? findOrMake(clips, row, openSigner).finally(() => making.delete(row.clipId));
  making.set(row.clipId, made);
  return made;
}

async function findOrMake(
  clips: ClipStore,
  { clipId, origin }: MarkedClip,
  openSigner: OpenSigner,
): Promise<Buffer | undefined> {
  const kept = await clips.open(manifestOf(clipId));
  if (kept) return buffer(kept.body);
  const audio = origin ? await clips.open(clipId) : undefined;
  if (!audio) return undefined;
  const manifest = await signBeside(audio.body, JSON.parse(origin!), openSigner);
  // If the store is full, the next request makes another manifest.
  await storeBeside(clips, manifestOf(clipId), manifestType, manifest).catch(() => {});
  return manifest;
}

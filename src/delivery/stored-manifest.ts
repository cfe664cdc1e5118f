// The manifest beside stored audio, made at the first request and kept, because making it reads all of the audio.
import { buffer } from 'node:stream/consumers';
import { type OpenSigner, signBeside } from '../provenance/places.ts';
import type { ClipRow } from '../store/clip-rows.ts';
import { createSingleFlight } from './single-flight.ts';
import { manifestOf, storeBeside } from './stored-captions.ts';
import type { ClipStore } from './stores/clip-store.ts';

export const manifestType = 'application/c2pa';

type MarkedClip = Pick<ClipRow, 'clipId' | 'origin'>;

/** Two manifests of one audio differ, so concurrent requests share one. */
const flights = createSingleFlight();
const never = new AbortController().signal;

/** Undefined if the file is gone, or if audio was not marked when it was made. */
export async function openManifest(
  clips: ClipStore,
  { clipId, origin }: MarkedClip,
  openSigner: OpenSigner,
): Promise<Buffer | undefined> {
  const find = async () => {
    const kept = await clips.open(manifestOf(clipId));
    return kept && buffer(kept.body);
  };
  const make = async () => {
    const audio = origin ? await clips.open(clipId) : undefined;
    if (!audio) return undefined;
    const manifest = await signBeside(audio.body, JSON.parse(origin!), openSigner);
    // If the store is full, the next request makes another manifest.
    await storeBeside(clips, manifestOf(clipId), manifestType, manifest).catch(() => {});
    return manifest;
  };
  return (await flights.run<Buffer | undefined>(clipId, never, { find, make })).value;
}

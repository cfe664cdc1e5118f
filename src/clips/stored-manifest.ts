// Creates the C2PA manifest of stored audio on the first request. The manifest is stored, because creating it again
// would require reading all of the audio.
import { buffer } from 'node:stream/consumers';
import type { ClipRow } from './clip-rows.ts';
import { type OpenSigner, signBeside } from './provenance/places.ts';
import { createSingleFlight } from './single-flight.ts';
import { manifestOf, storeBeside } from './stored-captions.ts';
import type { ClipStore } from './stores/clip-store.ts';

export const manifestType = 'application/c2pa';

type MarkedClip = Pick<ClipRow, 'clipId' | 'origin'>;

/** Concurrent requests share one manifest, because two manifests of the same audio would differ. */
const flights = createSingleFlight();
const never = new AbortController().signal;

/** Returns undefined if the audio does not exist or has no origin. */
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
    // If the store is full, the next request creates another manifest.
    await storeBeside(clips, manifestOf(clipId), manifestType, manifest).catch(() => {});
    return manifest;
  };
  return (await flights.run<Buffer | undefined>(clipId, never, { find, make })).value;
}

// Finds stored audio by its file name, with the captions and the C2PA manifest beside it. Callers need no API key. The
// manifest is made on the first request, and stored, because making it again would require reading all of the audio.

import { audioFormats, type FormatName } from '../audio.ts';
import { Failure } from '../platform/errors.ts';
import { speechFields } from '../speech.ts';
import { manifestKeyOf, readCaptions, readFile, receiptKeyOf, storeFile } from './beside-audio.ts';
import { captionContentTypes, toCaptions } from './captions.ts';
import type { ClipMemory } from './clip-memory.ts';
import type { ClipRow, ClipRows } from './clip-rows.ts';
import { type OpenSigner, signBeside } from './provenance/places.ts';
import { createSingleFlight } from './single-flight.ts';
import { receiptIdOf } from './stored-receipt.ts';
import { type ClipStore, isStored } from './stores/clip-store.ts';
import type { LinkTo } from './stores/s3-bucket.ts';

const manifestType = 'application/c2pa';

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
  const find = () => readFile(clips, manifestKeyOf(clipId));
  const make = async () => {
    const audio = origin ? await clips.open(clipId) : undefined;
    if (!audio) return undefined;
    const receipt = (await isStored(clips, receiptKeyOf(clipId))) ? receiptIdOf(clipId) : undefined;
    const claimed = { ...JSON.parse(origin!), receipt };
    const manifest = await signBeside(audio.body, claimed, openSigner);
    // If the store is full, the next request creates another manifest.
    await storeFile(clips, manifestKeyOf(clipId), manifestType, [manifest]).catch(() => {});
    return manifest;
  };
  return (await flights.run<Buffer | undefined>(clipId, never, { find, make })).value;
}

interface StoredAudioOptions {
  findClip: ClipRows['find'];
  read: ClipMemory['read'];
  clips: ClipStore;
  /** Undefined if no manifests are created. */
  openSigner?: OpenSigner | undefined;
  /** Set if the store itself serves audio. */
  linkTo?: LinkTo | undefined;
  /** Whether the clip may be deleted early, if the person behind a cloned voice withdraws consent. */
  isRevocable(clip: ClipRow): boolean;
}

/** The kinds of files beside audio, with their content types. */
export const besideTypes = { ...captionContentTypes, c2pa: manifestType };

type BesideKind = keyof typeof besideTypes;

export interface StoredAudio extends Pick<StoredAudioOptions, 'read' | 'linkTo' | 'isRevocable'> {
  /** Whether audio that states its origin has a manifest. */
  hasManifests: boolean;
  /**
   * Finds the clip of an audio, caption or manifest file such as "aud_01JD....wav". Throws a Failure if the clip does
   * not exist or has expired.
   */
  find(file: string): Promise<{ row: ClipRow; beside?: BesideKind | undefined }>;
  /** Returns the captions or the manifest of a clip as a file, or undefined if there are none. */
  fileOf(row: ClipRow, kind: BesideKind): Promise<Buffer | undefined>;
}

export const createStoredAudio = ({ findClip, clips, openSigner, ...options }: StoredAudioOptions): StoredAudio => ({
  ...options,
  hasManifests: openSigner !== undefined,
  async find(file) {
    const [, id, extension] = /^(aud_[0-9A-Z]{20,80})\.([a-z0-9]{2,4})$/.exec(file) ?? [];
    const row = id === undefined ? undefined : await findClip(id);
    const beside =
      extension === 'c2pa' && openSigner ? extension : speechFields.captionKinds.find((kind) => kind === extension);
    const isOfFormat = row && audioFormats[row.format as FormatName].extension === extension;
    if (!row || !(beside || isOfFormat)) throw new Failure('not_found');
    if (row.expiresAtMs <= Date.now()) throw new Failure('audio_expired');
    return { row, beside };
  },
  async fileOf(row, kind) {
    if (kind === 'c2pa') return openSigner && openManifest(clips, row, openSigner);
    const cues = await readCaptions(clips, row.clipId);
    return cues && Buffer.from(toCaptions(kind, cues));
  },
});

// Finds stored audio by its file name, with the captions and the C2PA manifest beside it. Callers need no API key. The
// manifest is made on the first request, and stored, because making it again would require reading all of the audio.

import { audioFormats, type FormatName } from '../audio.ts';
import { Failure } from '../platform/errors.ts';
import { speechFields } from '../speech.ts';
import { manifestKeyOf, readBeside, storeBeside } from './beside-audio.ts';
import { type Cue, captionContentTypes, toCaptions } from './captions.ts';
import type { ClipMemory } from './clip-memory.ts';
import type { ClipRow, ClipRows } from './clip-rows.ts';
import { type OpenSigner, signBeside } from './provenance/places.ts';
import { createSingleFlight } from './single-flight.ts';
import { findReceiptId } from './stored-receipt.ts';
import type { ClipStore } from './stores/clip-store.ts';
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
  const find = () => readBeside(clips, manifestKeyOf(clipId));
  const make = async () => {
    const audio = origin ? await clips.open(clipId) : undefined;
    if (!audio) return undefined;
    const claimed = { ...JSON.parse(origin!), receipt: await findReceiptId(clips, clipId) };
    const manifest = await signBeside(audio.body, claimed, openSigner);
    // If the store is full, the next request creates another manifest.
    await storeBeside(clips, manifestKeyOf(clipId), manifestType, manifest).catch(() => {});
    return manifest;
  };
  return (await flights.run<Buffer | undefined>(clipId, never, { find, make })).value;
}

interface StoredAudioOptions {
  findClip: ClipRows['find'];
  read: ClipMemory['read'];
  /** Returns the captions of a clip, or undefined if there are none. */
  captionsOf(clipId: string): Promise<readonly Cue[] | undefined>;
  /** The C2PA manifest of a clip; undefined if the file of the clip is missing. Absent if no manifests are created. */
  manifestOf?: ((clip: ClipRow) => Promise<Buffer | undefined>) | undefined;
  /** Set if the store itself serves audio. */
  linkTo?: LinkTo | undefined;
  /** Whether the clip may be deleted early, if the person behind a cloned voice withdraws consent. */
  isRevocable(clip: ClipRow): boolean;
}

/** The kinds of files beside audio, with their content types. */
export const besideTypes = { ...captionContentTypes, c2pa: manifestType };

type BesideKind = keyof typeof besideTypes;

export interface StoredAudio extends Omit<StoredAudioOptions, 'findClip' | 'captionsOf'> {
  /**
   * Finds the clip of an audio, caption or manifest file such as "aud_01JD....wav". Throws a Failure if the clip does
   * not exist or has expired.
   */
  find(file: string): Promise<{ row: ClipRow; beside?: BesideKind | undefined }>;
  /** Returns the captions or the manifest of a clip as a file, or undefined if there are none. */
  fileOf(row: ClipRow, kind: BesideKind): Promise<Buffer | undefined>;
}

export const createStoredAudio = ({ findClip, captionsOf, ...options }: StoredAudioOptions): StoredAudio => ({
  ...options,
  async find(file) {
    const [, id, extension] = /^(aud_[0-9A-Z]{20,80})\.([a-z0-9]{2,4})$/.exec(file) ?? [];
    const row = id === undefined ? undefined : await findClip(id);
    const beside =
      extension === 'c2pa' && options.manifestOf
        ? extension
        : speechFields.captionKinds.find((kind) => kind === extension);
    const isOfFormat = row && audioFormats[row.format as FormatName].extension === extension;
    if (!row || !(beside || isOfFormat)) throw new Failure('not_found');
    if (row.expiresAtMs <= Date.now()) throw new Failure('audio_expired');
    return { row, beside };
  },
  async fileOf(row, kind) {
    if (kind === 'c2pa') return options.manifestOf?.(row);
    const cues = await captionsOf(row.clipId);
    return cues && Buffer.from(toCaptions(kind, cues));
  },
});

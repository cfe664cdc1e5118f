// Finds stored audio by its file name. Callers need no API key.
import { audioFormats, type FormatName } from '../audio.ts';
import { Failure } from '../platform/errors.ts';
import { type CaptionKind, speechFields } from '../speech.ts';
import type { Cue } from './captions.ts';
import type { ClipMemory } from './clip-memory.ts';
import type { ClipRow, ClipRows } from './clip-rows.ts';
import type { LinkTo } from './stores/s3-links.ts';

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

export interface StoredAudio extends Omit<StoredAudioOptions, 'findClip'> {
  /**
   * Finds the clip of an audio, caption or manifest file such as "aud_01JD....wav". Throws a Failure if the clip does
   * not exist or has expired.
   */
  find(file: string): Promise<{ row: ClipRow; beside?: CaptionKind | 'c2pa' | undefined }>;
}

export const createStoredAudio = ({ findClip, ...options }: StoredAudioOptions): StoredAudio => ({
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
});

// The worker thread that answers whether this service made an audio file, and whether the file is unchanged. Reads only
// the places where the service writes tags and manifests.
import { hash } from 'node:crypto';
import { readFileHead, soundOf } from '../../audio/file-head.ts';
import { sourceTypes } from '../../audio/origin.ts';
import { serveTasks } from '../../platform/runtime/host-child.ts';
import { verifyManifest } from './verify.ts';

export interface InspectingTask {
  /** The file, in memory that the thread shares. */
  file: SharedArrayBuffer;
  /** The manifest to check if the file has none. */
  beside?: Uint8Array | undefined;
  /** The certificates of this service, in DER. */
  own: readonly Uint8Array[];
}

export type Inspection = ReturnType<typeof inspect>;

function inspect({ file, beside, own }: InspectingTask) {
  const bytes = Buffer.from(file);
  const head = readFileHead(bytes);
  const tags = head?.tags ?? [];
  return {
    format: head?.format ?? '',
    sha256: hash('sha256', bytes),
    /** SHA-256 of the audio without header and tags; empty if the audio was not found. */
    fingerprint: head ? hash('sha256', soundOf(bytes, head)) : '',
    playback: head?.playback,
    tags,
    digitalSourceType: tags.find(({ value }) => value.startsWith(sourceTypes))?.value ?? '',
    manifest: verifyManifest(bytes, own) ?? (beside && verifyManifest(bytes, own, Buffer.from(beside))),
  };
}

serveTasks<undefined, InspectingTask, Inspection>(
  () =>
    (task, { send }) =>
      send([inspect(task)]),
);

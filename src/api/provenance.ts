// Reports whether this installation made an audio file, and whether the file is unchanged. Stored audio is recognised by
// its fingerprint while its row exists.
import type { InspectAudioRequest, ProvenanceService } from '../../gen/sonant/v1/provenance_pb.ts';
import { type ClipRows, type Inspection, inspectFile } from '../clips.ts';
import { Failure } from '../platform/errors.ts';
import type { Call } from './call.ts';
import { toTime } from './messages.ts';
import type { Handlers } from './service-handlers.ts';

type Records = Pick<ClipRows, 'find' | 'findByFingerprint'>;

/** `readOwn` returns the certificates of this installation, in DER. */
export function createProvenanceHandlers(records: Records, readOwn: () => Promise<readonly Uint8Array[]>) {
  return {
    async inspectAudio({ file, audioId }: InspectAudioRequest, { caller: { accountId: owner }, signal }: Call) {
      const inspection = await inspectFile({ file, own: await readOwn(), owner }, signal);
      return reportOn(inspection, audioId, records, owner);
    },
  } satisfies Handlers<typeof ProvenanceService>;
}

/** Adds the record of the audio. Without `accountId`, reports ids from all accounts. */
export async function reportOn(inspection: Inspection, audioId: string, records?: Records, accountId?: string) {
  const { format, fingerprint, manifest } = inspection;
  const named = audioId === '' ? undefined : await records?.find(audioId);
  // Audio from earlier versions has no fingerprint, so changes cannot be detected.
  const clip =
    (named?.fingerprint ? named : undefined) ??
    (fingerprint ? await records?.findByFingerprint(fingerprint, accountId) : undefined);
  if (!format && !clip) {
    const message = 'must be a complete WAV, MP3, FLAC or Ogg Opus file, or raw audio that this service stored';
    throw new Failure('invalid_request', { details: [{ field: 'file', reason: 'format', message }] });
  }
  const isOwn = accountId === undefined || (clip && (clip.accountId ?? clip.ownerId) === accountId);
  const matches = clip !== undefined && clip.fingerprint === fingerprint;
  return {
    ...inspection,
    authentic: matches || (manifest?.valid ?? false),
    record: clip && {
      matches,
      audioId: isOwn ? clip.clipId : '',
      voiceId: clip.voiceId,
      ...(isOwn && { createdAt: toTime(new Date(clip.createdAtMs)) }),
    },
  };
}

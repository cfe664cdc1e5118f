// Reports the origin that an audio file states, and whether this installation made the file. Stored audio is recognised
// by its fingerprint while its row exists.
import { hash } from 'node:crypto';
import type { InspectAudioRequest, ProvenanceService } from '../../gen/sonant/v1/provenance_pb.ts';
import { readFileHead, soundOf } from '../audio/file-head.ts';
import { sourceTypes } from '../audio/origin.ts';
import { Failure } from '../errors.ts';
import { type ManifestReport, verifyManifest } from '../provenance/verify.ts';
import type { ClipRows } from '../store/clip-rows.ts';
import type { Call } from './call.ts';
import { toTime } from './messages.ts';
import type { Handlers } from './service-handlers.ts';

type Records = Pick<ClipRows, 'find' | 'findByFingerprint'>;

export function createProvenanceHandlers(records: Records) {
  return {
    inspectAudio: (message: InspectAudioRequest, { caller }: Call) => inspectAudio(message, records, caller.accountId),
  } satisfies Handlers<typeof ProvenanceService>;
}

/** Inspects a file. Without `accountId`, reports ids from all accounts. Without `records`, finds no stored audio. */
export async function inspectAudio(
  { file, audioId }: Pick<InspectAudioRequest, 'file' | 'audioId'>,
  records?: Records,
  accountId?: string,
) {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.length);
  const head = readFileHead(bytes);
  const fingerprint = hash('sha256', head ? soundOf(bytes, head) : '');
  const named = audioId === '' ? undefined : await records?.find(audioId);
  // Audio from earlier versions has no fingerprint, so changes cannot be detected.
  const clip =
    (named?.fingerprint ? named : undefined) ?? (head && (await records?.findByFingerprint(fingerprint, accountId)));
  if (!head?.format && !clip) {
    const message = 'must be a complete WAV, MP3, FLAC or Ogg Opus file, or raw audio that this service stored';
    throw new Failure('invalid_request', { details: [{ field: 'file', reason: 'format', message }] });
  }
  const isOwn = accountId === undefined || (clip && (clip.accountId ?? clip.ownerId) === accountId);
  return {
    format: head?.format ?? '',
    sha256: hash('sha256', bytes),
    fingerprint,
    tags: head?.tags ?? [],
    digitalSourceType: head?.tags.find(({ value }) => value.startsWith(sourceTypes))?.value ?? '',
    manifest: toManifest(verifyManifest(bytes)),
    record: clip && {
      matches: clip.fingerprint === fingerprint,
      audioId: isOwn ? clip.clipId : '',
      voiceId: clip.voiceId,
      ...(isOwn && { createdAt: toTime(new Date(clip.createdAtMs)) }),
    },
  };
}

const toManifest = (report: ManifestReport | undefined) =>
  report && {
    valid: report.faults.length === 0,
    problems: report.faults,
    issuer: report.signedBy ?? '',
    selfSigned: report.isSelfSigned ?? false,
  };

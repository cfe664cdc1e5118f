// Audio that is kept: the cache, links, jobs, and the proof of origin.
export { captionContentTypes, toCaptions } from './clips/captions.ts';
export { createKnownClips } from './clips/clip-cache.ts';
export { type ClipMemory, createClipMemory } from './clips/clip-memory.ts';
export { type ClipRoom, createClipRoom, freeBytesMin } from './clips/clip-room.ts';
export { type ClipRow, type ClipRows, createClipRows, voiceIdsOf } from './clips/clip-rows.ts';
export { type ClipSweep, openClipSweep } from './clips/clip-sweep.ts';
export {
  createDelivery,
  type Delivered,
  type DeliveredFacts,
  type Delivery,
  type DeliveryOptions,
} from './clips/delivery.ts';
export { jobKeepHoursMax, jobsPerAccountMax, metadataValueCharsMax, readingPausesMs } from './clips/jobs/job-limits.ts';
export {
  type ChapterRequest,
  expiryOf,
  isCover,
  type JobRequest,
  type JobSettings,
  readJobRequest,
  toPartRequest,
} from './clips/jobs/job-request.ts';
export {
  type ChapterRow,
  createJobRows,
  type JobRow,
  type JobRows,
  type JobRowsOptions,
  type NewJob,
} from './clips/jobs/job-rows.ts';
export { audioOf, type JobFault, type JobRunner, openJobRunner } from './clips/jobs/job-runner.ts';
export { openJobSweep, removeJob } from './clips/jobs/job-sweep.ts';
export type { JobCaller, JobTools } from './clips/jobs/job-tools.ts';
export { type Credentials, openSelfSigned, readCredentials } from './clips/provenance/certificate.ts';
export type { Inspection } from './clips/provenance/inspecting-thread.ts';
export { inspectFile } from './clips/provenance/inspector.ts';
export { hasPlace, type OpenSigner, signBeside, signFile } from './clips/provenance/places.ts';
export {
  createSigningCertificateRows,
  type SigningCertificateRows,
} from './clips/provenance/signing-certificate-rows.ts';
export { createSingleFlight, type SingleFlight } from './clips/single-flight.ts';
export type { SizeLimit } from './clips/speaking.ts';
export { createStoredAudio, type StoredAudio } from './clips/stored-audio.ts';
export { readCaptions } from './clips/stored-captions.ts';
export { manifestType, openManifest } from './clips/stored-manifest.ts';
export type { ByteRange, ClipStore } from './clips/stores/clip-store.ts';
export { openLocalClips } from './clips/stores/local-clips.ts';
export { openS3Bucket } from './clips/stores/s3-bucket.ts';
export { S3Clips } from './clips/stores/s3-clips.ts';
export { createPublicLinks, createSignedLinks, type LinkTo } from './clips/stores/s3-links.ts';

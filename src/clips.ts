// Audio that is kept: the cache, links, jobs, and the proof of origin.

// Jobs

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
export type { JobSuspect } from './clips/jobs/job-segment-rows.ts';
export { openJobSweep, removeJob } from './clips/jobs/job-sweep.ts';
export type { JobCaller, JobTools } from './clips/jobs/job-tools.ts';

// Proof of origin

export type { Inspection } from './clips/provenance/inspecting-thread.ts';
export { inspectFile } from './clips/provenance/inspector.ts';
export {
  checkCredentials,
  createOpenSigner,
  createSigningCertificateRows,
  readOwnCertificates,
  selfSignedFileOf,
} from './clips/provenance/open-provenance.ts';
export { hasPlace, type OpenSigner, signBeside, signFile } from './clips/provenance/places.ts';
export { manifestType, openManifest } from './clips/stored-manifest.ts';

// Stores

export type { ByteRange, ClipStore } from './clips/stores/clip-store.ts';
export { openLocalClips } from './clips/stores/local-clips.ts';

// Clips

export { captionContentTypes, toCaptions } from './clips/captions.ts';
export { createKnownClips } from './clips/clip-cache.ts';
export type { ClipMemory } from './clips/clip-memory.ts';
export { type ClipRoom, createClipRoom, freeBytesMin } from './clips/clip-room.ts';
export { type ClipRow, type ClipRows, createClipRows, voiceIdsOf } from './clips/clip-rows.ts';
export { type ClipSweep, openClipSweep } from './clips/clip-sweep.ts';
export { type Clip, createDelivery, type Delivery, type DeliveryOptions } from './clips/delivery.ts';
export { checkClipStore, linkMistakes, openClips, openStoredClips, type StoredClips } from './clips/open-clips.ts';
export { createSingleFlight, type SingleFlight } from './clips/single-flight.ts';
export type { SizeLimit } from './clips/speaking.ts';
export { createStoredAudio, type StoredAudio } from './clips/stored-audio.ts';
export { readCaptions } from './clips/stored-captions.ts';

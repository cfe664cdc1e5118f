// Audio that is kept: the cache, links, jobs, and the proof of origin.

// Opening

export { openClipFolder } from './clips/clip-folder.ts';
export { checkClipStore, linkMistakes, type OpenedDelivery, openClips } from './clips/open-clips.ts';

// Clips

export type { ClipRow } from './clips/clip-rows.ts';
export type { Clip, Delivery } from './clips/delivery.ts';
export type { SizeLimit } from './clips/speaking.ts';
export { besideTypes, type StoredAudio } from './clips/stored-audio.ts';
export type { ByteRange } from './clips/stores/clip-store.ts';

// Jobs

export { readingPausesMs } from './clips/jobs/job-limits.ts';
export { readJobRequest, toJobFields } from './clips/jobs/job-request.ts';
export { type Job, type Jobs, type JobsOptions, openJobs } from './clips/jobs/jobs.ts';

// Proof of origin

export { checkCredentials, openProvenance, type Provenance } from './clips/provenance/open-provenance.ts';
export { type OpenSigner, signFinished } from './clips/provenance/places.ts';

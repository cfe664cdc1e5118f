// Limits of jobs.

/** Code points of the text of a job, and the chapters of one. */
export const jobCharsMax = 2_000_000;
export const jobChaptersMax = 500;
/** Jobs of an account that have not ended. */
export const jobsPerAccountMax = 100;
/** Silence between two chapters. */
export const chapterGapSecondsDefault = 2;
/** Silence between paragraphs, at normal speed: where one ends, at a heading, and where a scene ends. */
export const readingPausesMs = { paragraph: 700, heading: 1_000, scene: 1_400 };
/** How long a job and what was made of it are kept after its end. */
export const jobKeepHoursMax = 8760;
/** How long a retry finds the segments of unfinished chapters of a job that has failed or was canceled. */
export const leftSegmentsMs = 24 * 3_600_000;
export const metadataValueCharsMax = 1_000;
export const coverBytesMax = 1 << 20;
/** UTF-16 units of a part of a chapter: what is planned, and captioned, at once. */
export const partCharsMax = 10_000;
/** Code points of a chapter in SSML, which is one part. */
export const ssmlCharsMax = 50_000;
/** How long a chapter counts as being worked on after its process has died, and how often a living one renews that. */
export const chapterLeaseMs = 15_000;
export const chapterRenewalMs = 4_000;
/** How often it is looked for chapters to speak, and for jobs to forget. */
export const chapterPollMs = 1_000;
export const jobSweepMs = 60_000;
/** What fails and may succeed later is tried again: after so long at first, at most, and so often. */
export const retryMs = { first: 1_000, max: 60_000 };
export const attemptsMax = 40;
/** Of the text that a failed job reports. */
export const faultTextCharsMax = 200;

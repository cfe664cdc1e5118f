// Limits of jobs.

/** Number of code points of a job's text, and number of its chapters. */
export const jobCharsMax = 2_000_000;
export const jobChaptersMax = 500;
/** Number of unfinished jobs per account. */
export const jobsPerAccountMax = 100;
/** Silence between two chapters. */
export const chapterGapSecondsDefault = 2;
/** Silence at normal speed between paragraphs, around a heading, and at the end of a scene. */
export const readingPausesMs = { paragraph: 700, heading: 1_000, scene: 1_400 };
/** How long a job and its audio are kept after the job has ended. */
export const jobKeepHoursMax = 8760;
/** How long the segments of a failed or canceled job are kept for a retry. */
export const leftSegmentsMs = 24 * 3_600_000;
export const metadataValueCharsMax = 1_000;
export const coverBytesMax = 1 << 20;
/** UTF-16 units of one part of a chapter. A part is planned and captioned as a whole. */
export const partCharsMax = 10_000;
/** Code points of a chapter in SSML. Such a chapter is always one part. */
export const ssmlCharsMax = 50_000;
/** How long a chapter stays leased after its process has died, and how often a live process renews the lease. */
export const chapterLeaseMs = 15_000;
export const chapterRenewalMs = 4_000;
/** Interval of the checks for chapters to speak and for jobs to delete. */
export const chapterPollMs = 1_000;
export const jobSweepMs = 60_000;
/** Retries after temporary failures: first delay, longest delay, and number of tries. */
export const retryMs = { first: 1_000, max: 60_000 };
export const attemptsMax = 40;
/** Largest text that a failed job reports. */
export const faultTextCharsMax = 200;

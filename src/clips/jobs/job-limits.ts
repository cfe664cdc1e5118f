// Limits and intervals for jobs.

/** Maximum number of code points and of chapters per job. */
export const jobCharsMax = 2_000_000;
export const jobChaptersMax = 500;
/** Maximum number of unfinished jobs per account. */
export const jobsPerAccountMax = 100;
/** Silence between two chapters. */
export const chapterGapSecondsDefault = 2;
/** Silence at normal speed between paragraphs, around a heading, and at the end of a scene. */
export const readingPausesMs = { paragraph: 700, heading: 1_000, scene: 1_400 };
/** Longest time for which a job and its audio are kept after the job has ended: a year. */
export const jobKeepMsMax = 8760 * 3_600_000;
/** How long the segments of an ended job are kept, to retry it or to speak its suspects again. */
export const leftSegmentsMs = 24 * 3_600_000;
export const metadataValueCharsMax = 1_000;
export const coverBytesMax = 1 << 20;
/** Maximum length of a part of a chapter, in UTF-16 units. Each part is planned and captioned separately. */
export const partCharsMax = 10_000;
/** Maximum length of a chapter in SSML, in code points. A chapter in SSML is one part. */
export const ssmlCharsMax = 50_000;
/** Length of the lease of a chapter, and interval at which a process renews the lease. */
export const chapterLeaseMs = 15_000;
export const chapterRenewalMs = 4_000;
/** Interval between checks for chapters to speak, and for jobs to delete. */
export const chapterPollMs = 1_000;
export const jobSweepMs = 60_000;
/** Retries after temporary failures: first delay, longest delay, and number of tries. */
export const retryMs = { first: 1_000, max: 60_000 };
export const attemptsMax = 40;
/** Maximum length of the text that a failed job reports. */
export const faultTextCharsMax = 200;
/** Interval between checks for changes to a watched job, and longest interval between the job's events. */
export const jobWatchMs = 500;
export const jobEventsEveryMs = 15_000;

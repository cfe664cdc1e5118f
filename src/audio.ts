// Samples and files: formats, levels, and recordings.

// Formats and encoders

export { type AudioPipeline, openAudioPipeline } from './audio/audio-pipeline.ts';
export { audioFormats, encodeSilence, type FormatName, mp3BitRates, type PublicFormatName } from './audio/formats.ts';
export { wavFile } from './audio/wav.ts';

// Files: books, their heads, and their origin

export type { BookChapter, BookTags } from './audio/book-file/audio-book.ts';
export { bookTimeline, encodedRateOf, writeBookFile } from './audio/book-file/book-file.ts';
export { createFingerprint, readFileHead } from './audio/file-head.ts';
export { joinOrigins, type Origin, sourceTypes } from './audio/origin.ts';

// Recordings

export { decodeRecording, recordingBytesMax } from './audio/recording/recording.ts';
export { pcmTag, readWavHeader } from './audio/wav-reader.ts';

// Levels

export { inspectPcm } from './audio/kernels.ts';
export { toFloat } from './audio/level.ts';
export { gainDbFor } from './audio/loudness.ts';

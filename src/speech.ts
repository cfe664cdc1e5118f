// Text to speech: requests, plans, turns, and voices.

// Opening

export { openSpeech } from './speech/open-speech.ts';

// Requests and events

export { type CaptionKind, speechFields } from './speech/fields.ts';
export { type Heard, LiveTurn } from './speech/live-turn.ts';
export {
  fromStoredRequest,
  type ReadRequest,
  type RequestOptions,
  readRequest,
  type SpeechRequest,
  toRequest,
  toStoredRequest,
} from './speech/request.ts';
export type { Meter, SegmentReport, SpeechEvent, SpeechEventOf, SpeechInfo } from './speech/speech-events.ts';

// Voices

export {
  isMiss,
  type StoredBinding,
  type StoredVoice,
  StoredVoices,
  type VoiceAccess,
  type VoiceConsent,
  type VoiceStatus,
  type VoiceTexts,
  voiceAccesses,
} from './speech/stored-voices.ts';
export {
  findDefault,
  isOfAnother,
  isSpokenBy,
  nearestVoice,
  type OfferedVoice,
  ownerOf,
  type Voices,
  voicesFor,
} from './speech/voice.ts';

// Lexicons

export {
  type Lexicons,
  lookUpLexicons,
  mayUseLexicon,
  noLexicons,
  type OfferedLexicon,
} from './speech/request-lexicons.ts';

// Plans

export type { PlannedCut } from './speech/cast.ts';
export { type Estimate, estimateSpeech, expectedBytesOf } from './speech/estimate.ts';
export { bestCasting, type Feed, type Plan } from './speech/plan.ts';
export { cutsOf } from './speech/prefetch.ts';
export type { KeepSegment, SegmentChecks, SpeakOptions } from './speech/spoken-plan.ts';
export type { TimedWord } from './speech/word-timing.ts';

// Synthesis

export { FileOfTurns } from './speech/file-of-turns.ts';
export { Schedule } from './speech/schedule.ts';
export type { LivePlace } from './speech/speak-turn.ts';
export type { Speech } from './speech/synthesize.ts';

// What a recording says

export { openTranscriber } from './speech/transcription.ts';

// Text to speech: requests, plans, turns, and voices.

// Opening

export { openSpeech } from './speech/open-speech.ts';
export type { Speech } from './speech/synthesize.ts';

// Requests and events

export { type CaptionKind, speechFields } from './speech/fields.ts';
export { FileOfTurns, LiveTurn } from './speech/live-turn.ts';
export { fromStoredRequest, readRequest, type SpeechRequest, toRequest, toStoredRequest } from './speech/request.ts';
export type { SpeechEvent, SpeechFindings } from './speech/speech-events.ts';
export type { TimedWord } from './speech/word-timing.ts';

// Voices and lexicons

export { type StoredVoice, StoredVoices } from './speech/stored-voices.ts';
export { type Lexicons, lookUpLexicons, type OfferedLexicon } from './speech/text-reading.ts';
export { type OfferedVoice, ownerOf, type Voices } from './speech/voice.ts';

// Plans

export type { PlannedCut } from './speech/cast.ts';
export type { Plan } from './speech/plan.ts';

// What a recording says

export { openTranscriber } from './speech/transcription.ts';

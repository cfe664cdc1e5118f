// The handlers of all calls, and what checks and runs each call.

// Calls

export { anonymous, type Call, callerLeft, type EndedCall } from './api/call.ts';
export { idempotencyKeyCharsMax, liveWaitingCharsMax, liveWaitingTurnsMax } from './api/call-limits.ts';
export { parseIdempotencyKey } from './api/idempotency.ts';
export { type Operation, operationOf, speechOperations, voiceOperations } from './api/operation.ts';
export { createOperations, type Operations } from './api/operations.ts';
export { createRunner, type Runner } from './api/runner.ts';
export { type RunningCall, wasReported } from './api/running-call.ts';
export { callUnary, type Handlers, type Received } from './api/service-handlers.ts';
export {
  roundSeconds,
  toEstimateResponse,
  toLiveResponse,
  toStreamResponse,
  toSynthesizeResponse,
} from './api/speech-messages.ts';
export { isTicketId, type Ticket, type Tickets, tokenSecondsMax } from './api/stream-tickets.ts';

// Live speech

export type { LiveEvent, LiveInput } from './api/live-session.ts';
export { type LiveOperations, toLiveInput } from './api/live-speech.ts';

// Resources

export { toJobFields } from './api/books.ts';
export { type JobView, openJobHandlers } from './api/jobs.ts';
export { createKeyHandlers } from './api/keys.ts';
export { toModel } from './api/models.ts';
export type { SpeechOperations } from './api/speech.ts';
export { parseVoiceFilter } from './api/voice-filter.ts';
export { createVoiceHandlers, type VoiceOperations } from './api/voices.ts';

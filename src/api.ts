// The handlers of all calls, and what checks and runs each call.
export { createAnswerRows } from './api/answer-rows.ts';
export { createBookHandlers, toJobFields } from './api/books.ts';
export { anonymous, type Call, callerLeft, type EndedCall } from './api/call.ts';
export { idempotencyKeyCharsMax, liveWaitingCharsMax } from './api/call-limits.ts';
export { createIdempotency, type Idempotency, parseIdempotencyKey } from './api/idempotency.ts';
export { createJobHandlers, type JobHandlers, type JobView, toJob } from './api/jobs.ts';
export { createKeyHandlers } from './api/keys.ts';
export { createLexiconHandlers } from './api/lexicons.ts';
export type { LiveEvent, LiveInput } from './api/live-session.ts';
export { createLiveOperations, type LiveOperations, toLiveInput } from './api/live-speech.ts';
export { toEnum } from './api/messages.ts';
export { createMetering } from './api/metering.ts';
export { createModelHandlers, toModel } from './api/models.ts';
export { type Operation, operationOf, speechOperations, voiceOperations } from './api/operation.ts';
export { createProvenanceHandlers, reportOn } from './api/provenance.ts';
export { createRunner, type Runner } from './api/runner.ts';
export { RunningCall, wasReported } from './api/running-call.ts';
export { callStream, callUnary, type Handlers, type Received } from './api/service-handlers.ts';
export { createSpeechOperations, type SpeechOperations } from './api/speech.ts';
export {
  describe,
  roundSeconds,
  toDuration,
  toEstimateResponse,
  toLiveResponse,
  toStreamResponse,
} from './api/speech-messages.ts';
export { createTickets, isTicketId, type Ticket, type Tickets } from './api/stream-tickets.ts';
export { createTicketRows } from './api/ticket-rows.ts';
export { createUsageHandlers } from './api/usage.ts';
export { parseVoiceFilter, toPredicate } from './api/voice-filter.ts';
export { createVoiceHandlers, createVoiceOperations, type VoiceOperations } from './api/voices.ts';

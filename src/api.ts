// The handlers of all calls, and what checks and runs each call.

// Opening

export { type Api, openCommandApi, openServiceApi } from './api/open-service-api.ts';

// Calls

export { anonymous, type Call, callerLeft, type EndedCall } from './api/call.ts';
export { liveWaitingCharsMax, liveWaitingTurnsMax } from './api/call-limits.ts';
export type { Runner } from './api/runner.ts';
export { type RunningCall, scopesOf, wasReported } from './api/running-call.ts';
export { callWithFields, type Received } from './api/service-handlers.ts';
export { roundSeconds, toLiveResponse, toStreamResponse, toSynthesizeResponse } from './api/speech-messages.ts';

// Live speech

export type { LiveEvent, LiveInput } from './api/live-session.ts';
export { toLiveInput } from './api/live-speech.ts';

// Resources

export { toModel } from './api/models.ts';
export { parseVoiceFilter } from './api/voices.ts';

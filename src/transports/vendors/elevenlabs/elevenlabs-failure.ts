// Renders a Failure in ElevenLabs's format: `{"detail":{"status","message","request_id"}}` over HTTP, and
// `{"message","error","code","contextId"}` on a WebSocket.
import type { Failure } from '../../../platform/errors.ts';
import { toMessage, type VendorNames } from '../../http/failure-sentences.ts';
import { type FailureReply, type Recipient, toFailureReply } from '../../net/failure-reply.ts';

/** The header in which ElevenLabs's clients send the API key. */
export const elevenLabsHeader = 'xi-api-key';

export function toElevenLabsReply(failure: Failure, recipient: Recipient): FailureReply {
  // Clients wait for the end of a 429, but a quota ends after days.
  const isSpent = failure.facts.limitReason === 'characters';
  const { status, headers } = toFailureReply(failure, { ...recipient, accept: undefined }, isSpent ? 401 : undefined);
  const detail = { status: statusOf(failure), message: sentenceOf(failure), request_id: recipient.requestId };
  return { status, headers, body: JSON.stringify({ detail }) };
}

/** `contextId` is undefined if the connection has a single context. */
export const toErrorMessage = (failure: Failure, contextId: string | undefined) => ({
  message: sentenceOf(failure),
  error: statusOf(failure),
  code: 1008,
  contextId,
});

/** Returns the status name that clients know for a failure. */
function statusOf({ reason, facts: { limitReason } }: Failure): string {
  if (limitReason === 'concurrency') return 'too_many_concurrent_requests';
  if (limitReason === 'characters') return 'quota_exceeded';
  return reason === 'overloaded' ? 'system_busy' : reason;
}

const names: VendorNames = {
  fields: {
    sample_rate: 'output_format',
    speaking_rate: 'voice_settings.speed',
    lexicon_ids: 'pronunciation_dictionary_locators',
    entries: 'rules',
    grapheme: 'string_to_replace',
    pls: 'file',
    limit: 'page_size',
  },
  listVoices: 'GET /v1/voices',
  lexicon: 'pronunciation dictionary',
};

const sentenceOf = (failure: Failure): string => toMessage(failure, names);

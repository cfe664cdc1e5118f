// Renders a Failure as OpenAI's API does: `{"error": {"message", "type", "param", "code"}}`, the same statuses and headers.
import { type Failure, failureTable } from '../errors.ts';
import { type FailureReply, type Recipient, toFailureReply } from '../net/failure-reply.ts';
import { renameFields } from '../speech/field-names.ts';
import { toMessage } from './failure-sentences.ts';

export function toOpenAiReply(failure: Failure, recipient: Recipient): FailureReply {
  const { status, headers } = toFailureReply(failure, { ...recipient, accept: undefined });
  return { status, headers, body: JSON.stringify({ error: toOpenAiError(failure) }) };
}

export function toOpenAiError(failure: Failure) {
  const renamed = renameFields(failure, 'openai');
  const { reason, facts } = renamed;
  const { details = [] } = facts;
  const { status } = failureTable[reason];
  return {
    message: toMessage(renamed, '/v1/audio/voices'),
    type: status === 429 ? 'requests' : status >= 500 ? 'server_error' : 'invalid_request_error',
    param: details[0]?.field ?? (reason === 'voice_not_found' ? 'voice' : null),
    code: reason,
  };
}

// Renders a Failure like OpenAI's API: `{"error": {"message", "type", "param", "code"}}`, with unchanged status and
// headers.
import { type Failure, failureTable } from '../../platform/errors.ts';
import { type FailureReply, type Recipient, toFailureReply } from '../net/failure-reply.ts';
import { renamed, toMessage, type VendorNames } from './failure-sentences.ts';

export function toOpenAiReply(failure: Failure, recipient: Recipient): FailureReply {
  const { status, headers } = toFailureReply(failure, { ...recipient, accept: undefined });
  return { status, headers, body: JSON.stringify({ error: toOpenAiError(failure) }) };
}

export const openAiNames: VendorNames = {
  fields: {
    voice_id: 'voice',
    text: 'input',
    text_chunks: 'input',
    speaking_rate: 'speed',
    output_format: 'response_format',
  },
  listVoices: 'GET /v1/audio/voices',
};

export function toOpenAiError(failure: Failure) {
  const { reason, facts } = renamed(failure, openAiNames);
  const { details = [] } = facts;
  const { status } = failureTable[reason];
  return {
    message: toMessage(failure, openAiNames),
    type: status === 429 ? 'requests' : status >= 500 ? 'server_error' : 'invalid_request_error',
    param: details[0]?.field ?? (reason === 'voice_not_found' ? 'voice' : null),
    code: reason,
  };
}

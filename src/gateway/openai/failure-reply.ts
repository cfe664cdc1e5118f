// A Failure as OpenAI's clients expect one: `{"error": {"message", "type", "param", "code"}}`, the same statuses and headers.
import type { Failure } from '../../errors.ts';
import { failureTable } from '../../errors.ts';
import { type FailureReply, type Listener, toFailureReply } from '../http/failure-reply.ts';

/** How this door names the members that are called otherwise in the core. */
const names: Readonly<Record<string, string>> = {
  voice_id: 'voice',
  text: 'input',
  'text_chunks[0]': 'input',
  text_chunks: 'input',
  output_format: 'response_format',
  speaking_rate: 'speed',
};

export function toOpenAiReply(failure: Failure, listener: Listener): FailureReply {
  const { status, headers } = toFailureReply(failure, { ...listener, accept: undefined });
  return { status, headers, body: JSON.stringify({ error: toOpenAiError(failure) }) };
}

export function toOpenAiError({ reason, message, facts: { details = [] } }: Failure) {
  const { status } = failureTable[reason];
  const told = details.map((fault) => `${names[fault.field] ?? fault.field} ${fault.message}`).join('; ');
  const [first] = details;
  return {
    message: told === '' ? message : `${told}.`,
    type: status === 429 ? 'requests' : status >= 500 ? 'server_error' : 'invalid_request_error',
    param: first ? (names[first.field] ?? first.field) : reason === 'voice_not_found' ? 'voice' : null,
    code: reason,
  };
}

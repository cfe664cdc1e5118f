// Renders a Failure like OpenAI's API: `{"error": {"message", "type", "param", "code"}}`, with unchanged status and
// headers.
import { Failure, failureTable } from '../../platform/errors.ts';
import { type OtherName, speechFieldRows } from '../../speech.ts';
import { type FailureReply, type Recipient, toFailureReply } from '../net/failure-reply.ts';
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

/** Returns the failure with the field names of the other API. */
function renameFields(failure: Failure, api: OtherName): Failure {
  const { details } = failure.facts;
  if (!details) return failure;
  const renamed = details.map((violation) => ({ ...violation, field: nameAt(api, violation.field) }));
  return new Failure(failure.reason, { ...failure.facts, details: renamed }, failure.cause);
}

/** The name of a field, such as "text_chunks[2]", in another API. */
function nameAt(api: OtherName, field: string): string {
  const json = field.replace(/\[.*/, '');
  const name = speechFieldRows.find((row) => row.json === json)?.names?.[api];
  return name === undefined ? field : name;
}

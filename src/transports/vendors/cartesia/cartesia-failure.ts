// Renders a Failure in Cartesia's format: `{"error_code","title","message","request_id"}` over HTTP, and an error
// message on a WebSocket. The message has `done: false`, because clients interpret `done: true` as success. Its status
// is at least 500, because clients continue a context after a 4xx status. A harmless error keeps its status.
import { Failure, failureTable } from '../../../platform/errors.ts';
import { renamed, toMessage, type VendorNames } from '../../http/failure-sentences.ts';
import { type FailureReply, type Recipient, toFailureReply } from '../../net/failure-reply.ts';
import type { CartesiaMessage } from './events.ts';

/** The header in which Cartesia's clients send the API version. */
export const cartesiaHeader = 'cartesia-version';

export function toCartesiaReply(failure: Failure, recipient: Recipient): FailureReply {
  const { status, headers } = toFailureReply(failure, { ...recipient, accept: undefined });
  return { status, headers, body: JSON.stringify(toError(failure, recipient.requestId)) };
}

export function toErrorMessage(
  failure: Failure,
  requestId: string,
  { isHarmless = false }: { isHarmless?: boolean } = {},
): CartesiaMessage & { message: string } {
  const error = toError(failure, requestId);
  const { status } = failureTable[failure.reason];
  const status_code = isHarmless ? status : Math.max(500, status);
  return { type: 'error', ...error, error: error.message, status_code, done: false };
}

const names: VendorNames = {
  fields: {
    voice_id: 'voice.id',
    text: 'transcript',
    sample_rate: 'output_format.sample_rate',
    language_code: 'language',
    speaking_rate: 'generation_config.speed',
    instructions: 'generation_config.emotion',
    buffer_ms: 'max_buffer_delay_ms',
  },
  listVoices: 'GET /voices',
};

function toError(failure: Failure, request_id: string) {
  const { reason } = failure;
  const { message: title } = renamed(new Failure(reason), names);
  return { error_code: reason, title, message: toMessage(failure, names), request_id };
}

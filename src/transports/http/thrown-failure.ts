// Converts errors thrown by a route or by Fastify into Failures.
import { Failure, toFailure } from '../../platform/errors.ts';

export const notJsonMessage = 'The request body must be application/json in UTF-8, uncompressed.';

const fastifyFaults: Readonly<Record<string, Failure>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new Failure('unsupported_media_type', { message: notJsonMessage }),
  FST_ERR_BAD_URL: new Failure('not_found'),
  FST_ERR_MAX_PARAM_LENGTH: new Failure('not_found'),
};

export function fromThrown(error: unknown): Failure {
  const code = (error as { code?: unknown } | null)?.code;
  return (typeof code === 'string' && fastifyFaults[code]) || toFailure(error);
}

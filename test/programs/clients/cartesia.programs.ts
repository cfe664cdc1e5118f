// Tests Cartesia's newest clients for Python and JavaScript at their defaults.
import { describeClient } from './ten-calls.ts';

const refusals = {
  invalid: ['BadRequestError', 'output_format.sample_rate must be'],
  unknown_voice: 'NotFoundError',
  wrong_key: 'AuthenticationError',
  quota: 'RateLimitError',
  too_long: 'BadRequestError',
} as const;
const statuses = [400, 400, 401, 404, 429];

describeClient('cartesia for Python', {
  program: ['cartesia_calls.py'],
  refusals: { ...refusals, stream_of_unknown_voice: 'error' },
  statuses,
});
describeClient('cartesia for JavaScript', {
  program: ['cartesia_calls.js'],
  refusals: { ...refusals, stream_of_unknown_voice: 'CartesiaError' },
  statuses,
});

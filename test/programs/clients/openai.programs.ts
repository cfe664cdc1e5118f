// Tests OpenAI's newest clients for Python and JavaScript at their defaults.
import { describeClient } from './ten-calls.ts';

const shared = {
  without: ['times'],
  refusals: {
    invalid: ['BadRequestError', 'speed must be'],
    unknown_voice: 'NotFoundError',
    wrong_key: 'AuthenticationError',
    too_long: 'BadRequestError',
    quota: 'RateLimitError',
  },
  statuses: [400, 400, 401, 404, 429],
} as const;

describeClient('openai for Python', { program: ['openai_calls.py'], ...shared });
describeClient('openai for JavaScript', { program: ['openai_calls.js'], ...shared });

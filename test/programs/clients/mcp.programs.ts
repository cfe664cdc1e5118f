// Tests the official MCP clients for Python and JavaScript at their defaults. The link in the result of `speak` plays.
import { describeClient } from './ten-calls.ts';

const refusalsOf = (name: string, unauthorized: readonly [name: string, message: string]) =>
  ({
    invalid: [name, 'speaking_rate must be'],
    unknown_voice: [name, 'Voice not found'],
    wrong_key: unauthorized,
    quota: [name, '8 are left until'],
    too_long: [name, '57 a month'],
  }) as const;
const without = ['stream', 'times'] as const;

describeClient('mcp for Python', {
  program: ['mcp_calls.py'],
  without,
  refusals: refusalsOf('is_error', ['MCPError', 'The API key is']),
  statuses: [401, 401],
});
describeClient('mcp for JavaScript', {
  program: ['mcp_calls.js'],
  without,
  refusals: refusalsOf('isError', ['SdkHttpError', 'The API key is']),
  statuses: [401],
});
describeClient('mcp for JavaScript, with sessions', {
  program: ['mcp_calls.js', 'session'],
  without,
  refusals: refusalsOf('isError', ['StreamableHTTPError', 'The API key is']),
  statuses: [401],
});

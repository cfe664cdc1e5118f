// Tests the official MCP clients for Python and JavaScript at their defaults. The link in the result of `speak` plays.
import { describeClient } from './ten-calls.ts';

const refusalsOf = (name: string, unauthorized: string) =>
  ({
    invalid: [name, 'speaking_rate must be'],
    unknown_voice: name,
    wrong_key: unauthorized,
    quota: name,
    too_long: name,
  }) as const;
const without = ['stream', 'times'] as const;

describeClient('mcp for Python', {
  program: ['mcp_calls.py'],
  without,
  refusals: refusalsOf('is_error', 'MCPError'),
  statuses: [401, 401],
});
describeClient('mcp for JavaScript', {
  program: ['mcp_calls.js'],
  without,
  refusals: refusalsOf('isError', 'SdkHttpError'),
  statuses: [401],
});
describeClient('mcp for JavaScript, with sessions', {
  program: ['mcp_calls.js', 'session'],
  without,
  refusals: refusalsOf('isError', 'StreamableHTTPError'),
  statuses: [401],
});

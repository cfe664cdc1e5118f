// Tests ElevenLabs' newest clients for Python and JavaScript at their defaults.
import { describeClient } from './ten-calls.ts';

const refusalsOf = (name: string) =>
  ({
    invalid: [name, 'voice_settings.speed must be'],
    unknown_voice: name,
    wrong_key: name,
    too_long: name,
    quota: name,
  }) as const;
const statuses = [400, 400, 401, 401, 404];

const refusals = refusalsOf('ApiError');
describeClient('elevenlabs for Python', { program: ['elevenlabs_calls.py'], refusals, statuses });
describeClient('elevenlabs for Python, over WebSocket', {
  program: ['elevenlabs_calls.py', 'realtime'],
  // Text that arrives in pieces is refused when a piece exceeds the quota.
  refusals: { ...refusals, quota: ['ApiError', '6 are left until'], too_long: ['ApiError', '6 are left until'] },
  statuses: [],
});
describeClient('elevenlabs for JavaScript', {
  program: ['elevenlabs_calls.js'],
  example: 'elevenlabs-js',
  refusals: refusalsOf('ElevenLabsError'),
  statuses,
});

// Tests that durations are measured in seconds.
import { expect, test } from 'vitest';
import { createServiceMetrics } from '../../src/app/metrics.ts';

test('durations of calls, requests and waits are in seconds', () => {
  const metrics = createServiceMetrics();
  const facts = { requestId: 'req_1', callerId: 'ada', failure: undefined, durationMs: 250 };
  metrics.onCallEnd({
    ...{ ...facts, method: 'SynthesizeSpeech', api: 'grpc', keyId: 'key_1', traceId: undefined },
    speech: { voiceId: 'ada', engine: 'tone', characters: 7, firstSoundMs: 125, audioSeconds: 1.5 },
    ...{ status: 'OK', messageCount: 1 },
  });
  metrics.onRequestEnd({ ...facts, method: 'GET', route: '/api/voices', status: 200, isWhole: true });
  metrics.onAdmit('bulk', 500);
  const sums = [...metrics.text().matchAll(/^(\w+_seconds)_sum\S* (\S+)$/gm)].map(([, name, sum]) => [name, sum]);
  expect(Object.fromEntries(sums)).toMatchObject({
    sonant_call_seconds: '0.25',
    rpc_server_call_duration_seconds: '0.25',
    http_server_request_duration_seconds: '0.25',
    sonant_first_sound_seconds: '0.125',
    sonant_wait_seconds: '0.5',
  });
  metrics.close();
});

// Tests that durations are measured in seconds.
import { EventEmitter } from 'node:events';
import { expect, test, vi } from 'vitest';
import { createCallMetrics } from '../../src/api/runner.ts';
import { createMetrics } from '../../src/platform/telemetry/prometheus.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import { createRequestWatch } from '../../src/transports/http/ended-request.ts';

test('durations of calls, requests and waits are in seconds', async () => {
  const metrics = createMetrics();
  const countCall = createCallMetrics(metrics);
  countCall({
    ...{ requestId: 'req_1', callerId: 'ada', failure: undefined, durationMs: 250, status: 'OK', messageCount: 1 },
    ...{ method: 'SynthesizeSpeech', api: 'grpc', keyId: 'key_1', traceId: undefined },
    speech: { voiceId: 'ada', engine: 'tone', characters: 7, firstSoundMs: 125, audioSeconds: 1.5 },
  });
  const now = vi.spyOn(performance, 'now').mockReturnValueOnce(1_000).mockReturnValueOnce(1_250);
  const raw = Object.assign(new EventEmitter(), { statusCode: 200 });
  const request = { id: 'req_1', method: 'GET', routeOptions: { url: '/api/voices' } };
  createRequestWatch(metrics, () => {})(request as never, { raw } as never);
  raw.emit('close');
  now.mockRestore();
  const clock = { ms: 0 };
  const schedule = new Schedule({ speakingMax: 1, waitingMax: 1, metrics, now: () => clock.ms });
  const engine = { name: 'tone', capabilities: {} };
  const seat = { engine, resource: undefined, isClone: false };
  const demand = { owner: 'ada', kind: 'bulk', seat, bytesMax: 0 } as const;
  const { signal } = new AbortController();
  const first = await schedule.begin(demand, signal);
  const second = schedule.begin(demand, signal);
  clock.ms += 500;
  first.end();
  (await second).end();
  const sums = [...metrics.text().matchAll(/^(\w+_seconds)_sum\S* (\S+)$/gm)].map(([, name, sum]) => [name, sum]);
  expect(Object.fromEntries(sums)).toMatchObject({
    sonant_call_seconds: '0.25',
    rpc_server_call_duration_seconds: '0.25',
    http_server_request_duration_seconds: '0.25',
    sonant_first_sound_seconds: '0.125',
    sonant_wait_seconds: '0.5',
  });
});

// `sonant bench URL` against a running service, by each way in; what it counts is what the service did.
import { expect, test } from 'vitest';
import { serve } from './serving-program.ts';
import { runSonant } from './sonant-program.ts';

test('each way in is loaded, and what it bears is told', async () => {
  const { folder, ports, key } = await serve();
  const [http, grpc] = ports.map((port) => `http://127.0.0.1:${port}`);
  const bench = (...args: string[]) => runSonant(folder, ['bench', ...args, '--text', 'Hello', '-c', '2']);

  const told = await Promise.all(
    ['stream', 'buffer', 'sse', 'grpc'].map(async (way) => {
      const { code, out } = await bench((way === 'grpc' ? grpc : http)!, '--way', way, '-n', '3', '--json');
      return { code, ...JSON.parse(out) };
    }),
  );
  for (const each of told) {
    expect(each).toMatchObject({ code: 0, done: 3, failed: 0, throttled: 0, refusals: {}, clients: 2 });
    expect(each.first_sound_ms.p50).toBeLessThanOrEqual(each.whole_ms.p50);
    expect(each.audio_seconds_per_second).toBeGreaterThan(0);
  }

  const rows = await bench(`${http}/`, '-n', '3', '--key', key);
  expect(rows.out).toMatch(/^SECOND +DONE +FAILED .*\n(\d.*\n)*all +3 +0 +0 /);
});

test('who is told to wait waits, and a service that is not there is told of', async () => {
  const { folder, url } = await serve();
  const made = await runSonant(folder, ['key', 'create', '--json', '--requests-per-minute', '1']);
  const { key } = JSON.parse(made.out) as { key: string };
  const bench = (...args: string[]) => runSonant(folder, ['bench', ...args, '--json', '-s', '1']);

  const held = await bench(url, '--key', key, '--voice', 'clara', '-c', '3', '-n', '3');
  expect({ code: held.code, ...JSON.parse(held.out) }).toMatchObject({
    code: 0,
    done: 1,
    throttled: 2,
    refusals: { '429 rate_limit_exceeded': 2 },
  });
  const wrong = await bench(url, '--voice', 'nobody');
  expect(JSON.parse(wrong.out).refusals).toHaveProperty(['404 voice_not_found']);
  expect(wrong.code).toBe(1);
  expect(await bench('http://127.0.0.1:9')).toMatchObject({ code: 1, err: expect.stringContaining('cannot ask') });
  for (const args of [[], ['127.0.0.1'], [url, '--way', 'fax'], [url, '--clients', '0']])
    expect((await bench(...args)).code).toBe(2);
});

// `sonant bench URL` against a running service, by each way in; what it counts is what the service did.
import { expect, test } from 'vitest';
import { benchCommand } from '../../src/cli/bench.ts';
import { type CommandError, commandLine, UsageError } from '../../src/cli/command.ts';
import { serve } from './serving-program.ts';
import { runSonant } from './sonant-program.ts';

const { signal } = new AbortController();
async function bench(...args: string[]): Promise<{ code: number; out: string }> {
  const lines: string[] = [];
  const print = (text: string) => void lines.push(text);
  const code = await benchCommand.run({ ...commandLine, args, signal, print });
  return { code, out: lines.join('\n') };
}
const few = ['--text', 'Hello', '--clients', '2', '--requests', '3'];

test('reports throughput, rate-limited calls and errors for each transport', async () => {
  const { folder, ports, url, key } = await serve();
  const target = `http://127.0.0.1:${ports[1]}`;
  const reports = await Promise.all(
    ['stream', 'buffer', 'sse', 'grpc'].map(async (way) => {
      const { code, out } = await bench(way === 'grpc' ? target : url, ...few, '--way', way, '--key', key, '--json');
      return { code, ...JSON.parse(out) };
    }),
  );
  for (const each of reports) {
    expect(each).toMatchObject({ code: 0, done: 3, failed: 0, throttled: 0, refusals: {}, clients: 2 });
    expect(each.first_sound_ms.p50).toBeLessThanOrEqual(each.whole_ms.p50);
    expect(each.audio_seconds_per_second).toBeGreaterThan(0);
  }

  const made = await runSonant(folder, ['key', 'create', '--json', '--requests-per-minute', '1']);
  const { key: limited } = JSON.parse(made.out) as { key: string };
  const held = await bench(url, ...few, '--key', limited, '--voice', 'clara', '--seconds', '1', '--json');
  expect({ code: held.code, ...JSON.parse(held.out) }).toMatchObject({
    ...{ code: 0, done: 1, failed: 0 },
    refusals: { '429 rate_limit_exceeded': expect.any(Number) },
  });
  const wrong = await bench(url, ...few, '--key', key, '--voice', 'nobody', '--json');
  expect(JSON.parse(wrong.out).refusals).toHaveProperty(['404 voice_not_found']);
  expect(wrong.code).toBe(1);

  // As a person runs it: with the key that the first start made, and a row a second.
  const rows = await runSonant(folder, ['bench', `${url}/`, ...few]);
  expect(rows).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^SECOND +DONE +FAILED .*\n(\d.*\n)*all +3 +0 +0 /),
  });
});

test('an unreachable service and an unknown command are errors', async () => {
  await expect(bench('http://127.0.0.1:9', '--key', 'snt_x')).rejects.toMatchObject({
    message: expect.stringContaining('cannot ask'),
  } satisfies Partial<CommandError>);
  for (const args of [[], ['127.0.0.1'], ['http://127.0.0.1:9', '--way', 'fax'], ['http://127.0.0.1:9', '-c', '0']])
    await expect(bench(...args)).rejects.toThrow(UsageError);
});

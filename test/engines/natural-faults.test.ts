// Tests what becomes of a natural voice's work when a caller leaves at any moment, and when a worker process is killed in
// the middle of a sentence.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { childrenOf, ownCpuMs, threadsCpuMs } from '../../bench/measuring/machine.ts';
import { findRuntime } from '../../src/engines/onnx/onnx-runtime.ts';
import { collectSpeech } from '../speech/collect-speech.ts';
import { speechOf } from '../speech/open-speech.ts';
import { openNatural } from './natural-engine.ts';
import { joinPcm } from './open-guard.ts';

const engine = await openNatural(1);
afterAll(() => engine?.close());

const sentence = 'The boat left the harbour early, long before the sun came up over the quiet little town.';
const long = `${sentence} `.repeat(3).trim();
const signal = new AbortController().signal;

/** The threads or processes of workers. */
function workers(): string[] {
  const threads = readdirSync('/proc/self/task').filter(
    (id) => readFileSync(`/proc/self/task/${id}/comm`, 'latin1').trim() === 'WorkerThread',
  );
  return [...threads, ...childrenOf(process.pid)].sort();
}
const cpuMs = () => ownCpuMs() + threadsCpuMs(childrenOf(process.pid));

describe.skipIf(!engine || process.platform !== 'linux')('a natural voice', { timeout: 60_000 }, () => {
  const speak = (text: string, by = signal) => {
    const voice = engine!.voices[0]!;
    const segment = { voice, text, languageCode: 'en-US', speakingRate: 1, timings: true, urgent: true };
    return engine!.speak(segment, by);
  };
  const say = async (text: string) => {
    const pieces = await Array.fromAsync(speak(text));
    return joinPcm(pieces);
  };

  test('a caller that leaves at any moment costs one window more, and the worker goes on with the next text', async () => {
    const whole = await say(sentence);
    const before = workers();
    let usedMs = cpuMs();
    const pieces = (await Array.fromAsync(speak(long))).length;
    const wholeMs = cpuMs() - usedMs;
    for (const leaveAfter of [0, 1, 2, 3]) {
      const leaving = new AbortController();
      usedMs = cpuMs();
      let heard = 0;
      const speaking = (async () => {
        for await (const _ of speak(long, leaving.signal)) if (++heard === leaveAfter) leaving.abort(new Error('left'));
      })();
      if (leaveAfter === 0) setTimeout(() => leaving.abort(new Error('left')), 5);
      await expect(speaking).rejects.toThrow('left');
      await sleep(300);
      expect(heard).toBe(leaveAfter);
      // The front computes the whole text at once; the windows after the next one are saved.
      expect((cpuMs() - usedMs) / wholeMs).toBeLessThan(0.8);
      expect(await say(sentence)).toEqual(whole);
    }
    expect(pieces).toBeGreaterThan(6);
    expect(workers()).toEqual(before);
  });

  test.skipIf(findRuntime()?.is !== 'native')('a request whose process is killed fails, or is complete', async () => {
    const { stream } = speechOf([engine!]);
    const ask = (onAudio = () => {}) => {
      const events = stream({ voice_id: 'hibari', method: 'streaming', text_chunks: [long] });
      return collectSpeech(
        (async function* () {
          for await (const event of events) {
            if (event.type === 'audio') onAudio();
            yield event;
          }
        })(),
      );
    };
    const whole = await ask();
    const outcomes: string[] = [];
    for (const killAfterMs of [5, 20, 40, 80, undefined]) {
      const kill = () => {
        for (const pid of childrenOf(process.pid)) process.kill(Number(pid), 'SIGKILL');
      };
      if (killAfterMs !== undefined) setTimeout(kill, killAfterMs);
      const [outcome] = await Promise.allSettled([ask(killAfterMs === undefined ? kill : undefined)]);
      if (outcome!.status === 'fulfilled') expect(outcome.value.audio).toEqual(whole.audio);
      else expect(outcome!.reason).toMatchObject({ reason: 'engine_error' });
      outcomes.push(outcome!.status);
      expect((await ask()).audio).toEqual(whole.audio);
    }
    expect(outcomes).toContain('rejected');
  });
});

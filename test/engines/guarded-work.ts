// Runs any task as a segment of a test engine, behind the guard that waits for turns and retries. For pool tests.
import type { Engine, EngineCapabilities, Segment, SpokenPcm, Voice } from '../../src/engines/engine.ts';
import { openGuard } from './open-guard.ts';

export interface GuardedWork<Task, Piece> {
  run(task: Task, signal: AbortSignal): AsyncIterable<Piece>;
  resourceOf?(task: Task): string;
  capabilities: Partial<EngineCapabilities>;
}

export function guardWork<Task, Piece>({ run, resourceOf, capabilities }: GuardedWork<Task, Piece>) {
  const taskOf = (segment: Segment) => (segment as Segment & { task: Task }).task;
  const engine: Engine = {
    name: 'work',
    voices: [],
    capabilities: {
      speakingRates: { min: 1, max: 1 },
      timings: false,
      readsNumbers: false,
      segmentCharsMax: 40,
      segmentsAtOnce: 1,
      ...capabilities,
    },
    async *speak(segment, signal): AsyncGenerator<SpokenPcm> {
      for await (const piece of run(taskOf(segment), signal)) {
        // Pieces with words are not joined by the reader.
        yield { samples: new Int16Array(), sampleRateHz: 8_000, words: [], piece } as SpokenPcm;
      }
    },
    ...(resourceOf && { resourceOf: (segment: Segment) => resourceOf(taskOf(segment)) }),
    close: async () => {},
  };
  const guard = openGuard(engine);
  const voice = { voiceId: 'work', labels: {} } as unknown as Voice;
  return async function* work(task: Task, signal: AbortSignal, urgent = false): AsyncGenerator<Piece, void> {
    const segment = { voice, text: '', languageCode: 'en', speakingRate: 1, timings: false, urgent, task };
    for await (const pcm of guard.speak(segment, 'caller', signal)) yield (pcm as unknown as { piece: Piece }).piece;
  };
}

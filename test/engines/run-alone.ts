// Runs an engine for a segment, without the guard and its retries.
import type { Engine, Segment } from '../../src/engines/engine.ts';
import { SegmentReader } from '../../src/engines/reader.ts';
import { runEngine } from '../../src/engines/run.ts';

export const runAlone = (engine: Engine, segment: Segment, signal: AbortSignal): SegmentReader =>
  new SegmentReader({
    run: (push, by) => runEngine(engine, segment, push, by),
    again: () => undefined,
    signals: [signal],
  });

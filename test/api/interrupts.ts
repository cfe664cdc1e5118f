// Interrupts turns of live speech at random moments. Reports for each turn the events after the interrupt, how long the
// engine continued, and whether the reported text matches the word times of the uninterrupted turn. The engine is slow,
// so that the moments are spread over the whole turn.
import { setTimeout as sleep } from 'node:timers/promises';
import type { LiveEvent } from '../../src/api/live-session.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { type OpenedLive, openLive, speakPieces, wordsOf } from './open-live.ts';

export interface Interrupted {
  bytesAfter: number;
  /** Time from the interrupt until the engine stopped; 0 if it had already finished. */
  engineMs: number;
  isExact: boolean;
  /** The text that the service reports as spoken, and the text spoken by then according to the word times. */
  told: string;
  expected: string;
}

export interface WatchedEngine {
  engine: Engine;
  running(): number;
  /** Time at which the engine finished its last segment. */
  endedMs(): number;
}

/** Wraps the engine, and records when it stops. */
export function watchEnd(engine: Engine): WatchedEngine {
  let running = 0;
  let endedMs = 0;
  const watched: Engine = {
    ...engine,
    async *speak(segment, signal) {
      running++;
      try {
        yield* engine.speak(segment, signal);
      } finally {
        running--;
        endedMs = performance.now();
      }
    },
  };
  return { engine: watched, running: () => running, endedMs: () => endedMs };
}

export async function interruptTurns(
  watched: WatchedEngine,
  fields: object,
  {
    texts,
    count,
    delayMsMax,
    random,
  }: { texts: readonly string[]; count: number; delayMsMax: number; random(): number },
): Promise<Interrupted[]> {
  const live = openLive(watched.engine);
  const references = new Map<string, Reference>();
  const interrupted: Interrupted[] = [];
  for (let i = 0; i < count; i++) {
    const text = texts[i % texts.length]!;
    const reference = references.get(text) ?? (await referenceOf(live, fields, text));
    references.set(text, reference);
    interrupted.push(
      await interruptOne(watched, live, fields, { text, reference, delayMs: random() * delayMsMax, random }),
    );
  }
  return interrupted;
}

interface Reference {
  words: readonly { end: number; startSeconds: number }[];
}

async function referenceOf(live: OpenedLive, fields: object, text: string): Promise<Reference> {
  const events = await speakPieces(live, { ...fields, timestamps: 'word' }, [text]);
  const words = wordsOf(events).map(({ offset, length, startSeconds }) => ({ end: offset + length, startSeconds }));
  return { words };
}

async function interruptOne(
  watched: WatchedEngine,
  live: OpenedLive,
  fields: object,
  { text, reference, delayMs, random }: { text: string; reference: Reference; delayMs: number; random(): number },
): Promise<Interrupted> {
  const { inputs, events, say } = live.begin({ ...fields, timestamps: 'word' });
  let bytesBefore = 0;
  let bytesAfter = 0;
  let sentMs = Number.POSITIVE_INFINITY;
  let answer: Extract<LiveEvent, { type: 'interrupted' }> | undefined;
  const read = async () => {
    for await (const event of events) {
      if (event.type === 'audio' && answer) bytesAfter += event.audio.length;
      else if (event.type === 'audio') bytesBefore += event.audio.length;
      else if (event.type === 'interrupted') answer = event;
    }
  };
  const write = async () => {
    say(text);
    if (random() < 0.5) inputs.push({ type: 'flush' });
    await sleep(delayMs);
    // A player may be anywhere between the start and the end of the received audio.
    const playedMs = random() < 0.2 ? undefined : random() * (bytesBefore / 48);
    sentMs = performance.now();
    inputs.push({ type: 'interrupt', playedMs });
    inputs.push({ type: 'end' });
  };
  await Promise.all([read(), write()]);
  while (watched.running() > 0) await sleep(1);
  const { textSpoken: told, textRemaining, playedMs } = answer!;
  const heard = reference.words.findLast(({ startSeconds }) => startSeconds < playedMs / 1000);
  const expected = [...text].slice(0, heard?.end ?? 0).join('');
  const isExact = told === expected && told + textRemaining === text;
  return { bytesAfter, engineMs: Math.max(0, watched.endedMs() - sentMs), isExact, told, expected };
}

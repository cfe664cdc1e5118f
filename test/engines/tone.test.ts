// Tests that the tone engine keeps the contract, and misbehaves as instructed.
import { expect, test } from 'vitest';
import type { Segment } from '../../src/engines/engine.ts';
import { engineConformance } from '../conformance/engine.ts';
import { type OpenedGuard, openGuard } from './open-guard.ts';
import type { ToneEngine } from './tone-engine.ts';
import { defineTone, openTone } from './tone-engine.ts';

engineConformance('tone', async () => openTone({ blends: true }));
engineConformance('tone at 11025 Hz', () => defineTone({ sampleRateHz: 11_025 }).open({}, ''));

const counted = (counts: object) => ({
  begun: 0,
  finished: 0,
  aborted: 0,
  failed: 0,
  running: 0,
  pieces: 0,
  ...counts,
});

interface GuardedTone {
  tone: ToneEngine;
  guard: OpenedGuard;
}

function openGuarded(...options: Parameters<typeof openTone>): GuardedTone {
  const tone = openTone(...options);
  return { tone, guard: openGuard(tone) };
}

function speak({ tone, guard }: GuardedTone, signal = new AbortController().signal) {
  const voice = tone.voices[0]!;
  const segment: Segment = {
    voice,
    text: 'One two three.',
    languageCode: 'en',
    speakingRate: 1,
    timings: true,
    urgent: true,
  };
  return guard.speak(segment, 'caller', signal);
}

async function receivedOf(...asked: Parameters<typeof speak>) {
  const heard: string[] = [];
  try {
    for await (const { words } of speak(...asked)) heard.push(...words!.map(({ from, to }) => `${from}-${to}`));
  } catch (error) {
    heard.push(error instanceof Error ? error.name : String(error));
  }
  return heard;
}

test('counts what it does', async () => {
  const opened = openGuarded();
  const { tone } = opened;
  expect(await receivedOf(opened)).toEqual(['0-3', '4-7', '8-13']);
  for await (const _ of speak(opened)) break;
  await expect.poll(() => tone.counts).toMatchObject({ begun: 2, finished: 1, aborted: 1, running: 0 });
  expect(tone.segments.map(({ text }) => text)).toEqual(['One two three.', 'One two three.']);
});

test('fails as configured: from a segment on, after pieces, with an error of choice', async () => {
  const opened = openGuarded({ trouble: { failsAfterSegments: 1 } });
  const { tone } = opened;
  expect([await receivedOf(opened), await receivedOf(opened)]).toEqual([['0-3', '4-7', '8-13'], ['Failure']]);
  tone.trouble = { failsAfterPieces: 2, failure: new RangeError('of choice') };
  expect(await receivedOf(opened)).toEqual(['0-3', '4-7', 'RangeError']);
  tone.trouble = {};
  expect(await receivedOf(opened)).toEqual(['0-3', '4-7', '8-13']);
  expect(tone.counts).toEqual(counted({ begun: 4, finished: 2, failed: 2, pieces: 8 }));
});

test('hangs or is slow as configured, until it is aborted or closed', async () => {
  const opened = openGuarded({ trouble: { hangsAfterPieces: 1 } });
  const { tone } = opened;
  const caller = new AbortController();
  const hanging = [receivedOf(opened, caller.signal), receivedOf(opened)];
  await expect.poll(() => tone.counts.pieces).toBe(2);
  tone.trouble = { pieceDelayMs: 5 };
  expect(await receivedOf(opened)).toEqual(['0-3', '4-7', '8-13']);
  expect(tone.counts).toMatchObject({ running: 2, finished: 1 });
  caller.abort('left');
  expect(await hanging[0]).toEqual(['0-3', 'left']);
  await opened.guard.close();
  expect(await hanging[1]).toEqual(['0-3', 'Failure']);
  await expect.poll(() => tone.counts).toEqual(counted({ begun: 3, finished: 1, aborted: 2, pieces: 5 }));
});

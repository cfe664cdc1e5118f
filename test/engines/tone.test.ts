// The tone engine keeps the contract, and misbehaves as it is told to.
import { expect, test } from 'vitest';
import type { Segment } from '../../src/engines/engine.ts';
import { engineConformance } from '../conformance/engine.ts';
import type { ToneEngine } from './tone-engine.ts';
import { defineTone, openTone } from './tone-engine.ts';

engineConformance('tone', async () => openTone());
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

function speak(tone: ToneEngine, signal = new AbortController().signal) {
  const voice = tone.voices[0]!;
  const segment: Segment = {
    voice,
    text: 'One two three.',
    languageCode: 'en',
    speakingRate: 1,
    timings: true,
    urgent: true,
  };
  return tone.speak(segment, signal);
}

async function heardOf(...asked: Parameters<typeof speak>) {
  const heard: string[] = [];
  try {
    for await (const { words } of speak(...asked)) heard.push(...words!.map(({ from, to }) => `${from}-${to}`));
  } catch (error) {
    heard.push(error instanceof Error ? error.name : String(error));
  }
  return heard;
}

test('counts what it does', async () => {
  const tone = openTone();
  expect(await heardOf(tone)).toEqual(['0-3', '4-7', '8-13']);
  for await (const _ of speak(tone)) break;
  expect(tone.counts).toEqual(counted({ begun: 2, finished: 1, aborted: 1, pieces: 4 }));
  expect(tone.segments.map(({ text }) => text)).toEqual(['One two three.', 'One two three.']);
});

test('fails when told to: from a segment on, after pieces, with an error of choice', async () => {
  const tone = openTone({ trouble: { failsAfterSegments: 1 } });
  expect([await heardOf(tone), await heardOf(tone)]).toEqual([['0-3', '4-7', '8-13'], ['Failure']]);
  tone.trouble = { failsAfterPieces: 2, failure: new RangeError('of choice') };
  expect(await heardOf(tone)).toEqual(['0-3', '4-7', 'RangeError']);
  tone.trouble = {};
  expect(await heardOf(tone)).toEqual(['0-3', '4-7', '8-13']);
  expect(tone.counts).toEqual(counted({ begun: 4, finished: 2, failed: 2, pieces: 8 }));
});

test('hangs or is slow when told to, until it is aborted or closed', async () => {
  const tone = openTone({ trouble: { hangsAfterPieces: 1 } });
  const caller = new AbortController();
  const hanging = [heardOf(tone, caller.signal), heardOf(tone)];
  tone.trouble = { pieceDelayMs: 5 };
  expect(await heardOf(tone)).toEqual(['0-3', '4-7', '8-13']);
  expect(tone.counts).toMatchObject({ running: 2, finished: 1 });
  caller.abort('left');
  expect(await hanging[0]).toEqual(['0-3', 'left']);
  await tone.close();
  expect(await hanging[1]).toEqual(['0-3', 'Failure']);
  expect(tone.counts).toEqual(counted({ begun: 3, finished: 1, aborted: 2, pieces: 5 }));
});

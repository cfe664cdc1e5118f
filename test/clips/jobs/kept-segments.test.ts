// Tests stored segments: charged once, refunded if they are not stored, and deleted with their voice.
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { LeaseLost, type SegmentRow } from '../../../src/clips/jobs/job-segment-rows.ts';
import { type KeepSegmentsOptions, keepSegments } from '../../../src/clips/jobs/kept-segments.ts';
import type { SegmentCheck } from '../../../src/engines/guard.ts';
import { Failure } from '../../../src/platform/errors.ts';
import type { PlannedCut } from '../../../src/speech/cast.ts';

const { signal } = new AbortController();
const check: SegmentCheck = { takes: 2, seed: 3, faults: ['silence'] };
const sound = [{ samples: new Int16Array(240), sampleRateHz: 24_000 }];

function open({ charged = 0, rowFails = false, isSpent = false } = {}) {
  const ended = new AbortController();
  const kept = new Map<number, SegmentRow>();
  const clips = new Map<string, Uint8Array>();
  /** Segments that the recognizer left unchecked, up to each segment that was stored. */
  const unchecked: number[] = [];
  let quota = 0;
  const options: KeepSegmentsOptions = {
    chapter: { jobKey: 'job', chapter: 0, voiceId: 'ada', audioId: null },
    rows: {
      now: async () => 0,
      findSegment: async (_, segment) => kept.get(segment),
      countCharged: async () => charged,
      async addSegment(row, progress) {
        if (rowFails) throw new LeaseLost();
        kept.set(row.segment, row);
        unchecked.push(progress.unchecked);
      },
      async deleteSegmentsOfVoice() {
        const keys = [...kept.values()].flatMap(({ clipKey }) => clipKey ?? []);
        kept.clear();
        return keys;
      },
    },
    clips: {
      create: async (key) => ({
        write: async (bytes) => void clips.set(key, bytes),
        commit: async () => {},
        discard: async () => {},
      }),
      open: async (key) => {
        const bytes = clips.get(key);
        return bytes && { byteCount: bytes.length, body: Readable.from([bytes]) };
      },
      remove: async (key) => void clips.delete(key),
    },
    holder: 'me',
    async take(chars) {
      if (isSpent) throw new Failure('rate_limit_exceeded');
      quota += chars;
      return {
        keyId: 'key',
        end(spoken) {
          quota -= chars - spoken;
        },
      };
    },
    offsetOf: () => 0,
    isVerified: true,
  };
  const binding = { engine: 'tone', speaker: { engine: 'tone', voiceId: 'ada', version: '1' } };
  const rendering = {
    binding,
    voice: { voiceId: 'ada' },
    languageCode: 'en',
    engineRate: 1,
    pitch: 1,
    manner: {},
    tempo: 1,
  };
  const cut = {
    ...{ chunkIndex: 0, chunk: 'The end.', charsBegun: 8 },
    ...{ cut: { text: 'The end.', spans: [] }, rendering: { ...rendering, ended: ended.signal } },
  } as unknown as PlannedCut;
  const keep = keepSegments(options);
  const speakWith = (own: typeof keep, during = () => {}) =>
    Array.fromAsync(
      own(
        cut,
        async () => {
          during();
          cut.check = check;
          return sound;
        },
        signal,
      ),
    );
  const speak = (during?: () => void) => speakWith(keep, during);
  /** Speaks the chapter from its start, as after a restart. Returns the check of its last segment. */
  const speakAgain = async (during: () => void, segmentCount = 1) => {
    const own = keepSegments(options);
    for (let n = 0; n < segmentCount; n++) {
      delete cut.check;
      await speakWith(own, during);
    }
    return cut.check;
  };
  return { speak, speakAgain, kept, clips, ended, unchecked, quota: () => quota };
}

test('a segment takes its characters from the quota once, also where it is spoken again', async () => {
  const first = open();
  await first.speak();
  expect(first.quota()).toBe(8);
  const again = open({ charged: 1 });
  await again.speak();
  expect(again.quota()).toBe(0);
});

test('a segment that is not kept takes nothing from the quota', async () => {
  const { speak, quota } = open({ rowFails: true });
  await expect(speak()).rejects.toThrow(LeaseLost);
  expect(quota()).toBe(0);
});

test('with a spent quota, nothing is spoken', async () => {
  const { speak } = open({ isSpent: true });
  let isSpoken = false;
  const failed = speak(() => {
    isSpoken = true;
  });
  await expect(failed).rejects.toThrow('Too many requests');
  expect(isSpoken).toBe(false);
});

test('no segment is kept of a voice that ended while it was spoken', async () => {
  const { speak, kept, clips, ended } = open();
  const reason = new Error('consent is withdrawn');
  await expect(speak(() => ended.abort(reason))).rejects.toBe(reason);
  expect([kept.size, clips.size]).toEqual([0, 0]);
});

test('a stored segment is reused with the result of its checks', async () => {
  const { speak, speakAgain } = open();
  await speak();
  let isSpoken = false;
  const again = await speakAgain(() => {
    isSpoken = true;
  });
  expect({ isSpoken, again }).toEqual({ isSpoken: false, again: check });
});

test('segments that a recognizer left unchecked are counted once, also after a restart', async () => {
  const { speak, speakAgain, unchecked } = open();
  await speak();
  await speakAgain(() => {}, 2);
  expect(unchecked).toEqual([1, 2]);
});

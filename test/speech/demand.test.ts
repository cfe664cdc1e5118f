// Tests that the engine, not a label from the caller, names the resource that serves a request.
import { expect, test } from 'vitest';
import type { Engine, Segment, Voice } from '../../src/engines/engine.ts';
import { liveDemandOf } from '../../src/speech/schedule.ts';

const capabilities = { segmentCharsMax: 100, segmentsAtOnce: 1, segmentsSpokenMax: 3, segmentsPerResource: 2 };
const voice = (voiceId: string, labels = {}) =>
  ({ voiceId, languageCodes: ['en-US', 'de-DE'], labels }) as unknown as Voice;

const seatOf = (speaker: Voice, engine: Partial<Engine>, languageCode?: string) =>
  liveDemandOf(
    { engine: { name: 'e', capabilities, ...engine } as Engine, speaker },
    { chars: 10, languageCode },
    { callerId: 'ada', accountId: 'ada' },
  ).seat;

test('voices of one model wait together, those of others apart', () => {
  const resourceOf = ({ voice, languageCode }: Pick<Segment, 'voice' | 'languageCode'>) =>
    `${voice.voiceId[0]} ${languageCode}`;
  const seats = ['a1', 'a2', 'b1'].map((voiceId) => seatOf(voice(voiceId), { resourceOf }));
  expect(seats.map(({ resource }) => resource)).toEqual(['a en-US', 'a en-US', 'b en-US']);
  expect(seats[0]!.engine.capabilities.segmentsPerResource).toBe(2);
  expect(seatOf(voice('a1'), { resourceOf }, 'de-DE').resource).toBe('a de-DE');
});

test('labels make no queue of their own', () => {
  const resourceOf = () => '';
  const resources = [{}, { model: 'x' }, { model: 'y', base: 'z' }].map(
    (labels) => seatOf(voice('clone', labels), { resourceOf }).resource,
  );
  expect(new Set(resources).size).toBe(1);
  expect(seatOf(voice('v', { model: 'x' }), {}).resource).toBeUndefined();
});

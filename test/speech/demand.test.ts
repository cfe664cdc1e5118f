// What a request takes of the service: whose turns it waits for is said by the engine, not by labels that callers write.
import { expect, test } from 'vitest';
import type { Engine, Segment, Voice } from '../../../src/engines/engine.ts';
import type { EngineGuards } from '../../../src/speech/engine-guard.ts';
import { laneNameOf } from '../../../src/speech/queue/slot-lanes.ts';
import { slotUseOfText } from '../../../src/speech/queue/slot-use.ts';

const capabilities = { segmentCharsMax: 100, segmentsAtOnce: 1, segmentsSpokenMax: 3, segmentsPerResource: 2 };
const voice = (voiceId: string, labels = {}) =>
  ({ voiceId, languageCodes: ['en-US', 'de-DE'], labels }) as unknown as Voice;
const asked: unknown[] = [];
const guardOf = (() => ({ isBehind: (speaking: unknown) => asked.push(speaking) > 0 })) as unknown as EngineGuards;

const useOf = (speaker: Voice, engine: Partial<Engine>, languageCode?: string) =>
  slotUseOfText(
    { engine: { name: 'e', capabilities, ...engine } as Engine, speaker },
    { chars: 10, languageCode },
    guardOf,
  );

test('voices of one model wait together, those of others apart', () => {
  const resourceOf = ({ voice, languageCode }: Pick<Segment, 'voice' | 'languageCode'>) =>
    `${voice.voiceId[0]} ${languageCode}`;
  const uses = ['a1', 'a2', 'b1'].map((voiceId) => useOf(voice(voiceId), { resourceOf }));
  expect(uses.map(laneNameOf)).toEqual(['e a en-US', 'e a en-US', 'e b en-US']);
  expect(uses[0]!.model?.seats).toBe(2);
  expect(laneNameOf(useOf(voice('a1'), { resourceOf }, 'de-DE'))).toBe('e a de-DE');
  uses[1]!.isBehind!(0);
  expect(asked).toEqual([{ voiceId: 'a2', resource: 'a en-US' }]);
});

test('labels make no line of their own', () => {
  const resourceOf = () => '';
  const names = [{}, { model: 'x' }, { model: 'y', base: 'z' }].map((labels) =>
    laneNameOf(useOf(voice('clone', labels), { resourceOf })),
  );
  expect(new Set(names).size).toBe(1);
  expect(laneNameOf(useOf(voice('v', { model: 'x' }), {}))).toBe('e');
});

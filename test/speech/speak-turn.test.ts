// Tests the slot of a live turn: each part is admitted once, by whichever engine, and no slot is held afterwards.
import { expect, test } from 'vitest';
import { LiveText } from '../../src/speech/live-text.ts';
import { createTurnPlace } from '../../src/speech/speak-turn.ts';

function openPlace(refusal?: Error) {
  const counts = { taken: 0, held: 0 };
  const admitted: number[] = [];
  const slot = Promise.withResolvers<void>();
  const place = {
    async take(chars: number) {
      if (refusal) throw refusal;
      admitted.push(chars);
    },
    rest() {},
  };
  const turns = createTurnPlace(new LiveText('en-US'), place, async () => {
    counts.taken++;
    await slot.promise;
    counts.held++;
    const end = () => void counts.held--;
    return { end, heard() {}, turn: () => Promise.reject(new Error('nothing is spoken here')) };
  });
  return { turns, counts, admitted, slot };
}

test('two engines that speak a part at once take one slot, and are charged once', async () => {
  const { turns, counts, admitted, slot } = openPlace();
  const both = Promise.all([turns.take(0, 5), turns.take(0, 5)]);
  slot.resolve();
  await both;
  expect([counts, admitted]).toEqual([{ taken: 1, held: 1 }, [5]]);
  turns.close();
  expect(counts.held).toBe(0);
});

test('a part that is refused is spoken by no engine', async () => {
  const { turns, slot } = openPlace(new Error('too many'));
  slot.resolve();
  await expect(turns.take(0, 5)).rejects.toThrow('too many');
  await expect(turns.take(0, 5)).rejects.toThrow('too many');
});

test('a slot that comes after the end of the turn is given back', async () => {
  const { turns, counts, admitted, slot } = openPlace();
  const late = turns.take(0, 5);
  turns.close();
  slot.resolve();
  await expect(late).rejects.toThrow('the turn is over');
  expect([counts.held, admitted]).toEqual([0, []]);
});

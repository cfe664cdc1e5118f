// Turns at an engine: how long what has begun waits for what is to begin, and when the engine has enough of it.
import { expect, test } from 'vitest';
import type { Engine, Segment } from '../../src/engines/engine.ts';
import { createEngineTurns } from '../../src/speech/engine-turns.ts';

const { signal } = new AbortController();
const settle = () => new Promise((resolve) => setImmediate(resolve));

function openTurns(capabilities: object, resourceOf?: Engine['resourceOf']) {
  const clock = { ms: 0 };
  const engine = { capabilities: capabilities as Engine['capabilities'], ...(resourceOf && { resourceOf }) };
  const turns = createEngineTurns(engine, () => clock.ms);
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const take = async (name: string, { isBulk = false, urgent = false, voiceId = 'v' } = {}) => {
    const segment = { voice: { voiceId }, urgent } as Segment;
    const end = await turns.take(segment, { callerId: 'ada', signal, isBulk });
    order.push(name);
    ends.set(name, end!);
  };
  const end = async (name: string, ms: number) => {
    clock.ms += ms;
    ends.get(name)!();
    await settle();
  };
  return { turns, order, take, end, clock };
}

test('first segments go before others for two seconds, and before those that nobody listens to for ten', async () => {
  const { order, take, end } = openTurns({ segmentsSpokenMax: 1 });
  await take('0', { urgent: true });
  void take('bulk', { isBulk: true });
  void take('later');
  for (let n = 1; n <= 12; n++) {
    void take(`${n}`, { urgent: true });
    await end(order.at(-1)!, 900);
  }
  expect(order.indexOf('later')).toBe(4);
  while (!order.includes('bulk')) await end(order.at(-1)!, 900);
  expect(order.indexOf('bulk')).toBeGreaterThan(10);
});

test('it is behind where what waits will be urgent before its turn, with what those about to be heard will want', async () => {
  const { turns, order, take, end, clock } = openTurns({ segmentsSpokenMax: 1 });
  await take('0', { urgent: true });
  void take('1', { urgent: true });
  await end('0', 500);
  // First segments alone are counted elsewhere.
  void take('2', { urgent: true });
  expect(turns.isBehind({ voiceId: 'v' }, 10)).toBe(false);
  void take('a');
  // Half a second for each before it.
  expect([turns.isBehind({ voiceId: 'v' }, 0), turns.isBehind({ voiceId: 'v' }, 4)]).toEqual([false, true]);
  clock.ms += 1600;
  expect(turns.isBehind({ voiceId: 'v' }, 0)).toBe(true);
  await end('1', 0);
  await end('2', 0);
  expect([order.at(-1), turns.isBehind({ voiceId: 'v' }, 10)]).toEqual(['a', false]);
});

test('a voice whose model is behind does not hold back those of other models', async () => {
  const { turns, take, clock } = openTurns({}, ({ voice }) => voice.voiceId[0]!);
  await take('0', { voiceId: 'a1' });
  await take('1', { voiceId: 'b1' });
  void take('2', { voiceId: 'a2' });
  clock.ms = 2500;
  const isBehind = (voiceId: string, resource?: string) => turns.isBehind({ voiceId, resource }, 0);
  expect(['a1', 'a2', 'b1'].map((voiceId) => isBehind(voiceId))).toEqual([true, true, false]);
  // One that has not spoken yet.
  expect([isBehind('a3', 'a'), isBehind('b3', 'b')]).toEqual([true, false]);
});

// Tests that estimates for long texts yield to the event loop, and stop when their callers disconnect.
import { expect, test } from 'vitest';
import { createPlan } from '../../src/speech/plan.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { countTurns } from '../count-turns.ts';
import { openTone } from '../engines/tone-engine.ts';
import { parseSpeechRequest } from './parse-request.ts';

const sentence = 'On 3 March 2024 at 5:30 p.m., Dr. Smith paid $1,234.56 for 12.5 kg of the 3rd batch. ';
const fields = { voice_id: 'tone-low', method: 'streaming', text_chunks: Array(10).fill(sentence.repeat(57)) };
const plan = () =>
  createPlan(parseSpeechRequest(fields), { callerId: 'a', accountId: 'a' }, { voices: createVoices([openTone()]) });

test('a long text lets the event loop go on many times', async () => {
  const turns = await countTurns(async () => {
    const estimate = await (await plan()).estimate(new AbortController().signal);
    expect(estimate.segmentCount).toBeGreaterThan(100);
  });
  expect(turns).toBeGreaterThan(10);
});

test('an estimate whose caller has left ends', async () => {
  const leaving = new AbortController();
  const estimate = (await plan()).estimate(leaving.signal);
  const left = new Error('left');
  leaving.abort(left);
  await expect(estimate).rejects.toBe(left);
});

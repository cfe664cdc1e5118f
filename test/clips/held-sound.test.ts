// Tests that the memory of held audio is released when all holders have read or closed it, and not before.
import { expect, test } from 'vitest';
import { createSoundMemory } from '../../src/clips/speaking.ts';
import type { SpeechAudio, SpeechDone } from '../../src/speech/speech-events.ts';

const audio: SpeechAudio = {
  type: 'audio',
  chunkIndex: 0,
  audio: Buffer.alloc(900, 1),
  chunkCharsBegun: 1,
  charsBegun: 1,
};
const head = Buffer.alloc(44, 2);
const done: SpeechDone = { type: 'done', chars: 1, seconds: 1, byteCount: 900, head };

test('sound is held until its last reader has read or closed it, with its final header', async () => {
  const memory = createSoundMemory(1000);
  const held = memory.open();
  expect([held.add(audio), held.add(done), held.add(audio)]).toEqual([true, true, false]);
  const [one, other, third] = [held.read(), held.read(), held.read()];
  const whole = Buffer.concat(await Array.fromAsync(one.pieces));
  expect(whole.equals(Buffer.concat([head, audio.audio.subarray(44)]))).toBe(true);
  one.close();
  other.close();
  other.close();
  expect(memory.hasRoom(900)).toBe(false);
  expect(Buffer.concat(await Array.fromAsync(third.pieces)).equals(whole)).toBe(true);
  expect(memory.hasRoom(900)).toBe(true);
});

// Tests LiveKit's newest plugins for Python at their defaults: three turns of three sentences, of which the second is
// interrupted. The plugin of ElevenLabs decodes the MP3 of a context as one file.
import { afterAll, expect, test } from 'vitest';
import { expectQuiet, openAgentGateway, secondsOf, turns, voice } from './agent-turns.ts';
import { findPython, runProgram } from './client-programs.ts';

interface Heard {
  turns: { samples: number; rate: number; first: number; words: [text: string, ...times: number[]][] }[];
  errors: string[];
}

const python = findPython();
const gateway = await openAgentGateway(afterAll);

test.skipIf(!python).each([
  ['elevenlabs', 22_050],
  ['elevenlabs-dialogue', 22_050],
  ['cartesia', 24_000],
  ['openai', 24_000],
])(
  '%s: three turns, the second of which is interrupted',
  async (plugin, rate) => {
    const args = [plugin, gateway.url, gateway.key, voice];
    const heard = await runProgram<Heard>(python!, 'livekit_turns.py', args, turns);
    console.log(`${plugin}: first sound after ${heard.turns.map(({ first }) => first.toFixed(2)).join(', ')} s`);
    expect(heard.errors).toEqual([]);
    for (const [i, turn] of heard.turns.entries()) {
      expect(turn.rate).toBe(rate);
      const seconds = turn.samples / turn.rate;
      const { least, most } = await secondsOf(gateway, turns[i]!);
      if (i === 1) {
        expect(seconds).toBeLessThan(most);
        continue;
      }
      // MP3 has a padding of up to a tenth of a second.
      expect(seconds).toBeGreaterThan(least - 0.15);
      expect(seconds).toBeLessThan(Math.max(least, most) + 0.15);
      const words = turn.words.map(([text]) => text.trim()).join(' ');
      expect(words).toBe(turns[i]!.join(' '));
      if (plugin === 'openai') continue;
      const starts = turn.words.map(([, start]) => start!);
      expect(starts).toEqual(starts.toSorted((one, other) => one - other));
      const end = turn.words.at(-1)![2]!;
      expect(end).toBeGreaterThan(starts.at(-1)!);
      expect(seconds - end, 'silence after the last word').toBeLessThan(0.25);
    }
    await expectQuiet(gateway);
  },
  300_000,
);

test.skipIf(!python).each([
  // The plugin reports the code with which a WebSocket was closed, not the reason.
  ['elevenlabs', 'status_code=1008'],
  // The plugin only logs the reason of a failed context.
  ['elevenlabs-dialogue', 'Could not synthesize'],
  ['cartesia', 'Voice not found'],
  ['openai', 'Voice not found'],
])(
  '%s: an unknown voice ends the turn with an error',
  async (plugin, message) => {
    const args = [plugin, gateway.url, gateway.key, 'nobody'];
    const heard = await runProgram<Heard>(python!, 'livekit_turns.py', args, turns);
    expect(heard.errors.at(-1)).toContain(message);
    expect(heard.turns).toEqual([]);
  },
  300_000,
);

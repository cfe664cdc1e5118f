// Tests LiveKit's newest plugins for Python at their defaults: ten calls, and three turns of three sentences, of which
// the second is interrupted. The plugin of ElevenLabs decodes the MP3 of a context as one file.
import { afterAll, expect, test } from 'vitest';
import { expectQuiet, openFliteGateway, secondsOf, turns, voice } from './agent-turns.ts';
import { findPython, runProgram } from './client-programs.ts';
import { describeClient } from './ten-calls.ts';

interface Heard {
  turns: { samples: number; rate: number; first: number; words: [text: string, ...times: number[]][] }[];
  errors: string[];
}

const python = findPython();
const gateway = await openFliteGateway(afterAll);

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

// Over HTTP, the plugins of ElevenLabs and Cartesia report the status of a refusal, not its message.
const refusals = {
  invalid: ['APIStatusError', 'Bad Request'],
  unknown_voice: ['APIStatusError', 'Not Found'],
  wrong_key: ['APIStatusError', 'Unauthorized'],
  too_long: ['APIStatusError', 'Bad Request'],
} as const;
const elevenLabs = { ...refusals, quota: ['APIStatusError', 'Unauthorized'] } as const;

describeClient('LiveKit for Python, elevenlabs', {
  program: ['livekit_calls.py', 'elevenlabs'],
  // The plugin reports the code with which a WebSocket was closed, not the reason.
  refusals: { ...elevenLabs, stream_of_unknown_voice: ['APIStatusError', 'status_code=1008'] },
  statuses: [400, 400, 401, 401, 404],
});
describeClient('LiveKit for Python, elevenlabs-dialogue', {
  program: ['livekit_calls.py', 'elevenlabs-dialogue'],
  // These models have no settings.
  without: ['invalid'],
  // The plugin only logs the reason of a failed context.
  refusals: { ...elevenLabs, stream_of_unknown_voice: ['APIStatusError', 'Could not synthesize'] },
  statuses: [400, 401, 401, 404],
});
describeClient('LiveKit for Python, cartesia', {
  program: ['livekit_calls.py', 'cartesia'],
  without: ['voices'],
  refusals: {
    ...refusals,
    quota: ['APIStatusError', 'Too Many Requests'],
    stream_of_unknown_voice: 'APIError',
  },
  statuses: [400, 400, 401, 404, 429, 429, 429, 429],
});
describeClient('LiveKit for Python, openai', {
  program: ['livekit_calls.py', 'openai'],
  without: ['times', 'voices'],
  refusals: {
    invalid: ['APIStatusError', 'speed must be'],
    unknown_voice: 'APIStatusError',
    stream_of_unknown_voice: 'APIStatusError',
    wrong_key: 'APIStatusError',
    quota: 'APIStatusError',
    too_long: 'APIStatusError',
  },
  statuses: [400, 400, 401, 404, 404, 429, 429, 429, 429],
});

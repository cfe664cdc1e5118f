// Tests Pipecat's newest services at their defaults, in a pipeline: three turns of three sentences, of which the second
// is interrupted. Nothing of an interrupted turn may arrive after the interruption.
import { afterAll, expect, test } from 'vitest';
import { expectQuiet, openFliteGateway, secondsOf, turns, voice } from './agent-turns.ts';
import { findPython, runProgram } from './client-programs.ts';

interface Heard {
  turns: {
    bytes: number;
    rate: number;
    late: number;
    first: number;
    /** Presentation times in nanoseconds; null if the service does not know the times. */
    words: [text: string, pts: number | null][];
  }[];
  errors: string[];
}

const python = findPython();
const gateway = await openFliteGateway(afterAll);

test.skipIf(!python).each(['elevenlabs', 'elevenlabs-dialogue', 'elevenlabs-http', 'cartesia', 'openai'])(
  '%s: three turns, the second of which is interrupted',
  async (service) => {
    const args = [service, gateway.url, gateway.key, voice];
    const heard = await runProgram<Heard>(python!, 'pipecat_turns.py', args, turns);
    console.log(`${service}: first sound after ${heard.turns.map(({ first }) => first.toFixed(2)).join(', ')} s`);
    expect(heard.errors).toEqual([]);
    for (const [i, turn] of heard.turns.entries()) {
      expect(turn.rate).toBe(24_000);
      const seconds = turn.bytes / 2 / turn.rate;
      const { least, most } = await secondsOf(gateway, turns[i]!);
      if (i === 1) {
        expect(turn.late, 'bytes after the interruption').toBe(0);
        expect(seconds).toBeLessThan(most);
        continue;
      }
      expect(seconds).toBeGreaterThan(least - 0.1);
      expect(seconds).toBeLessThan(Math.max(least, most) + 0.1);
      expect(turn.words.map(([text]) => text).join(' ')).toBe(turns[i]!.join(' '));
      const times = turn.words.flatMap(([, pts]) => pts ?? []);
      if (service === 'openai') continue;
      expect(times).toHaveLength(turns[i]!.join(' ').split(' ').length);
      expect(times).toEqual(times.toSorted((one, other) => one - other));
      expect((times.at(-1)! - times[0]!) / 1e9).toBeLessThan(seconds);
    }
    await expectQuiet(gateway);
  },
  300_000,
);

test.skipIf(!python)(
  'elevenlabs-http: the words of a sentence begin where its sound begins',
  async () => {
    const args = ['elevenlabs-http', gateway.url, gateway.key, voice];
    const heard = await runProgram<Heard>(python!, 'pipecat_turns.py', args, turns);
    const [sentences, { words }] = [turns[0]!, heard.turns[0]!];
    const startOf = (word: string) => (words.find(([text]) => text === word)![1]! - words[0]![1]!) / 1e9;
    const first = await secondsOf(gateway, sentences.slice(0, 1));
    const two = await secondsOf(gateway, sentences.slice(0, 2));
    // The speech begins a few hundredths of a second after the start of the audio of its sentence.
    expect(startOf('It')).toBeCloseTo(first.least, 1);
    expect(startOf('How')).toBeCloseTo(two.least, 1);
  },
  300_000,
);

test.skipIf(!python)(
  'elevenlabs: with a wrong key, an agent that does not speak stops connecting',
  async () => {
    const heard = await runProgram<Heard>(
      python!,
      'pipecat_turns.py',
      ['elevenlabs', gateway.url, 'snt_wrong', voice],
      [],
    );
    expect(heard.errors.join('\n')).toContain('times immediately after connecting');
  },
  300_000,
);

// Pipecat only logs the reason for which a WebSocket was closed. Its Cartesia service reports a wrong key before the first
// turn, and then never speaks.
const silent = 'completed with no audio';
test.skipIf(!python).each([
  ['elevenlabs', 'an unknown voice', silent],
  ['elevenlabs-dialogue', 'an unknown voice', 'Voice not found'],
  ['elevenlabs-http', 'an unknown voice', 'Voice not found'],
  ['cartesia', 'an unknown voice', 'Voice not found'],
  ['elevenlabs-http', 'a wrong key', 'The API key is'],
  ['openai', 'a wrong key', 'The API key is'],
  ['elevenlabs', 'a spent quota', silent],
  ['elevenlabs-http', 'a spent quota', 'a month'],
  ['cartesia', 'a spent quota', 'a month'],
  ['openai', 'a spent quota', 'a month'],
] as const)(
  '%s: %s ends the turn with an error',
  async (service, cause, message) => {
    const { key: limited } = await gateway.keyVerifier.create({ limits: { charactersPerMonth: 10 } });
    const key = { 'an unknown voice': gateway.key, 'a wrong key': 'snt_wrong', 'a spent quota': limited }[cause];
    const args = [service, gateway.url, key, cause === 'an unknown voice' ? 'nobody' : voice];
    const heard = await runProgram<Heard>(python!, 'pipecat_turns.py', args, turns);
    expect(heard.errors.join('\n')).toContain(message);
    for (const { bytes } of heard.turns) expect(bytes).toBe(0);
  },
  300_000,
);

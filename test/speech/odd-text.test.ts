// Tests odd text with the embedded voice: each text is spoken, becomes a short silence, or is refused with a reason.
// Nothing crashes, hangs, or becomes too long.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { Failure } from '../../src/platform/errors.ts';
import { oddTexts } from '../conformance/odd-texts.ts';
import { speechOf } from './open-speech.ts';

let flite: Awaited<ReturnType<typeof openFlite>>;
let speech: ReturnType<typeof speechOf>;
beforeAll(async () => {
  flite = await openFlite({ threads: 2 });
  speech = speechOf([flite]);
});
afterAll(() => flite.close());

/** "spoken", "silence", or the reason for the refusal. */
async function outcomeOf(text: string): Promise<string> {
  try {
    const fields = { voice_id: 'otto', text, output_format: 'pcm', speaking_rate: 4 };
    const { info, audio, seconds } = await speech.whole(fields);
    expect(seconds).toBeLessThan(1500);
    const isHeard = new Int16Array(new Uint8Array(audio).buffer).some((sample) => Math.abs(sample) > 300);
    expect(isHeard).toBe(!info.warnings.includes('nothing_spoken'));
    return isHeard ? 'spoken' : 'silence';
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return `${error.reason}: ${error.facts.details?.map(({ reason }) => reason).join(' ')}`;
  }
}

test.each<[string, string, string]>([
  ['nothing', '', 'invalid_request: blank'],
  ['blanks', ' \t\n\u2003', 'invalid_request: blank'],
  ['emoji alone', '😀👩‍👩‍👧🇩🇪❤️', 'silence'],
  ['a comment alone', '<!-- hello -->', 'silence'],
  ['an image alone', '![](x.png)', 'silence'],
  ['a tag alone', '<br/>', 'silence'],
  ['an entity alone', '&nbsp;', 'silence'],
  ['punctuation alone', '?!...', 'silence'],
  ['5000 of one letter', 'a'.repeat(5000), 'spoken'],
  ['5000 consonants', 'x'.repeat(5000), 'spoken'],
  ['5000 without a space', 'abcdefghij'.repeat(500), 'spoken'],
  ['control characters', 'Hello\u0001\u0007\u001b[31m there.', 'spoken'],
  ['NUL', 'a\0b', 'invalid_request: encoding'],
  ['a lone surrogate', 'a\ud83d', 'invalid_request: encoding'],
  ['markup', '<speak>Hello <prosody rate="slow">you</prosody></speak> & <b>me</b>', 'spoken'],
  ['right to left', 'مرحبا بالعالم', 'invalid_request: unsupported_text'],
  ['right to left within', 'He said مرحبا to me and to all of us.', 'spoken'],
  ['a number of 400 digits', '7'.repeat(400), 'spoken'],
  ['5000 dollar signs', '$'.repeat(5000), 'silence'],
  ['zero-width characters', 'He\u200bl\u200dlo.', 'spoken'],
  ['a combining flood', `e${'\u0301'.repeat(2000)}`, 'spoken'],
])('%s', async (_, text, outcome) => {
  expect(await outcomeOf(text)).toBe(outcome);
});

test('every odd text of the conformance suite has one of the outcomes', async () => {
  for (const [, text] of oddTexts)
    expect(await outcomeOf(text)).toMatch(/^(spoken|silence|invalid_request: \w+|text_too_long: too_long)$/);
});

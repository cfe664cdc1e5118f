// Captions: cues that can be read while they are heard, of any text, and the two forms that they are written in.
import { describe, expect, test } from 'vitest';
import { type Cue, toCaptions, toCues } from '../../src/speech/captions.ts';
import { countChars } from '../../src/speech/request.ts';
import { sentences } from '../sentences.ts';
import { collect, openHeart as open } from './open-heart.ts';

async function cuesOf(text: string, fields: object = {}): Promise<{ cues: Cue[]; seconds: number }> {
  const { stream } = open();
  const events = await collect(stream({ text, timestamps: 'word', output_format: 'pcm', ...fields }));
  const words = events.flatMap((event) => (event.type === 'timestamps' ? event.words : []));
  const seconds = events.flatMap((event) => (event.type === 'done' ? event.seconds : []))[0]!;
  return { cues: toCues(text, words, seconds), seconds };
}

const said = (cues: readonly Cue[]) => cues.flatMap(({ lines }) => lines).join(' ');
const together = (text: string) => text.replace(/\s/g, '');
const prose = sentences.slice(0, 30).join(' ');

describe('cues', () => {
  test.each<[string, string, object?]>([
    ['prose', prose],
    ['prose, slowly', sentences.slice(0, 6).join(' '), { speaking_rate: 0.25 }],
    ['prose, fast', prose, { speaking_rate: 4 }],
    ['one word', 'Hello.'],
    ['a sentence without an end', `${'and on '.repeat(120)}it goes`],
    ['an address that is longer than two lines', `See ${'https://example.org/'.repeat(8)} for more, and be well.`],
    [
      'addresses, after a clause',
      'Go on and see, https://example.org/first https://example.org/second/one https://example.org/the/third/of/all.',
    ],
    ['odd marks', '“Well,” he said — <i>& so</i> --> on… [Really?] (Yes!) 😀 and 3.5 % of $19.99: Zoë.'],
    ['paragraphs', 'A heading\n\nThen a text.\n\n\nAnd another, \n of two lines.'],
    ['Markdown', '# Title\n\nSome *bold* and `code`, and [a link](https://x.org/y).'],
  ])('of %s have all of the text, in lines that fit, one after the other to the end', async (_, text, fields) => {
    const { cues, seconds } = await cuesOf(text, fields);
    expect(together(said(cues))).toBe(together(text));
    let last = 0;
    for (const { startSeconds, endSeconds, lines } of cues) {
      expect(lines.length).toBeLessThanOrEqual(2);
      for (const line of lines) expect(countChars(line)).toBeLessThanOrEqual(42);
      expect(startSeconds).toBeGreaterThanOrEqual(last);
      expect(endSeconds).toBeGreaterThan(startSeconds);
      last = endSeconds;
    }
    expect(last).toBeCloseTo(seconds, 3);
  });

  test('end with sentences, and where those are long with a clause', async () => {
    const { cues } = await cuesOf(prose);
    const ends = cues.map(({ lines }) => lines.at(-1)!.at(-1)!);
    expect(ends.filter((end) => /[.?]/.test(end)).length).toBeGreaterThan(ends.length * 0.9);
    const long =
      'When all the bells of the city rang at once that night, nobody in the house could say for how long they had been awake.';
    const [first] = (await cuesOf(long)).cues;
    expect(first!.lines.join(' ')).toBe('When all the bells of the city rang at once that night,');
  });

  test('last seven seconds or so, and words that follow each other closely share one', async () => {
    const { cues } = await cuesOf(`${'word '.repeat(200)}end.`);
    for (const { startSeconds, endSeconds } of cues) expect(endSeconds - startSeconds).toBeLessThanOrEqual(7.6);
    expect((await cuesOf('No. No! No? No.')).cues.length).toBeLessThan(3);
  });

  test('are none where nothing is spoken', async () => {
    const { cues } = await cuesOf('🎉 …');
    expect([toCaptions('vtt', cues), toCaptions('srt', cues)]).toEqual(['WEBVTT\n', '']);
  });
});

test('WebVTT escapes what it would take for tags; SubRip counts, and has commas in its times', () => {
  const cues: Cue[] = [
    { startSeconds: 0.1764, endSeconds: 2, lines: ['a < b & c --> d'] },
    { startSeconds: 2, endSeconds: 3723.9996, lines: ['Two', 'lines.'] },
  ];
  expect(toCaptions('vtt', cues)).toBe(
    'WEBVTT\n\n00:00:00.176 --> 00:00:02.000\na &lt; b &amp; c --&gt; d\n\n00:00:02.000 --> 01:02:04.000\nTwo\nlines.\n',
  );
  expect(toCaptions('srt', cues)).toBe(
    '1\n00:00:00,176 --> 00:00:02,000\na < b & c --> d\n\n2\n00:00:02,000 --> 01:02:04,000\nTwo\nlines.\n',
  );
});

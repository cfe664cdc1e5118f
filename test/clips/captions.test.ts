// Tests captions: cues for any text, each short enough to read while it is played, and their two formats.
import { describe, expect, test } from 'vitest';
import { type Cue, toCaptions, toCues } from '../../src/clips/captions.ts';
import { countChars } from '../../src/platform/count-chars.ts';
import { sentences } from '../sentences.ts';
import { collect, openSpeech as open } from '../speech/open-speech.ts';

async function cuesOf(text: string, fields: object = {}): Promise<{ cues: Cue[]; seconds: number }> {
  const { stream } = open();
  const events = await collect(stream({ text, timestamps: 'word', output_format: 'pcm', ...fields }));
  const words = events.flatMap((event) => (event.type === 'timestamps' ? event.words : []));
  const seconds = events.flatMap((event) => (event.type === 'done' ? event.seconds : []))[0]!;
  return { cues: toCues({ text, languageCode: 'en' }, words, seconds), seconds };
}

/** Cues of a text in which every code point takes equally long. */
function evenCues(text: string, languageCode: string, charSeconds = 0.06): Cue[] {
  const words = [...text.matchAll(/[\p{L}\p{M}\p{N}'-]+/gu)].map(({ 0: word, index }) => {
    const offset = countChars(text.slice(0, index));
    const length = countChars(word);
    return {
      ...{ text: word, offset, length },
      ...{ startSeconds: offset * charSeconds, endSeconds: (offset + length) * charSeconds },
    };
  });
  return toCues({ text, languageCode }, words, countChars(text) * charSeconds);
}

test('lines without a word, and the bars of a table, are not shown', async () => {
  const scenes = '* * *\n\nIt was late.\n\n* * *\n\nIt rained 🌧 all night.\n---\n🌙🌙\nIt snowed. 😀\n\n⁂\n';
  expect(await linesOf(scenes)).toEqual([['It was late.'], ['It rained 🌧 all night.'], ['It snowed. 😀']]);
  const table = 'Prices:\n\n| Lamp | nine |\n|---|---|\n| Oil | two |\n\nBread | one';
  const shown = (await linesOf(table)).flat().join(' ');
  expect(shown).toBe('Prices: Lamp nine Oil two Bread one');
});

const linesOf = async (text: string) => (await cuesOf(text)).cues.map(({ lines }) => lines);
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

  test('do not end with an abbreviation, but with a sentence that does', async () => {
    expect(
      await linesOf(
        'The meeting was chaired by Dr. Smith of the Acme Inc. board and Mr. Jones, who at 5 p.m. left for the U.S. embassy.',
      ),
    ).toEqual([
      ['The meeting was chaired by Dr. Smith', 'of the Acme Inc. board and Mr. Jones,'],
      ['who at 5 p.m. left for the U.S. embassy.'],
    ]);
    expect(await linesOf('The last train leaves at 5 p.m. The first one comes in the morning.')).toEqual([
      ['The last train leaves at 5 p.m.'],
      ['The first one comes in the morning.'],
    ]);
  });

  test.each([
    ['an address', `See ${'https://example.org/'.repeat(15)} for more.`],
    ['a word', `It says ${'abcdefghij'.repeat(30)} and no more.`],
  ])('show %s of three hundred letters while it is spoken', async (_, text) => {
    const inner = (await cuesOf(text)).cues.slice(1, -1);
    expect(inner.length).toBeGreaterThan(1);
    const paces = inner.map((cue) => cue.lines.join('').length / (cue.endSeconds - cue.startSeconds));
    for (const pace of paces) expect(pace).toBeCloseTo(paces[0]!, 3);
  });

  test('take a word that comes once for each of its segments for one', () => {
    const text = `${'a'.repeat(84)} b`;
    const word = { text: 'a'.repeat(84), offset: 0, length: 84 };
    const words = [
      { ...word, startSeconds: 0, endSeconds: 6 },
      { ...word, startSeconds: 6, endSeconds: 12 },
      { text: 'b', offset: 85, length: 1, startSeconds: 12, endSeconds: 13 },
    ];
    expect(toCues({ text, languageCode: 'en' }, words, 13)).toEqual([
      { startSeconds: 0, endSeconds: 6, lines: ['a'.repeat(42)] },
      { startSeconds: 6, endSeconds: 13, lines: ['a'.repeat(42), 'b'] },
    ]);
  });

  test.each([
    ['hi', ['यह पहला वाक्य है और यह काफी लंबा है।', 'यह दूसरा वाक्य है और यह भी लंबा है॥', 'और यह तीसरा है जो लंबा है।']],
    ['hi', ['यह पहला वाक्य है और यह काफी लंबा है ।', 'यह दूसरा वाक्य है और यह भी लंबा है ।']],
    ['ar', ['هل تعرف أين تقع المدينة القديمة؟', 'نعم أعرف الطريق إلى المدينة القديمة.']],
    ['ur', ['یہ پہلا جملہ ہے اور کافی لمبا ہے۔', 'یہ دوسرا جملہ ہے اور یہ بھی لمبا ہے۔']],
    ['am', ['ይህ የመጀመሪያው ረጅም ዓረፍተ ነገር ነው።', 'ይህ ሁለተኛው ረጅም ዓረፍተ ነገር ነው።']],
    ['hy', ['Սա առաջին երկար նախադասությունն է։', 'Սա երկրորդ երկար նախադասությունն է։']],
    ['fr', ['Est-ce que vous venez avec nous demain ?', 'Bien sûr que nous venons avec vous !']],
  ])('end with the sentences of %s', (languageCode, sentences) => {
    expect(evenCues(sentences.join(' '), languageCode).map(({ lines }) => lines.join(' '))).toEqual(sentences);
  });

  test('end with the clauses of Arabic where a sentence is long', () => {
    const clause = 'عندما دقت كل أجراس المدينة في تلك الليلة البعيدة،';
    const rest = 'لم يستطع أحد في البيت أن يقول كم من الوقت كانوا مستيقظين؛';
    const [first] = evenCues(`${clause} ${rest}`, 'ar');
    expect(first!.lines.join(' ')).toBe(clause);
  });

  test.each<[string, string, string[][]]>([
    ['a dialogue', '- Yes.\n- No.', [['- Yes.', '- No.']]],
    ['a dialogue of three', '- Yes.\r\n- No.\r\n- Well.', [['- Yes.', '- No.'], ['- Well.']]],
    [
      'a dialogue whose second line is long',
      '- Yes.\n- No, because nobody in the house could say for how long',
      [['- Yes.'], ['- No, because nobody in the', 'house could say for how long']],
    ],
    [
      'verse',
      'The wind is cold upon the hill\nthe bells ring in the night —\nthe river by the silent mill\nis waiting for the light',
      [
        ['The wind is cold upon the hill', 'the bells ring in the night —'],
        ['the river by the silent mill', 'is waiting for the light'],
      ],
    ],
    [
      'verse of long lines',
      'The wind is cold upon the hill, and over\nthe bells, that ring all through the long and weary night\nof the year',
      [
        ['The wind is cold upon the hill, and over'],
        ['the bells, that ring all', 'through the long and weary night'],
        ['of the year'],
      ],
    ],
  ])('keep the lines of %s', async (_, text, cues) => {
    expect(await linesOf(text)).toEqual(cues);
  });

  test('have no spaces around their lines, where a long word is cut', () => {
    const long = 'a'.repeat(41);
    expect(evenCues(`${long} ! So`, 'fr').flatMap(({ lines }) => lines)).toEqual([long, '!', 'So']);
  });

  test('last longer for a single word only', () => {
    const cues = evenCues('Dial 918273645546372819 now.', 'en', 0.5);
    expect(cues.map(({ lines }) => lines)).toEqual([['Dial'], ['918273645546372819'], ['now.']]);
    expect(cues[1]!.endSeconds - cues[1]!.startSeconds).toBeGreaterThan(7.6);
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

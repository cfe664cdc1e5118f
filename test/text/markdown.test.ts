// Tests that Markdown and HTML tags are removed, and that their words are kept. Paragraphs are separated by " / ".
import { expect, test } from 'vitest';
import { spoken } from './spoken.ts';

const rows: readonly (readonly [written: string, spoken: string])[] = [
  ['# Heading\nText here.', 'Heading / Text here.'],
  ['## Closed ##\nText here.', 'Closed / Text here.'],
  ['Title\n=====\nBody', 'Title / Body'],
  ['Introduction\nThis is the text of it.', 'Introduction / This is the text of it.'],
  ['The quick brown fox met\nMary at the park.', 'The quick brown fox met Mary at the park.'],
  ['one\ntwo\r\nthree', 'one two three'],
  ['a\n\n---\n\nb', 'a / b'],
  ['**bold** and *it* and ***both*** and __b__ and _i_ and ~~gone~~', 'bold and it and both and b and i and gone'],
  ['a **bold**text', 'a boldtext'],
  ['**Note:** *really*, "*quoted*".', 'Note: really, "quoted".'],
  ['snake_case and 2*3*4 and a*b', 'snake case and two times three times four and a times b'],
  ['f(*args, **kwargs)', 'f (args, kwargs)'],
  ['\\*not emphasis\\*', 'not emphasis'],
  ['[text](http://x.com/a_b "t") end', 'text end'],
  ['![alt text](img.png)', 'alt text'],
  ['[![alt](a.png)](b)', 'alt'],
  ['[ref]: http://x.com "T"\n\nText [link][ref].', 'Text link.'],
  ['Footnote[^1].\n\n[^1]: The note.', 'Footnote. / The note.'],
  ['see [1] and arr[0](x)', 'see and arr zero (x)'],
  ['`code span` and ``a`b``', 'code span and a b'],
  ['Use `<div>` and `a_b_c`', 'Use div and a b c'],
  ['```js\nlet x = 1;\n\nfoo(x)\n```\nafter', 'let x equals one; / foo (x) / after'],
  ['- one\n- two\n- three', 'one / two / three'],
  ['* [ ] todo\n* [x] done', 'todo / done'],
  ['1. First\n2. Second', 'one, First / two, Second'],
  ['a) first\nb) second', 'a, first / b, second'],
  ['He said:\n- a\n- b\n\nEnd', 'He said: / a / b / End'],
  ['> quoted\n> more\n\nnot', 'quoted more / not'],
  ['> 5 is more than four', 'greater than five is more than four'],
  ['— dialogue\n— more', 'dialogue / more'],
  ['| a | b |\n|---|---|\n| 1 | 2 |', 'a, b / one, two'],
  ['<b>bold</b> &amp; <br>line<p>para</p>', 'bold and line / para'],
  ['<h1>Title</h1><p class="x">Text</p>', 'Title / Text'],
  ['Hello <!-- hidden --> there', 'Hello there'],
  ['<speak>Hi <prosody rate="slow">there</prosody></speak>', 'Hi there'],
  ['5 < 6 and <foo>', 'five less than six and foo'],
  ['<img src=a.png alt="x" /><input disabled>now <I am here>', 'now I am here'],
  ['<https://x.com> <me@x.com>', 'x dot com me at x dot com'],
  ['&copy; &#8364;5 &#x1F600; AT&amp;T', 'copyright five euros A T and T'],
  ['Visit **https://x.com/a_b**.', 'Visit x dot com slash a underscore b.'],
  ['wow 👍🏽 great 👨‍👩‍👧 flag 🇬🇧 5️⃣ ok', 'wow great flag five okay'],
  ['word👍word Great 👍! Next', 'word word Great! Next'],
  ['zero\u200bwidth so\u00adft \u200eright\u202c', 'zerowidth soft right'],
  ['lone \ud800 surrogate\udc00', 'lone surrogate'],
  ['a\u0000b\u0007c\u001b', 'abc'],
  ['\u001b[1;31mError:\u001b[0m no \u001b[38;5;208mroom\u001b[m\u001b[K', 'Error: no room'],
  ['a \u001b[31', 'a thirty one'],
  ['(((((( **** ____ ````', ''],
  ['price* is', 'price is'],
];

test.each(rows)('%j', (written, said) => {
  expect(spoken(written)).toBe(said);
});

test('without spelling out, text is only cleaned', () => {
  expect(spoken('**It** costs $5 😀 at https://x.com/a_b_c !!!!!!', 'en-US', false)).toBe(
    'It costs $5 at https://x.com/a_b_c!!!',
  );
  expect(spoken('# ﾊﾛｰ\n**東京**は１番。', 'ja-JP', false)).toBe('ハロー / 東京は1番。');
  expect(spoken('می‌خواهم', 'fa', false)).toBe('می‌خواهم');
});

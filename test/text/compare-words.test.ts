// Tests the comparison of a text with what a recognizer heard: faults are found, and other spellings are not.
import { expect, test } from 'vitest';
import { compareWords } from '../../src/text/compare-words.ts';

const compare = (text: string, heard: string, languageCode = 'en-US', names: string[] = []) =>
  compareWords(text, heard, { languageCode, names });
const listed = (...asked: Parameters<typeof compare>) =>
  compare(...asked).differences.map(({ kind, expected, heard }) => [kind, expected, heard]);

test.each([
  ['numbers', 'The train at 9:45 takes 1,200 people to Gate 3.', 'the train at 945 takes 1200 people to gate three'],
  ['a year that is read in two ways', 'In 2007 it closed.', 'in two thousand seven it closed'],
  ['punctuation and capitals', '"Stop!" she said - at last.', 'Stop, she said at last.'],
  ['other spellings', "The neighbour's colour catalogue", 'the neighbors color catalog'],
  ['compounds', 'Every day we use the web site.', 'everyday we use the website'],
  ['contractions', "You'd better wait; it isn't over.", 'you would better wait it is not over'],
  ['names that sound alike', 'Schmidt met Siobhan.', 'schmitt met siobhan'],
  ['hesitations', 'Hmm, maybe.', 'maybe'],
  [
    'words that are divided elsewhere',
    'The virus spreads mainly. Unplug it.',
    'the virus spread as mainly and plug it',
  ],
  ['a short word that nobody said', 'Shake it well before use.', 'shake it well before you use'],
])('does not suspect %s', (_, text, heard) => {
  expect(compare(text, heard)).toMatchObject({ isSuspect: false });
});

test.each([
  ['a skipped word', 'Please do not open the red door.', 'please do open the red door', ['missing', 'not', '']],
  ['a repeated word', 'Go to the old bridge.', 'go to the old old bridge', ['added', '', 'old']],
  ['a short word that is repeated', 'Go to the bridge.', 'go to the the bridge', ['added', '', 'the']],
  ['an added word', 'Open it.', 'open it gently', ['added', '', 'gently']],
  ['an added negation', 'Please do open it.', 'please do not open it', ['added', '', 'not']],
  ['an added negation beside a misheard word', 'He understands it.', 'he not understand it', ['added', '', 'not']],
  ['a short word that is repeated before it', 'Go to the bridge.', 'go too to the bridge', ['added', '', 'too']],
  ['an added number', 'Dial 5 now.', 'dial 5 6 now', ['added', '', 'six']],
  ['an added word beside a misheard one', 'It is recommended.', 'it is never recommend', ['added', '', 'never']],
  ['a skipped word beside a misheard one', 'No, she snapped.', 'no snap', ['missing', 'she', '']],
  ['a cut end', 'Take the second left, then stop.', 'take the second left', ['missing', 'then stop', '']],
  ['an added sentence', 'That is all.', 'that is all thanks for watching', ['added', '', 'thanks for watching']],
  ['a missing number', 'It costs 40 euros today.', 'it costs euros today', ['missing', 'forty', '']],
  ['another text', 'No, thanks.', 'money', ['changed', 'No thanks', 'money']],
  ['swapped letters', 'Salt', 'slat', ['changed', 'Salt', 'slat']],
])('suspects %s', (_, text, heard, difference) => {
  expect(listed(text, heard)).toEqual([difference]);
  expect(compare(text, heard).isSuspect).toBe(true);
});

test('a character that is added in a language without spaces is suspect', () => {
  expect(compare('我去北京。', '我不去北京', 'zh-CN')).toMatchObject({ isSuspect: true });
});

test('says where a difference is, in the text and in what was heard', () => {
  const text = 'Turn left at the old church, then right.';
  const heard = 'turn left at the church then right';
  const [difference] = compare(text, heard).differences;
  expect(text.slice(difference!.from, difference!.to)).toBe('old');
  expect(heard.slice(0, difference!.heardFrom)).toBe('turn left at the');
});

test('lets a name be heard as any word', () => {
  const [text, heard] = ['Ask Nguyen about it.', 'ask win about it'];
  expect(listed(text, heard)).toHaveLength(1);
  expect(listed(text, heard, 'en-US', ['Nguyen'])).toEqual([]);
});

test('compares other languages, and scripts without spaces by character', () => {
  expect(listed('Am 5. Mai um 9.45 Uhr', 'am fünften Mai um neun Uhr fünfundvierzig', 'de-DE')).toEqual([]);
  expect(listed('今日は天気がいいです。', '今日は天気いいです', 'ja-JP')).toEqual([['missing', 'が', '']]);
});

test('compares a book of 20 000 words in bounded memory', () => {
  const words = Array.from({ length: 20_000 }, (_, n) => `w${String.fromCharCode(97 + (n % 26))}${n % 7 ? 'o' : 'e'}l`);
  const heard = words.toSpliced(15_000, 40).join(' ');
  expect(compare(words.join(' '), heard).differences.reduce((sum, { words: count }) => sum + count, 0)).toBe(40);
});

test('an empty text, or nothing heard', () => {
  expect(compare('', '')).toEqual({ words: 0, differences: [], isSuspect: false });
  expect(listed('One two.', '')).toEqual([['missing', 'One two', '']]);
  expect(listed('', 'one two')).toEqual([['added', '', 'one two']]);
});

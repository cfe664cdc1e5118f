// Tests `language_code: "auto"`: each sentence is spoken and reported in its own language, chosen among the languages
// of the voices.
import { expect, test } from 'vitest';
import { openTone } from '../engines/tone-engine.ts';
import { collect, openSpeech, speechOf } from './open-speech.ts';

const many = ['en-GB', 'en', 'de-DE', 'de', 'fr', 'ja', 'ru'];
const auto = { language_code: 'auto', timestamps: 'word', output_format: 'pcm' };
const spoken = (tone: ReturnType<typeof openTone>) =>
  tone.segments.map(({ languageCode, text }) => `${languageCode} ${text}`);

test('sentences are spoken in their languages, and their words tell them with offsets in the text', async () => {
  const { tone, whole } = openSpeech({ languageCodes: many });
  const text =
    'The train leaves at nine. Der Zug fährt heute leider nicht. ' +
    'Le musée est fermé le lundi. Поезд уже ушёл. 駅はどこですか。That is all for today.';
  const { timestamps } = await whole({ ...auto, text });
  expect(spoken(tone)).toEqual([
    'en-GB The train leaves at nine.',
    'de-DE Der Zug fährt heute leider nicht.',
    'fr Le musée est fermé le lundi.',
    'ru Поезд уже ушёл.',
    'ja 駅はどこですか。',
    'en-GB That is all for today.',
  ]);
  expect(timestamps.map(({ languageCode }) => languageCode)).toEqual(['en-GB', 'de-DE', 'fr', 'ru', 'ja', 'en-GB']);
  const words = timestamps.flatMap((event) => event.words);
  for (const word of words) expect(text.slice(word.offset, word.offset + word.length)).toBe(word.text);
  expect(words.map((word) => word.text)).toEqual(expect.arrayContaining(['Zug', 'musée', 'ушёл', 'today']));
});

test('what tells nothing is spoken in the language of the sentence before it, at the start in that of the voice', async () => {
  const { tone, whole } = openSpeech({ languageCodes: many });
  await whole({ ...auto, text: '42! Der Zug fährt heute leider nicht! 17! The train leaves from this platform. OK.' });
  expect(spoken(tone)).toEqual([
    'en-GB 42!',
    'de-DE Der Zug fährt heute leider nicht!',
    'de-DE 17!',
    'en-GB The train leaves from this platform.',
    'en-GB OK.',
  ]);
});

test('numbers are read in the language of their sentence', async () => {
  const { tone, whole } = openSpeech({ languageCodes: ['en', 'de'], capabilities: { readsNumbers: false } });
  await whole({ ...auto, text: 'It costs 21 dollars in that shop. Das kostet in dem Laden 21 Euro.' });
  expect(spoken(tone)).toEqual([
    'en It costs twenty one dollars in that shop.',
    'de Das kostet in dem Laden einundzwanzig Euro.',
  ]);
});

test('a voice of one language speaks all in it, and nothing is looked at', async () => {
  const { tone, whole } = openSpeech({ languageCodes: ['en-US', 'en'] });
  const { timestamps } = await whole({ ...auto, text: 'Der Zug fährt heute nicht. The train leaves.' });
  expect(tone.segments.map(({ languageCode }) => languageCode)).toEqual(['en-US', 'en-US']);
  expect(timestamps.map(({ languageCode }) => languageCode)).toEqual(['en-US', 'en-US']);
});

test('the language of the words is not told where the request states it', async () => {
  const { whole } = openSpeech();
  const { timestamps } = await whole({ text: 'The train leaves.', language_code: 'en', timestamps: 'word' });
  expect(timestamps[0]).not.toHaveProperty('languageCode');
});

test('what the markup states goes before it, and a sentence runs on through other markup and pauses', async () => {
  const { tone, whole } = openSpeech({ languageCodes: many });
  const ssml =
    '<speak>Le musée <prosody rate="80%">est</prosody> fermé <break time="300ms"/>le lundi. ' +
    '<lang xml:lang="de">The train leaves at nine.</lang> Er sagt: &quot;Das ist <sub alias="sehr">s.</sub> gut.&quot; ' +
    '<mark name="end"/>And that was all we had to say.</speak>';
  await whole({ ...auto, ssml });
  expect(spoken(tone)).toEqual([
    'fr Le musée',
    'fr est',
    'fr fermé',
    'fr le lundi.',
    'de The train leaves at nine.',
    'de-DE Er sagt: "Das ist sehr gut."',
    'en-GB And that was all we had to say.',
  ]);
});

test('Markdown around a sentence stays around it', async () => {
  const { tone, whole } = openSpeech({ languageCodes: many });
  const text =
    '# Fahrplan für heute\n\n**Der Zug fährt nicht.** *The next one leaves at nine.* « Bonjour à tous ! » Et voilà.';
  const { timestamps } = await whole({ ...auto, text });
  expect(spoken(tone).join('\n')).not.toMatch(/[*#]/);
  expect(timestamps.flatMap(({ words, languageCode }) => words.map((word) => `${languageCode} ${word.text}`))).toEqual(
    [
      ['de-DE', ['Fahrplan', 'für', 'heute', 'Der', 'Zug', 'fährt', 'nicht']],
      ['en-GB', ['The', 'next', 'one', 'leaves', 'at', 'nine']],
      ['fr', ['Bonjour', 'à', 'tous', 'Et', 'voilà']],
    ].flatMap(([code, words]) => (words as string[]).map((word) => `${code} ${word}`)),
  );
});

test('a chunk goes on with the sentence of the one before it', async () => {
  const { tone, whole } = openSpeech({ languageCodes: many });
  const text_chunks = ['Der Zug nach', 'Hamburg via Hannover', 'fährt heute nicht.', 'The next one', 'leaves at nine.'];
  await whole({ ...auto, method: 'streaming', text_chunks });
  expect(tone.segments.map(({ languageCode }) => languageCode)).toEqual(['de-DE', 'de-DE', 'de-DE', 'en-GB', 'en-GB']);
});

test('of several voices, each speaks what it can of the languages that all of them speak', async () => {
  const tone = openTone({ languageCodes: ['en', 'de'] });
  const bell = openTone({ name: 'bell', languageCodes: ['fr', 'de-AT'] });
  const ssml =
    '<speak>Der Zug fährt heute leider nicht. Le musée est fermé le lundi. ' +
    '<voice name="bell-low">Der Zug fährt heute leider nicht. Le musée est fermé le lundi.</voice></speak>';
  await collect(speechOf([tone, bell]).stream({ ...auto, voice_id: 'tone-low', ssml }));
  // The first voice does not speak French, so it speaks French text in its own language.
  expect(spoken(tone)).toEqual(['de Der Zug fährt heute leider nicht.', 'en Le musée est fermé le lundi.']);
  expect(spoken(bell)).toEqual(['de-AT Der Zug fährt heute leider nicht.', 'fr Le musée est fermé le lundi.']);
  for (const each of [tone, bell]) await each.close();
});

test('a text in a script of any language of the voice is spoken, and in no other', async () => {
  const { whole } = openSpeech({ languageCodes: many });
  expect((await whole({ ...auto, text: 'Поезд уже ушёл.' })).info.warnings).toEqual([]);
  await expect(whole({ ...auto, text: 'हम कल आएंगे।' })).rejects.toMatchObject({ reason: 'invalid_request' });
});

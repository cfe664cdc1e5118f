// Tests lexicons of requests and of voices, through `streamSpeech` with the tone engine: which are used, what is
// charged, which ids are refused, and their part in the cache key.
import { expect, test } from 'vitest';
import { Failure } from '../../src/platform/errors.ts';
import { atOnce } from '../../src/platform/runtime/steps.ts';
import { bestCasting } from '../../src/speech/cast.ts';
import { LiveText } from '../../src/speech/live-text.ts';
import { createPlan } from '../../src/speech/plan.ts';
import type { SpeechEvent } from '../../src/speech/speech-events.ts';
import { StoredVoices } from '../../src/speech/stored-voices.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { type KeptLexicon, keepLexicons } from './kept-lexicons.ts';
import { collect, openSpeech } from './open-speech.ts';
import { parseLiveStart, parseSpeechRequest } from './parse-request.ts';
import { storedVoice } from './stored-voice.ts';

const aws: KeptLexicon = { entries: [{ grapheme: 'AWS', alias: 'Amazon Web Services' }] };
const other: KeptLexicon = {
  entries: [
    { grapheme: 'AWS', alias: 'ay double you ess' },
    { grapheme: 'tomato', phoneme: 'təˈmɑːtəʊ', alphabet: 'ipa' },
  ],
};

/** A stored voice with these lexicons. */
const storedWith = (lexiconIds: readonly string[]) =>
  new StoredVoices([
    storedVoice({ voiceId: 'bound', bindings: [{ engine: 'tone', speakerId: 'tone-high' }], lexiconIds }),
  ]);

function open(kept: Record<string, KeptLexicon>, boundIds: readonly string[] = []) {
  return openSpeech({}, { lexicons: keepLexicons(kept), stored: storedWith(boundIds) });
}

const warningsOf = (events: readonly SpeechEvent[]) =>
  events.flatMap((event) => (event.type === 'info' ? event.warnings : []));
const textOf = ({ segments }: ReturnType<typeof openSpeech>['tone']) => segments.map(({ text }) => text).join(' ');

test('a request uses the lexicons that it asks for, and charges what is said', async () => {
  const { stream, tone } = open({ aws, other });
  const events = await collect(stream({ text: 'I use AWS.', lexicon_ids: ['aws', 'other'], timestamps: 'word' }));
  expect(textOf(tone)).toBe('I use Amazon Web Services.');
  expect(events.at(-1)).toMatchObject({ type: 'done', chars: 'I use Amazon Web Services.'.length });
  expect(warningsOf(events)).toEqual([]);
  const words = events.flatMap((event) => (event.type === 'timestamps' ? event.words : []));
  expect(words.map(({ text, offset, length }) => [text, offset, length])).toEqual([
    ['I', 0, 1],
    ['use', 2, 3],
    ['AWS', 6, 3],
  ]);
});

test('what is said in place of a word counts for what the voice can speak, and not the word', async () => {
  const greetings: KeptLexicon = {
    entries: [
      { grapheme: 'שלום', alias: 'shalom' },
      { grapheme: 'peace', alias: 'мир' },
    ],
  };
  const { stream, tone } = open({ greetings });
  const spoken = async (text: string) => collect(stream({ text, lexicon_ids: ['greetings'] }));
  expect(warningsOf(await spoken('They say שלום here.'))).toEqual([]);
  expect(warningsOf(await spoken('They want peace here.'))).toEqual(['transliterated']);
  expect(warningsOf(await spoken('שלום'))).toEqual([]);
  expect(textOf(tone)).toContain('shalom');
});

test('every request with a voice uses its lexicons, after those of the request', async () => {
  const { stream, tone } = open({ aws, other }, ['other']);
  const heard = async (fields: object) => {
    const before = tone.segments.length;
    await collect(stream(fields));
    return tone.segments
      .slice(before)
      .map(({ text }) => text)
      .join(' ');
  };
  expect(await heard({ voice_id: 'bound', text: 'AWS one' })).toBe('ay double you ess one');
  expect(await heard({ voice_id: 'bound', text: 'AWS' })).toBe('ay double you ess');
  expect(await heard({ voice_id: 'bound', text: 'AWS two', lexicon_ids: ['aws'] })).toBe('Amazon Web Services two');
  expect(await heard({ ssml: '<speak>AWS <voice name="bound">AWS</voice></speak>' })).toBe('AWS ay double you ess');
});

test('a pronunciation that the engine cannot speak is spoken plainly, with a warning; so is a bound lexicon that is gone', async () => {
  const { stream, tone } = open({ other }, ['gone']);
  expect(warningsOf(await collect(stream({ text: 'A tomato.', lexicon_ids: ['other'] })))).toEqual(['ignored:phoneme']);
  expect(textOf(tone)).toBe('A tomato.');
  expect(warningsOf(await collect(stream({ voice_id: 'bound', text: 'AWS.' })))).toEqual(['ignored:lexicon']);
});

test('a lexicon that is not there, or is another account’s, is refused by name', () => {
  const { stream } = open({
    aws,
    foreign: { ...aws, ownerId: 'eve' },
    shared: { ...aws, ownerId: 'eve', access: 'everyone' },
  });
  const ask = (lexicon_ids: unknown) => collect(stream({ text: 'AWS.', lexicon_ids }));
  const refused = (field: string, reason: string) =>
    expect.objectContaining({
      reason: 'invalid_request',
      facts: expect.objectContaining({ details: [expect.objectContaining({ field, reason })] }),
    });
  expect(() => stream({ text: 'AWS.', lexicon_ids: ['aws', 'aws'] })).toThrow(refused('lexicon_ids[1]', 'duplicate'));
  expect(() => stream({ text: 'AWS.', lexicon_ids: 'aws' })).toThrow(refused('lexicon_ids', 'type'));
  return Promise.all([
    expect(ask(['aws', 'gone'])).rejects.toEqual(refused('lexicon_ids[1]', 'not_found')),
    expect(ask(['foreign'])).rejects.toEqual(refused('lexicon_ids[0]', 'not_found')),
    expect(ask(['shared'])).resolves.toBeDefined(),
  ]);
});

test('aliases cannot make a text endlessly long', async () => {
  const long: KeptLexicon = { entries: [{ grapheme: 'a', alias: 'long '.repeat(40) }] };
  const { stream } = open({ long });
  const error = await collect(stream({ text: 'a '.repeat(200), lexicon_ids: ['long'] })).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(Failure);
  expect(error).toMatchObject({ reason: 'text_too_long', facts: { limit: 10_000 } });
});

test('the cache key has the content of the lexicons, and not their ids', async () => {
  const { tone } = openSpeech();
  const keyOf = async (
    kept: Record<string, KeptLexicon>,
    lexicon_ids: readonly string[],
    boundIds: readonly string[] = [],
  ) => {
    const voices = createVoices([tone], { stored: storedWith(boundIds) });
    const request = parseSpeechRequest({ voice_id: 'bound', text: 'AWS.', lexicon_ids });
    const caller = { callerId: 'test', accountId: 'test' };
    return (await createPlan(request, caller, { voices, lexicons: keepLexicons(kept) })).keyOf();
  };
  const none = await keyOf({}, []);
  const one = await keyOf({ aws }, ['aws']);
  expect(one).not.toBe(none);
  // A missing lexicon adds a warning to the audio, which therefore has another key.
  expect(await keyOf({}, [], ['gone'])).not.toBe(none);
  expect(await keyOf({ same: aws }, ['same'])).toBe(one);
  expect(await keyOf({ aws }, [], ['aws'])).toBe(one);
  expect(await keyOf({ aws: other }, ['aws'])).not.toBe(one);
  expect(await keyOf({ aws, other }, ['aws', 'other'])).not.toBe(await keyOf({ aws, other }, ['other', 'aws']));
});

test('live speech uses the lexicons of its start, in each part of its text', async () => {
  const { tone } = openSpeech();
  const start = parseLiveStart({ voice_id: 'tone-low', lexicon_ids: ['aws'] });
  const caller = { callerId: 'test', accountId: 'test' };
  const tools = { voices: createVoices([tone]), lexicons: keepLexicons({ aws }) };
  const { cut } = await createPlan(start, caller, tools);
  const text = new LiveText('en-US');
  atOnce(text.append('I use AWS. So AWS it is.'));
  text.end();
  const taken: number[] = [];
  const take = async (_: number, chars: number) => void taken.push(chars);
  const plan = await cut(bestCasting, { part: (index) => text.part(index), take, isDivided: true });
  const said: string[] = [];
  for (let next = await plan.cuts.next(); !next.done; next = await plan.cuts.next())
    said.push(next.value.cut?.text ?? '');
  expect(said.join(' ')).toBe('I use Amazon Web Services. So Amazon Web Services it is.');
  expect(taken.reduce((sum, chars) => sum + chars, 0)).toBe(said.join(' ').length);
});

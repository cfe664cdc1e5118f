// Tests marked text, through `streamSpeech` with the tone engine: pauses to the millisecond, times of words and marks,
// several voices, and the effect of each element.
import { expect, test } from 'vitest';
import type { SpeechEvent } from '../../src/speech/speech-events.ts';
import { collect, joined, openSpeech, samplesOf, streaming } from './open-speech.ts';
import { findGaps } from './silences.ts';

const speak = (body: string) => `<speak version="1.1" xml:lang="en-US">${body}</speak>`;
const wordsOf = (events: readonly SpeechEvent[]) =>
  events.flatMap((event) => (event.type === 'timestamps' ? event.words : []));
const marksOf = (events: readonly SpeechEvent[]) => events.filter((event) => event.type === 'mark');
const pcm = { output_format: 'pcm', sample_rate: 24_000 };

test('short breaks, and breaks before and after everything, are as exact', async () => {
  const { stream } = openSpeech();
  const ssml = speak('<break time="500ms"/>One<break time="10ms"/>two<break time="35ms"/>three<break time="700ms"/>');
  const events = await collect(stream({ ssml, ...pcm }));
  const gaps = findGaps(samplesOf(joined(events)), 24_000, 0.005).map((g) => (g.endSeconds - g.startSeconds) * 1000);
  expect(gaps).toHaveLength(4);
  for (const [i, ms] of [500, 10, 35, 700].entries()) expect(Math.abs(gaps[i]! - ms)).toBeLessThan(1);
});

test('other work runs during long pauses, and a reader that leaves ends them', async () => {
  const { stream } = openSpeech();
  const text = '[pause:20s]'.repeat(29);
  const given = { ...streaming(text), markup: 'pauses', output_format: 'opus', sample_rate: 48_000 };
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const events = await collect(stream(given));
  expect(events.at(-1)).toMatchObject({ type: 'done', seconds: 580 });
  expect(turns).toBeGreaterThan(580);
  const before = turns;
  for await (const event of stream(given)) if (event.type === 'audio') break;
  isOver = true;
  expect(turns - before).toBeLessThan(580);
});

test('words are located in the document as it was sent', async () => {
  const { stream } = openSpeech();
  const ssml = speak(
    '\n <p><s>Fish &amp; chips 😀 for <sub alias="World Wide Web">W3C</sub>, un<mark name="m"/>belie&#118;able</s></p>',
  );
  const words = wordsOf(await collect(stream({ ssml, ...pcm, timestamps: 'word' })));
  expect(words.map(({ text }) => text)).toEqual(['Fish', 'chips', 'for', 'W3C', 'unbelievable']);
  const chars = [...ssml];
  const written = words.map(({ offset, length }) => chars.slice(offset, offset + length).join(''));
  expect(written).toEqual(['Fish', 'chips', 'for', 'W3C', 'un<mark name="m"/>belie&#118;able']);
});

test('only what is said is counted', async () => {
  const { stream } = openSpeech();
  const ssml = speak('\n  <p> One   two. </p>\n<break time="1s"/>  <sub alias="three four">x</sub>');
  const events = await collect(stream({ ssml, ...pcm }));
  expect(events.at(-1)).toMatchObject({ type: 'done', chars: 'One two.'.length + 'three four'.length });
  const { chars } = events.at(-1) as { chars: number };
  const begun = events.flatMap((event) => (event.type === 'audio' ? [event.charsBegun] : []));
  expect(begun.at(-1)).toBe(chars);
});

test('marks are told when the word after them is heard, and changes of voice when it begins', async () => {
  const { stream } = openSpeech();
  const ssml = speak(
    'One <mark name="a"/>two <voice name="tone-high">three <mark name="b"/></voice><break time="1s"/><mark name="c"/>four',
  );
  const events = await collect(stream({ ssml, ...pcm, timestamps: 'word' }));
  const words = Object.fromEntries(wordsOf(events).map(({ text, startSeconds }) => [text, startSeconds]));
  const marks = marksOf(events).map(({ kind, name, seconds }) => [kind, name, Math.round(seconds * 1000) / 1000]);
  expect(marks.map(([kind, name]) => `${kind} ${name}`)).toEqual([
    'mark a',
    'voice tone-high',
    'mark b',
    'voice tone-low',
    'mark c',
  ]);
  expect(marks[0]![2]).toBe(words.two);
  expect(marks[1]![2]).toBeCloseTo(words.three!, 1);
  expect(marks[4]![2]).toBe(words.four);
});

test('a mark, an alias or emphasis does not divide a sentence', async () => {
  const { stream, tone } = openSpeech();
  const ssml = speak(
    'The <emphasis>big</emphasis> <mark name="x"/><sub alias="Consortium">C.</sub> has met in <w>Rome</w>.',
  );
  await collect(stream({ ssml, ...pcm }));
  expect(tone.segments.map(({ text }) => text)).toEqual(['The big Consortium has met in Rome.']);
});

test('chunks may be documents and text in turn', async () => {
  const { stream, tone } = openSpeech();
  await collect(stream({ ...streaming('<speak>One &amp;</speak>', 'two <b>three</b>'), markup: 'ssml' }));
  expect(tone.segments.map(({ text }) => text)).toEqual(['One &', 'two three']);
});

test('an emphasized word is louder than the others, and a reduced one softer', async () => {
  const { stream } = openSpeech();
  const levels = new Map<string, number>();
  for (const level of ['none', 'reduced', 'moderate', 'strong']) {
    const ssml = speak(`<prosody rate="medium">one <emphasis level="${level}">seven</emphasis> one</prosody>`);
    const events = await collect(stream({ ssml, ...pcm, timestamps: 'word' }));
    const samples = samplesOf(joined(events));
    const { startSeconds, endSeconds } = wordsOf(events)[1]!;
    const heard = samples.subarray((startSeconds + 0.03) * 24_000, (endSeconds - 0.03) * 24_000);
    levels.set(level, Math.sqrt(heard.reduce((sum, sample) => sum + sample * sample, 0) / heard.length));
  }
  const dB = (level: string) => Math.round(20 * Math.log10(levels.get(level)! / levels.get('none')!));
  expect([dB('reduced'), dB('moderate'), dB('strong')]).toEqual([-4, 3, 5]);
});

test('prosody changes the volume, and the speed on top of that of the request', async () => {
  const { stream, tone } = openSpeech();
  const ssml = speak('one <prosody rate="200%" volume="-6dB">one <prosody rate="50%">one</prosody></prosody>');
  const events = await collect(stream({ ssml, ...pcm, speaking_rate: 1.5, timestamps: 'word' }));
  expect(tone.segments.map(({ speakingRate }) => speakingRate)).toEqual([1.5, 3, 1.5]);
  const samples = samplesOf(joined(events));
  const [first, , last] = wordsOf(events).map(({ startSeconds, endSeconds }) => {
    const heard = samples.subarray((startSeconds + 0.02) * 24_000, (endSeconds - 0.02) * 24_000);
    return Math.sqrt(heard.reduce((sum, sample) => sum + sample * sample, 0) / heard.length);
  });
  expect(Math.round(20 * Math.log10(last! / first!))).toBe(-6);
});

test('numbers are left to the engine where the request says so', async () => {
  const { stream, tone } = openSpeech({ capabilities: { readsNumbers: false } });
  await collect(stream({ text: 'Room 12.' }));
  await collect(stream({ text: 'Room 12.', normalize: false }));
  expect(tone.segments.map(({ text }) => text)).toEqual(['Room twelve.', 'Room 12.']);
});

test('what has no effect does not divide a sentence', async () => {
  const { stream, tone } = openSpeech();
  const ssml = speak(
    'Take a <lang xml:lang="fr">ripe</lang> <prosody pitch="high">red</prosody> <voice name="tone-low">apple</voice> now.',
  );
  const [info] = await collect(stream({ ssml }));
  expect(tone.segments.map(({ text }) => text)).toEqual(['Take a ripe red apple now.']);
  expect(info).toMatchObject({ warnings: ['ignored:lang', 'ignored:prosody.pitch'] });
});

test('a voice speaks in the language that the markup states, if it can', async () => {
  const { stream, tone } = openSpeech();
  const ssml = speak('Good day. <lang xml:lang="de">Guten Tag.</lang> <s xml:lang="de-AT">Servus.</s>');
  await collect(stream({ ssml }));
  expect(tone.segments.map(({ text, languageCode }) => [text, languageCode])).toEqual([
    ['Good day.', 'en-US'],
    ['Guten Tag.', 'de'],
    ['Servus.', 'de-AT'],
  ]);
});

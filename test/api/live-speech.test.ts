// Tests live speech with the tone engine: text in pieces, audio turn by turn, and interrupts that stop both.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createLimiter, type Limiter } from '../../src/accounts/limits/limiter.ts';
import type { LiveEvent, LiveInput } from '../../src/api/live-session.ts';
import { decodeRecording } from '../../src/audio/recording/recording.ts';
import type { Failure } from '../../src/platform/errors.ts';
import { PushQueue } from '../../src/platform/runtime/push-queue.ts';
import { countTurns } from '../count-turns.ts';
import { openTone, type ToneOptions } from '../engines/tone-engine.ts';
import { parseLiveStart } from '../speech/parse-request.ts';
import { createRandom } from '../text/random-text.ts';
import { openLive, soundOf, wordsOf } from './open-live.ts';

const text =
  'Well, here it is. Dr. Ada Lovelace paid $3.50 at 5 p.m. today, e.g. for **two cups. And a cake.** See ' +
  'https://x.org/a.b?c=d, and then:\n\n1. First this\n2. Then that\n\nIs it so? Yes! It goes on and on, with a clause, ' +
  'and another clause, and more than enough words to be heard before it ends';

function open({ limiter, ...options }: ToneOptions & { limiter?: Pick<Limiter, 'takeSynthesis'> } = {}) {
  const tone = openTone({ sampleRateHz: 24_000, ...options });
  onTestFinished(() => tone.close());
  const opened = openLive(tone, limiter);
  return { ...opened, tone, begin: (fields: object = {}) => opened.begin({ voice_id: 'tone-low', ...fields }) };
}

test('a turn in pieces sounds like the turn sent whole, whatever the pieces are', async () => {
  const { begin } = open();
  const speak = async (pieces: string[]) => {
    const { inputs, say, until } = begin();
    say(...pieces);
    inputs.push({ type: 'flush' });
    return soundOf(await until('flushed'));
  };
  const random = createRandom(7);
  const sent = await speak([text]);
  expect(sent.length).toBeGreaterThan(24_000 * 2 * 15);
  for (let i = 0; i < 8; i++) {
    const pieces: string[] = [];
    for (let at = 0; at < text.length; ) {
      const next = at + 1 + Math.floor(random() * 40);
      pieces.push(text.slice(at, next));
      at = next;
    }
    expect((await speak(pieces)).equals(sent)).toBe(true);
  }
});

test('a sentence is spoken before the next is there, and word times are those of the whole turn', async () => {
  const { begin } = open();
  const { inputs, say, until } = begin({ timestamps: 'word' });
  say('Good morning, Ada. H');
  const first = await until('timestamps');
  expect(first[0]).toMatchObject({ type: 'info', turn: 0, format: 'pcm', sampleRateHz: 24_000 });
  expect(wordsOf(first).map((word) => word.text)).toEqual(['Good', 'morning', 'Ada']);
  say('ow are you?');
  inputs.push({ type: 'end' });
  const rest = await until('done');
  expect(wordsOf(rest).map(({ text, offset }) => [text, offset])).toEqual([
    ['How', 19],
    ['are', 23],
    ['you', 27],
  ]);
  expect(wordsOf(rest)[0]!.startSeconds).toBeGreaterThan(wordsOf(first).at(-1)!.endSeconds);
  expect(rest.at(-2)).toMatchObject({ type: 'flushed', turn: 0, chars: 31 });
  expect(rest.at(-1)).toMatchObject({ type: 'done', chars: 31 });
});

test.each([
  ['wav', 24_000],
  ['mp3', 8_000],
  ['mp3', 22_050],
  ['mp3', 44_100],
  ['opus', 8_000],
  ['opus', 24_000],
  ['flac', 8_000],
  ['flac', 44_100],
] as const)('the turns are one file in %s at %i Hz, and each is heard when it is flushed', async (format, rate) => {
  const { begin } = open();
  const { inputs, say, until } = begin({ output_format: format, sample_rate: rate });
  const secondsOf = async (parts: Buffer[]) => {
    const { samples, sampleRateHz } = await decodeRecording(Buffer.concat(parts), { secondsMax: 600 });
    return {
      heard: samples.findLastIndex((sample) => Math.abs(sample) > 0.01) / sampleRateHz,
      whole: samples.length / sampleRateHz,
    };
  };
  const parts: Buffer[] = [];
  let seconds = 0;
  for (const sentence of ['Good morning to you, Ada.', 'How are you?', 'Goodbye!']) {
    say(sentence);
    inputs.push({ type: 'flush' });
    const events = await until('flushed');
    parts.push(soundOf(events));
    seconds += (events.at(-1) as Extract<LiveEvent, { type: 'flushed' }>).seconds;
    const { heard } = await secondsOf(parts);
    expect(Math.abs(seconds - 0.135 - heard), sentence).toBeLessThan(0.16);
  }
  inputs.push({ type: 'end' });
  const rest = soundOf(await until('done'));
  expect(Math.abs((await secondsOf([...parts, rest])).whole - seconds)).toBeLessThan(0.3);
  const heads =
    Buffer.concat(parts)
      .toString('latin1')
      .match(/RIFF|OpusHead|fLaC/g) ?? [];
  expect(heads).toHaveLength(format === 'mp3' ? 0 : 1);
});

test('after an interrupt, another file begins', async () => {
  const { begin } = open();
  const { inputs, say, until } = begin({ output_format: 'wav' });
  const speak = async (text: string) => {
    say(text);
    inputs.push({ type: 'flush' });
    return soundOf(await until('flushed')).toString('latin1', 0, 4);
  };
  expect(await speak('One.')).toBe('RIFF');
  expect(await speak('Two.')).not.toBe('RIFF');
  inputs.push({ type: 'interrupt' });
  await until('interrupted');
  expect(await speak('Three.')).toBe('RIFF');
});

test.each([
  ['Hello. \u{1F44D}', []],
  ['\u{1F44D}', ['nothing_spoken']],
  ['Hello Москва good day friends.', ['transliterated']],
])('of %s the info says what is not said as it is written', async (text, warnings) => {
  const { begin } = open();
  const { inputs, say, until } = begin();
  say(text);
  inputs.push({ type: 'end' });
  expect((await until('done'))[0]).toMatchObject({ type: 'info', warnings });
});

test('a text that does not go on is spoken after a while, as far as it is certain', async () => {
  const { begin } = open();
  const { inputs, say, until } = begin({ timestamps: 'word', buffer_ms: 20 });
  say('I have 3');
  expect(wordsOf(await until('timestamps')).map((word) => word.text)).toEqual(['I', 'have']);
  say('.14 of them.');
  inputs.push({ type: 'end' });
  expect(wordsOf(await until('done')).map((word) => word.text)).toEqual(['3.14', 'of', 'them']);
});

test('after an interrupt nothing of the turn follows, and the text is told up to the word that was heard', async () => {
  const { tone, begin } = open();
  const { inputs, say, until, events } = begin({ timestamps: 'word' });
  const sentences = Array.from({ length: 40 }, (_, i) => `This is the sentence with the number ${i}. `);
  say(...sentences);
  const before = await until('timestamps');
  const heard = wordsOf(before)[2]!;
  inputs.push({ type: 'interrupt', playedMs: (heard.startSeconds + 0.01) * 1000 });
  const after = await until('interrupted');
  expect(after.filter(({ type }) => type === 'audio').length).toBeLessThanOrEqual(1);
  const interrupted = after.at(-1) as Extract<LiveEvent, { type: 'interrupted' }>;
  expect(interrupted.textSpoken).toBe('This is the');
  expect(interrupted.textSpoken + interrupted.textRemaining).toBe(sentences.join(''));
  await expect.poll(() => tone.counts.running).toBe(0);
  say('Then this.');
  inputs.push({ type: 'end' });
  const next = await until('done');
  expect(next[0]).toMatchObject({ type: 'info', turn: 1 });
  expect((await events.next()).done).toBe(true);
});

test('a turn that was flushed may still be heard when it is interrupted', async () => {
  const { begin } = open();
  const { inputs, say, until } = begin();
  say('One two three four.');
  inputs.push({ type: 'flush' });
  await until('flushed');
  inputs.push({ type: 'interrupt', playedMs: 400 });
  const [interrupted] = await until('interrupted');
  expect(interrupted).toMatchObject({ turn: 0, playedMs: 400, textSpoken: 'One two', textRemaining: ' three four.' });
});

test('where the engine is turns ahead, the turn that was heard is told, and those after it are not heard', async () => {
  const { begin } = open();
  const { inputs, say, until } = begin();
  for (const text of ['One two three.', 'Four five six.', 'Seven eight.']) {
    say(text);
    inputs.push({ type: 'flush' });
    await until('flushed');
  }
  inputs.push({ type: 'interrupt', turn: 1, playedMs: 500 });
  const told = [...(await until('interrupted')), ...(await until('interrupted'))];
  expect(told).toMatchObject([
    { turn: 1, playedMs: 500, textSpoken: 'Four five', textRemaining: ' six.' },
    { turn: 2, playedMs: 0, textSpoken: '', textRemaining: 'Seven eight.' },
  ]);
});

test('a place is held only while something is spoken, and each part is charged once, as it is taken', async () => {
  const { begin, schedule, charged, usage } = open();
  const { inputs, say, until, events } = begin({ timestamps: 'word', buffer_ms: 20 });
  await sleep(10);
  expect(schedule.state.speaking).toBe(0);
  expect(charged).toEqual([]);
  say('Good morning. ', 'H');
  await until('timestamps');
  const next = events.next();
  await expect.poll(() => schedule.state.speaking).toBe(0);
  await expect.poll(() => charged).toEqual([{ chars: 14, spoken: 14 }]);
  say('ello.');
  inputs.push({ type: 'end' });
  await next;
  await until('done');
  expect(charged).toEqual([
    { chars: 14, spoken: 14 },
    { chars: 6, spoken: 6 },
  ]);
  const sum = (name: 'requests' | 'characters') => usage.reduce((total, row) => total + row[name], 0);
  expect([sum('requests'), sum('characters')]).toEqual([1, 20]);
  expect(schedule.state.speaking).toBe(0);
});

test('while its text goes on, a turn keeps its place, and other requests of its key wait for its pause', async () => {
  const { begin, schedule } = open({ limiter: createLimiter({ spentSince: async () => 0 }) });
  const other = async () => {
    const { inputs, say, events } = begin();
    say('Me too.');
    inputs.push({ type: 'end' });
    return Array.fromAsync(events).then(
      (seen) => seen.at(-1)!.type,
      ({ facts }: Failure) => facts.limitReason,
    );
  };
  const talker = begin({ timestamps: 'word', buffer_ms: 10_000 });
  talker.say('Good morning. ', 'H');
  await talker.until('timestamps');
  const next = talker.until('timestamps');
  await expect.poll(() => schedule.state.speaking).toBe(0);
  expect(await other()).toBe('concurrency');
  talker.say('ow are you? A');
  expect(wordsOf(await next).map((word) => word.text)).toEqual(['How', 'are', 'you']);
  talker.inputs.push({ type: 'end' });
  await talker.until('done');
  const pauser = begin({ timestamps: 'word', buffer_ms: 0 });
  pauser.say('Good morning. ');
  await pauser.until('timestamps');
  const after = pauser.until('done');
  await expect.poll(other).toBe('done');
  pauser.say('Good night.');
  pauser.inputs.push({ type: 'end' });
  await after;
});

test('what an interrupted turn did not speak is given back, whatever was taken of it', async () => {
  const { begin, charged, kept } = open({ trouble: { hangsAfterPieces: 3 } });
  const { inputs, say, until } = begin();
  say('One two three four five. ', 'Six seven eight nine ten. ', 'And so on.');
  await until('audio');
  await expect.poll(kept).toBeGreaterThan(0);
  inputs.push({ type: 'interrupt' }, { type: 'end' });
  await until('done');
  expect(charged.at(-1)!.spoken).toBeLessThanOrEqual(25);
});

test('text that is not spoken is bounded', async () => {
  const { begin } = open({ trouble: { hangsAfterPieces: 1 } });
  const { say, events } = begin();
  for (let i = 0; i < 11; i++) say('word '.repeat(1000));
  await expect(Array.fromAsync(events)).rejects.toMatchObject({
    reason: 'rate_limit_exceeded',
    facts: { limitReason: 'characters' },
  });
});

test('the text of interrupted turns that nobody reads is bounded', async () => {
  const { begin } = open();
  const { inputs, say, events } = begin({ buffer_ms: 10_000 });
  say('Hello there. A');
  await events.next();
  for (let i = 0; i < 10; i++) {
    say(' '.repeat(40_000));
    inputs.push({ type: 'interrupt' });
  }
  say('a');
  while (!inputs.isEnded) await sleep(1);
  await expect(Array.fromAsync(events)).rejects.toMatchObject({
    reason: 'rate_limit_exceeded',
    facts: { limit: 200_000, actual: 200_014, limitReason: 'characters' },
  });
});

test.each([
  ['a second start', [{ type: 'start' }], 'Send start once, before all other messages.'],
  [
    'half a character',
    [
      { type: 'text', text: 'a\ud83d' },
      { type: 'text', text: 'b' },
    ],
    undefined,
  ],
  ['a NUL', [{ type: 'text', text: 'a\0' }], undefined],
  [
    'text after the end',
    [{ type: 'text', text: 'Some.' }, { type: 'end' }, { type: 'end' }],
    'No message may follow end.',
  ],
] as const)('%s is refused', async (_, given, message) => {
  const { begin } = open();
  const { inputs, events } = begin();
  inputs.push(...(given as unknown as LiveInput[]));
  await expect(Array.fromAsync(events)).rejects.toMatchObject({
    reason: 'invalid_request',
    ...(message && { message }),
  });
});

test.each(['pauses', 'vendor'] as const)(
  'the pauses of all parts of a turn are bounded together: %s',
  async (markup) => {
    const { tone, live, call } = open({ sampleRateHz: 8_000 });
    const start = { ...parseLiveStart({ voice_id: 'tone-low', sample_rate: 8000 }), markup };
    const pause = markup === 'pauses' ? '[pause:20s]' : '<break time="20s"/>';
    const speak = async (turns: readonly number[]) => {
      const inputs = new PushQueue<LiveInput>();
      inputs.push({ type: 'start', start });
      for (const pauses of turns) {
        const sentences = Array.from({ length: pauses }, (_, i) => `Here is sentence ${i}.${pause}\n\n`);
        inputs.push(...sentences.map((text) => ({ type: 'text', text }) as const), { type: 'flush' });
      }
      inputs.push({ type: 'end' });
      return Array.fromAsync(live.liveSpeech(call(), inputs.pull()));
    };
    const spoken = await speak([30, 30]);
    expect(spoken.filter(({ type }) => type === 'flushed')).toHaveLength(2);
    expect(tone.segments.length).toBeGreaterThan(50);
    await expect(speak([31])).rejects.toMatchObject({
      reason: 'invalid_request',
      facts: { details: [{ field: 'text', reason: 'range', message: expect.stringContaining('600 s of pauses') }] },
    });
  },
);

test('a session that never starts is ended', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { live, call } = open();
  const events = Array.fromAsync(live.liveSpeech(call(), new PushQueue<LiveInput>().pull()));
  const refused = expect(events).rejects.toMatchObject({ reason: 'engine_timeout' });
  await vi.advanceTimersByTimeAsync(30_000);
  await refused;
});

test('inputs are not kept after one that is refused, whether or not the events are read', async () => {
  const { begin } = open();
  const { inputs, say, until, events } = begin();
  say('This waits for its reader.');
  await until('audio');
  say(...Array.from({ length: 60 }, () => 'word '.repeat(1_000)));
  await expect.poll(() => inputs.isEnded).toBe(true);
  await expect(Array.fromAsync(events)).rejects.toMatchObject({ reason: 'rate_limit_exceeded' });
});

test('a turn that is spoken is not looked at all the time, though nothing is to wait for more text', async () => {
  const { begin } = open();
  const { say, until } = begin({ buffer_ms: 0 });
  say('This waits for its reader. And this too. ');
  await until('audio');
  const timers = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => void timers.mockRestore());
  say('So it goes on. ');
  await sleep(300);
  expect(timers.mock.calls.filter(([, delayMs]) => delayMs === 0)).toHaveLength(1);
});

test('other tasks run while a long text is divided', async () => {
  const { begin } = open();
  const { inputs, say, until } = begin();
  say('5 ft. '.repeat(3_000));
  inputs.push({ type: 'interrupt' });
  expect(await countTurns(() => until('interrupted'))).toBeGreaterThan(10);
});

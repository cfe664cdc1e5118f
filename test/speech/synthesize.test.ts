// The heart, through `streamSpeech` and `synthesizeSpeech`, with the tone engine: order, whole sound, seams, words,
// failures, leaving, back-pressure.
import { afterEach, describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors.ts';
import type { SpeechEvent } from '../../src/speech/outbox.ts';
import { parseSpeechRequest } from '../../src/speech/request.ts';
import { createSlots } from '../../src/speech/slots.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openTone, type ToneOptions } from '../engines/tone-engine.ts';

const caller = { callerId: 'test' };
const never = new AbortController().signal;

function open(options: ToneOptions = {}) {
  const tone = openTone(options);
  const slots = createSlots({ speakingMax: 4, waitingMax: 4 });
  const speech = createSpeech({ voices: createVoices([tone]), slots });
  opened.push(tone);
  const stream = (fields: object, signal = never) =>
    speech.streamSpeech(parseSpeechRequest({ voice_id: 'tone-low', sample_rate: 24000, ...fields }), caller, signal);
  const whole = (fields: object, signal = never) =>
    speech.synthesizeSpeech(
      parseSpeechRequest({ voice_id: 'tone-low', sample_rate: 24000, ...fields }),
      caller,
      signal,
    );
  return { tone, slots, stream, whole };
}
const opened: ReturnType<typeof openTone>[] = [];
afterEach(async () => {
  for (const tone of opened.splice(0)) await tone.close();
});

const streaming = (...text_chunks: string[]) => ({ method: 'streaming', text_chunks });
const collect = (events: AsyncIterable<SpeechEvent>) => Array.fromAsync(events);
const joined = (events: readonly SpeechEvent[]) =>
  Buffer.concat(events.flatMap((event) => (event.type === 'audio' ? [event.audio] : [])));
const samplesOf = (pcm: Uint8Array) =>
  new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.byteLength));
const sentence = (i: number) => `This one has the number ${i}.`;
const fifty = Array.from({ length: 50 }, (_, i) => sentence(i)).join(' ');

describe('a stream', () => {
  test('is one info, the chunks in order with their sound, and one done', async () => {
    const { stream } = open();
    const events = await collect(stream({ ...streaming('One two.', 'Three four five.'), timestamps: 'word' }));
    const kinds = events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1]);
    expect(kinds).toEqual([
      'info',
      'audio',
      'timestamps',
      'chunk_done',
      'audio',
      'timestamps',
      'chunk_done',
      'audio',
      'done',
    ]);
    const [info] = events;
    expect(info).toMatchObject({
      format: 'wav',
      contentType: 'audio/wav',
      sampleRateHz: 24000,
      chunkCount: 2,
      chars: 24,
      warnings: [],
    });
    const done = events.at(-1);
    expect(done).toMatchObject({ chars: 24, byteCount: joined(events).length });
    const chunks = events.filter((event) => event.type === 'chunk_done');
    expect(chunks.map(({ chunkIndex, chars }) => [chunkIndex, chars])).toEqual([
      [0, 8],
      [1, 16],
    ]);
    expect(chunks[0]!.startSeconds).toBe(0);
    expect(chunks[1]!.startSeconds).toBe(chunks[0]!.endSeconds);
  });

  test('audio ids are unguessable and never the same', async () => {
    const { whole } = open();
    const [a, b] = await Promise.all([whole({ text: 'One.' }), whole({ text: 'One.' })]);
    expect(a.info.audioId).toMatch(/^aud_[0-9A-HJKMNP-TV-Z]{36}$/);
    expect(a.info.audioId).not.toBe(b.info.audioId);
  });

  test.each(['wav', 'pcm', 'mp3'])('of 50 segments is, collected, the same sound in %s', async (output_format) => {
    const { stream, whole, tone } = open({ capabilities: { segmentCharsMax: 30 } });
    const streamed = joined(await collect(stream({ text: fifty, output_format })));
    const collected = await whole({ text: fifty, output_format });
    expect(tone.counts.begun).toBeGreaterThanOrEqual(100);
    const head = output_format === 'wav' ? 44 : 0;
    expect(Buffer.compare(streamed.subarray(head), collected.audio.subarray(head))).toBe(0);
    if (output_format === 'wav') {
      expect(streamed.readUInt32LE(40)).toBe(0xffffffff);
      expect(Buffer.from(collected.audio).readUInt32LE(40)).toBe(collected.audio.length - 44);
    }
  });

  test('has no sample step at a seam that is larger than those inside segments', async () => {
    const { whole } = open({ capabilities: { segmentCharsMax: 30 } });
    const alone = samplesOf((await whole({ text: sentence(1), output_format: 'pcm' })).audio);
    const all = samplesOf((await whole({ text: fifty, output_format: 'pcm' })).audio);
    const largestStep = (samples: Int16Array) =>
      samples.reduce((max, s, i) => Math.max(max, Math.abs(s - (samples[i - 1] ?? s))), 0);
    expect(largestStep(all)).toBeLessThanOrEqual(largestStep(alone) * 1.25);
  });

  test('says every word of the text, in order', async () => {
    const { stream } = open({ capabilities: { segmentCharsMax: 30 } });
    const events = await collect(stream({ text: fifty, timestamps: 'word' }));
    const words = events.flatMap((event) => (event.type === 'timestamps' ? event.words : []));
    expect(
      words
        .map(({ text }) => text)
        .join(' ')
        .match(/\w+/g),
    ).toEqual(fifty.match(/\w+/g));
  });
});

describe('word times', () => {
  test("count code points of the caller's own chunk and never run backwards", async () => {
    const { stream } = open();
    const text = '😀 Naïve “words” — cost $5, or so.';
    const events = await collect(stream({ text, timestamps: 'word' }));
    const [timestamps] = events.filter((event) => event.type === 'timestamps');
    expect(timestamps?.quality).toBe('engine');
    const chars = [...text];
    let last = 0;
    for (const word of timestamps!.words) {
      expect(chars.slice(word.offset, word.offset + word.length).join('')).toBe(word.text);
      expect(word.start).toBeGreaterThanOrEqual(last);
      expect(word.end).toBeGreaterThanOrEqual(word.start);
      last = word.end;
    }
  });

  test('stand where the words are heard, at any speed', async () => {
    for (const speaking_rate of [0.5, 1, 3]) {
      const { stream } = open();
      const events = await collect(
        stream({ text: 'alpha beta', timestamps: 'word', output_format: 'pcm', speaking_rate }),
      );
      const samples = samplesOf(joined(events));
      const words = events.flatMap((event) => (event.type === 'timestamps' ? event.words : []));
      for (const { start, end } of words) {
        const heard = samples.subarray(Math.ceil((start + 0.01) * 24000), Math.floor((end - 0.01) * 24000));
        expect(Math.sqrt(heard.reduce((sum, s) => sum + s * s, 0) / heard.length)).toBeGreaterThan(1500);
      }
    }
  });

  test('are estimated for an engine that gives none, and say so', async () => {
    const { stream } = open({ capabilities: { timings: false } });
    const events = await collect(stream({ text: 'A longer and a shorter one.', timestamps: 'word' }));
    const [timestamps] = events.filter((event) => event.type === 'timestamps');
    const done = events.at(-1);
    expect(timestamps?.quality).toBe('estimated');
    expect(timestamps?.words).toHaveLength(6);
    expect(timestamps?.words.at(-1)?.end).toBeCloseTo(done?.type === 'done' ? done.seconds : 0, 3);
  });
});

describe('what the engine cannot do', () => {
  test.each([0.25, 0.5, 2, 4])(
    'speed %d beyond its range is done by the tempo stage, to the length asked',
    async (speaking_rate) => {
      const { whole, tone } = open({ capabilities: { speakingRates: { min: 1, max: 1 } } });
      const normal = await whole({ text: fifty.slice(0, 200) });
      const changed = await whole({ text: fifty.slice(0, 200), speaking_rate });
      expect(tone.segments.every((segment) => segment.speakingRate === 1)).toBe(true);
      expect((changed.seconds * speaking_rate) / normal.seconds).toBeCloseTo(1, 1);
    },
  );

  test('numbers are spelled out where it does not read them', async () => {
    const { whole, tone } = open({ capabilities: { readsNumbers: false } });
    await whole({ text: 'It cost $19.99.' });
    expect(tone.segments[0]?.text).toMatch(/nineteen dollars/);
  });
});

describe('odd text', () => {
  test.each(['😀🎉', '...', '!?', '—'])('%s is a short silence, with a warning', async (text) => {
    const { whole } = open();
    const { info, seconds, audio } = await whole({ text, output_format: 'pcm' });
    expect(info.warnings).toEqual(['nothing_spoken']);
    expect(seconds).toBeCloseTo(0.25, 2);
    expect(samplesOf(audio).every((sample) => sample === 0)).toBe(true);
  });

  test('a chunk with nothing to say is done at once, and the info still comes first', async () => {
    const { stream } = open();
    const events = await collect(stream(streaming('🎉', 'Hello.', '...')));
    expect(events[0]?.type).toBe('info');
    expect(events.filter(({ type }) => type === 'chunk_done')).toHaveLength(3);
  });

  test('a foreign word is spoken, with a warning; a foreign text is refused with its script named', async () => {
    const { whole, stream } = open();
    expect((await whole({ text: 'The word мир means peace.' })).info.warnings).toEqual(['transliterated']);
    const refused = await collect(stream({ text: 'Это русский текст, а не английский.' })).catch((error) => error);
    expect(refused.reason).toBe('invalid_request');
    expect(refused.facts.details[0]).toMatchObject({ field: 'text', reason: 'unsupported_text' });
    expect(refused.facts.details[0].message).toContain('Cyrillic');
  });

  test('a language that the voice does not speak is refused with those it does', async () => {
    const { whole } = open();
    const refused = await whole({ text: 'Bonjour.', language_code: 'fr-FR' }).catch((error) => error);
    expect(refused.facts.details[0]).toMatchObject({ field: 'language_code', reason: 'unsupported_language' });
    expect(refused.facts.details[0].message).toContain('en, de');
  });
});

describe('failure', () => {
  test('before the first sound: nothing has left', async () => {
    const { stream, slots } = open({ trouble: { failsAfterSegments: 0 } });
    const seen: SpeechEvent[] = [];
    const read = async () => {
      for await (const event of stream({ text: 'Hello.' })) seen.push(event);
    };
    await expect(read()).rejects.toThrow(Failure);
    expect(seen).toEqual([]);
    expect(slots.speaking).toBe(0);
  });

  test('after two segments: the sound before it has left, and the stream ends in the failure, never cleanly', async () => {
    const { stream, slots, tone } = open({ trouble: { failsAfterSegments: 2 }, capabilities: { segmentCharsMax: 30 } });
    const seen: SpeechEvent[] = [];
    const read = async () => {
      for await (const event of stream({ text: fifty })) seen.push(event);
    };
    await expect(read()).rejects.toMatchObject({ reason: 'engine_error' });
    expect(joined(seen).length).toBeGreaterThan(44);
    expect(seen.some(({ type }) => type === 'done')).toBe(false);
    expect([slots.speaking, tone.counts.running]).toEqual([0, 0]);
  });
});

describe('leaving', () => {
  test('a reader that returns stops the engine and frees the slot', async () => {
    const { stream, slots, tone } = open({ capabilities: { segmentCharsMax: 30 } });
    for await (const event of stream({ text: fifty })) if (event.type === 'audio') break;
    expect(slots.speaking).toBe(0);
    await expect.poll(() => tone.counts.running).toBe(0);
  });

  test("an abort while the engine hangs ends the stream with the signal's reason", async () => {
    const { stream, slots, tone } = open({ trouble: { hangsAfterPieces: 1 } });
    const leaving = new AbortController();
    const reading = collect(stream({ text: fifty }, leaving.signal));
    setTimeout(() => leaving.abort(new Error('gone')), 20);
    await expect(reading).rejects.toThrow('gone');
    expect(slots.speaking).toBe(0);
    await expect.poll(() => tone.counts.running).toBe(0);
  });

  test('an abort frees the slot even of a reader that has stopped reading', async () => {
    const { stream, slots } = open();
    const leaving = new AbortController();
    const events = stream({ text: fifty }, leaving.signal);
    await events.next();
    expect(slots.speaking).toBe(1);
    leaving.abort(new Error('gone'));
    expect(slots.speaking).toBe(0);
    await expect(collect(events)).rejects.toThrow('gone');
  });
});

test('a reader that stops, stops the engine', async () => {
  const { stream, tone } = open({ capabilities: { segmentCharsMax: 30 } });
  const events = stream({ text: fifty });
  await events.next();
  await events.next();
  const { begun, pieces } = tone.counts;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(tone.counts.begun).toBe(begun);
  expect(tone.counts.pieces - pieces).toBeLessThanOrEqual(1);
  expect(begun).toBeLessThanOrEqual(2);
  await events.return();
});

test('100 requests at once each give exactly what they give alone', async () => {
  const tone = openTone({ capabilities: { segmentCharsMax: 30 } });
  const slots = createSlots({ speakingMax: 100, waitingMax: 0 });
  const speech = createSpeech({ voices: createVoices([tone]), slots });
  const say = (i: number) =>
    speech.synthesizeSpeech(
      parseSpeechRequest({ voice_id: 'tone-low', sample_rate: 24000, text: `${i}. ${i * 7}.`, output_format: 'mp3' }),
      caller,
      never,
    );
  const alone: Uint8Array[] = [];
  for (let i = 0; i < 100; i++) alone.push((await say(i)).audio);
  const together = await Promise.all(Array.from({ length: 100 }, (_, i) => say(i)));
  expect(together.filter(({ audio }, i) => Buffer.compare(audio, alone[i]!) !== 0)).toEqual([]);
});

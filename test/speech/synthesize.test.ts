// Tests `streamSpeech` and `synthesizeSpeech` with the tone engine: order, complete audio, seams, words, features that
// an engine lacks, odd text.
import { describe, expect, test } from 'vitest';
import { formatNames } from '../../src/speech/fields.ts';
import { countTurns } from '../count-turns.ts';
import { collect, fifty, joined, openSpeech as open, samplesOf, sentence, streaming } from './open-speech.ts';

describe('a stream', () => {
  // Opus is slow, and has a separate test for audio in pieces.
  test.each(formatNames.filter((name) => name !== 'opus'))(
    'of 50 segments is, collected, the same sound in %s',
    async (output_format) => {
      const { stream, whole, tone } = open({ capabilities: { segmentCharsMax: 30 } });
      const streamed = joined(await collect(stream({ text: fifty, output_format })));
      const collected = await whole({ text: fifty, output_format });
      expect(tone.counts.begun).toBeGreaterThanOrEqual(100);
      const head = { wav: 44, flac: 42, pcm: 0, mp3: 0, opus: 0 }[output_format];
      expect(Buffer.compare(streamed.subarray(head), collected.audio.subarray(head))).toBe(0);
      if (output_format === 'wav') {
        expect(streamed.readUInt32LE(40)).toBe(0xffffffff);
        expect(Buffer.from(collected.audio).readUInt32LE(40)).toBe(collected.audio.length - 44);
      }
    },
  );

  test('has no sample step at a seam that is larger than those inside segments', async () => {
    const { whole } = open({ capabilities: { segmentCharsMax: 30 } });
    const alone = samplesOf((await whole({ text: sentence(1), output_format: 'pcm' })).audio);
    const all = samplesOf((await whole({ text: fifty, output_format: 'pcm' })).audio);
    const largestStep = (samples: Int16Array) =>
      samples.reduce((max, s, i) => Math.max(max, Math.abs(s - (samples[i - 1] ?? s))), 0);
    expect(largestStep(all)).toBeLessThanOrEqual(largestStep(alone) * 1.25);
  });

  test.each([1, 2, 3])(
    'of an engine that wants %d segments in the works says all of the text',
    async (segmentsAtOnce) => {
      const { whole, tone } = open({ capabilities: { segmentCharsMax: 30, segmentsAtOnce } });
      await whole({ text: fifty });
      expect(tone.segments.map(({ text }) => text).join(' ')).toBe(fifty);
    },
  );

  test('begins with a short segment, and only that one is urgent', async () => {
    const { whole, tone } = open();
    await whole({ text: fifty, return_format: 'buffer' });
    expect(tone.segments[0]!.text.length).toBeLessThanOrEqual(60);
    expect(tone.segments).toHaveLength(50);
    expect(tone.segments.map(({ urgent }) => urgent)).toEqual(tone.segments.map((_, i) => i === 0));
  });

  test('comes in pieces of 32 KiB at most, and few small ones', async () => {
    const { stream } = open();
    const events = await collect(stream({ text: fifty, output_format: 'mp3' }));
    const sizes = events.flatMap((event) => (event.type === 'audio' ? [event.audio.length] : []));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(32 * 1024);
    expect(sizes.length).toBeLessThan(joined(events).length / 4000);
  });

  test('of 50 headings lets the event loop go on at each of them', async () => {
    const { stream, tone } = open();
    const turns = await countTurns(() => collect(stream({ text: '# a\n'.repeat(50) })));
    expect(tone.counts.begun).toBe(50);
    expect(turns).toBeGreaterThanOrEqual(50);
  });
});

describe('word times', () => {
  test('stand where the words are heard, at any speed', async () => {
    for (const speaking_rate of [0.5, 1, 3]) {
      const { stream } = open();
      const events = await collect(
        stream({ text: 'alpha beta', timestamps: 'word', output_format: 'pcm', speaking_rate }),
      );
      const samples = samplesOf(joined(events));
      const words = events.flatMap((event) => (event.type === 'timestamps' ? event.words : []));
      for (const { startSeconds: start, endSeconds: end } of words) {
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
    const left = (done?.type === 'done' ? done.seconds : 0) - timestamps!.words.at(-1)!.endSeconds;
    expect(left, 'none is told to be heard in the silence at the end').toBeGreaterThan(0.05);
    expect(left).toBeLessThan(0.14);
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
      expect((changed.audio.length * speaking_rate) / normal.audio.length).toBeCloseTo(1, 1);
      expect(changed.seconds).toBeCloseTo((changed.audio.length - 44) / 2 / 24000, 3);
    },
  );
});

describe('odd text', () => {
  test.each(['😀🎉', '...', '!?', '—'])('%s is a short silence, with a warning', async (text) => {
    const { whole } = open();
    const { info, seconds, audio } = await whole({ text, output_format: 'pcm' });
    expect(info.warnings).toEqual(['nothing_spoken']);
    expect(seconds).toBeCloseTo(0.25, 2);
    expect(samplesOf(audio).every((sample) => sample === 0)).toBe(true);
  });

  test('a stream of nothing but such chunks ends each of them, with the silence in the last', async () => {
    const { stream } = open();
    const events = await collect(stream({ ...streaming('🎉', '...'), speaking_rate: 4 }));
    expect(events.map(({ type }) => type)).toEqual(['info', 'chunk_done', 'audio', 'chunk_done', 'done']);
    expect(events.at(-2)).toMatchObject({ chunkIndex: 1, startSeconds: 0, endSeconds: 0.25 });
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

test('audio at a rate that cannot be converted is a failure of the engine', async () => {
  const { whole } = open({ sampleRateHz: 44_101 });
  await expect(whole({ text: 'Hello there.' })).rejects.toMatchObject({ reason: 'engine_error' });
});

// Tests the owner's specification of the synthesis request, its results and its endpoints, row by row and rule by rule,
// over REST. Each test is named after its row. The rows are counted, so no test can be missing.
import { afterAll, expect, test } from 'vitest';
import { eventsIn, readEvents, soundIn } from '../transports/http/event-reader.ts';
import { bytesOf } from '../transports/http/open-gateway.ts';
import { failureFrom, openSpec, rateOf } from './open-spec.ts';

const rowCount = 26;

const { gateway, speak, send, text, chunks, sse, link, buffer, faultsOf } = await openSpec(afterAll);

const proofs: Record<string, () => Promise<void>> = {
  'Request: voice_id': async () => {
    expect(await faultsOf({ text, voice_id: undefined })).toEqual(['voice_id required']);
    expect(await faultsOf({ text, voice_id: 5 })).toEqual(['voice_id type']);
    expect(await faultsOf({ text, voice_id: '' })).toEqual(['voice_id length']);
    const unknown = await speak({ text, voice_id: 'nobody' });
    expect([unknown.status, (await failureFrom(unknown)).error]).toEqual([404, 'voice_not_found']);
  },
  'Request: text': async () => {
    expect(await faultsOf({})).toEqual(['text required']);
    expect(await faultsOf({ text: null })).toEqual(['text required']);
    expect(await faultsOf({ text: ['a'] })).toEqual(['text type']);
    expect(await faultsOf({ text: ' \n' })).toEqual(['text blank']);
  },
  'Request: text_chunks': async () => {
    expect(await faultsOf({ method: 'streaming' })).toEqual(['text_chunks required']);
    expect(await faultsOf({ method: 'streaming', text_chunks: 'a' })).toEqual(['text_chunks type']);
    expect(await faultsOf({ method: 'streaming', text_chunks: [] })).toEqual(['text_chunks required']);
    expect(await faultsOf({ method: 'streaming', text_chunks: ['a', 5, ''] })).toEqual([
      'text_chunks[1] type',
      'text_chunks[2] blank',
    ]);
    expect(await faultsOf({ method: 'streaming', text_chunks: Array(201).fill('a') })).toEqual([
      'text_chunks too_long',
    ]);
    expect(await faultsOf({ method: 'streaming', text_chunks: Array(11).fill('x'.repeat(4999)) })).toEqual([
      'text_chunks too_long',
    ]);
  },
  'Request: sample_rate': async () => {
    for (const sample_rate of ['44100', 22050, 0, 44100.5, true]) {
      expect(await faultsOf({ text, sample_rate })).toEqual(['sample_rate enum']);
    }
    expect((await buffer()).headers.get('X-Sample-Rate')).toBe('44100');
    expect((await buffer({ sample_rate: null })).headers.get('X-Sample-Rate')).toBe('44100');
    expect((await buffer({ sample_rate: 24000 })).audio.readUInt32LE(24)).toBe(24000);
  },
  'Request: language_code': async () => {
    expect(await faultsOf({ text, language_code: 'en_US!' })).toEqual(['language_code format']);
    expect(await faultsOf({ text, language_code: 7 })).toEqual(['language_code type']);
    expect(await faultsOf({ text, language_code: 'fr-FR' })).toEqual(['language_code unsupported_language']);
    const spoken = () => gateway.tone.segments.at(-1)!.languageCode;
    await buffer({ text: 'By default.' });
    expect(spoken()).toBe('en-US');
    await buffer({ text: 'Auf Deutsch.', language_code: 'de-AT' });
    expect(spoken()).toBe('de-AT');
  },
  'Request: method': async () => {
    expect(await faultsOf({ text, method: 'REST' })).toEqual(['method enum']);
    expect((await link({})).method).toBe('rest');
    expect((await link({ method: 'rest' })).method).toBe('rest');
    const streamed = await speak(chunks);
    expect(streamed.headers.get('X-Method')).toBe('streaming');
    await streamed.arrayBuffer();
  },
  'Request: return_format': async () => {
    expect(await faultsOf({ text, return_format: 'base64' })).toEqual(['return_format enum']);
    expect((await link({})).audio_url).toBeDefined();
    expect((await link({ return_format: 'url' })).audio_url).toBeDefined();
    expect((await buffer()).audio.toString('latin1', 0, 4)).toBe('RIFF');
  },
  'Request: output_format': async () => {
    expect(await faultsOf({ text, output_format: 'ogg' })).toEqual(['output_format enum']);
    const { audio: wav } = await buffer();
    const { audio: pcm } = await buffer({ output_format: 'pcm' });
    const { audio: mp3 } = await buffer({ output_format: 'mp3' });
    expect(wav.toString('latin1', 8, 16)).toBe('WAVEfmt ');
    expect(wav.subarray(44).equals(pcm)).toBe(true);
    expect(mp3.readUInt16BE(0) & 0xffe0).toBe(0xffe0);
  },
  'Request: speaking_rate': async () => {
    const seconds = async (fields: object) => Number((await buffer(fields)).headers.get('X-Audio-Duration'));
    const normal = await seconds({});
    expect(await seconds({ speaking_rate: 1.0 })).toBe(normal);
    // The silence before and after the speech always has the same length.
    const spoken = normal - 0.16;
    for (const rate of [0.25, 2, 4])
      expect(Math.abs((await seconds({ speaking_rate: rate })) - 0.16 - spoken / rate)).toBeLessThan(0.1);
    for (const speaking_rate of [0.24, 4.01, 0, -1])
      expect(await faultsOf({ text, speaking_rate })).toEqual(['speaking_rate range']);
    expect(await faultsOf({ text, speaking_rate: '1.0' })).toEqual(['speaking_rate type']);
  },
  'URL-mode result: status': async () => expect((await link({})).status).toBe('success'),
  'URL-mode result: audio_url': async () => {
    const { audio_url } = await link({ output_format: 'mp3' });
    expect(new URL(String(audio_url)).href).toBe(audio_url);
    const answer = await fetch(gateway.here(String(audio_url)));
    expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'audio/mpeg']);
  },
  'URL-mode result: voice_name': async () => expect((await link({})).voice_name).toBe('Tone, low'),
  'URL-mode result: method': async () => expect((await link({})).method).toBe('rest'),
  'URL-mode result: chars': async () => {
    expect((await link({})).chars).toBe(19);
    expect((await link({ text: 'Ça va? 😀' })).chars).toBe(8);
  },
  'URL-mode result: format': async () => {
    for (const format of ['wav', 'pcm', 'mp3']) expect((await link({ output_format: format })).format).toBe(format);
  },
  'POST /api/audio/speech: takes X-API-Key and application/json': async () => {
    const answer = await fetch(`${gateway.url}/api/audio/speech`, {
      method: 'POST',
      headers: { 'X-API-Key': gateway.key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ voice_id: 'tone-low', text }),
    });
    expect(answer.status).toBe(200);
    const form = await fetch(`${gateway.url}/api/audio/speech`, {
      method: 'POST',
      headers: { 'X-API-Key': gateway.key, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'voice_id=tone-low&text=Hello',
    });
    expect([form.status, (await failureFrom(form)).error]).toEqual([415, 'unsupported_media_type']);
  },
  'POST /api/audio/speech 1: rest is the default, carries text, and depends on return_format': async () => {
    expect((await link({})).method).toBe('rest');
    expect((await buffer()).headers.get('X-Method')).toBe('rest');
    expect(await faultsOf({ text, text_chunks: ['a'] })).toEqual(['text_chunks conflict']);
  },
  'POST /api/audio/speech 2: url is the default and answers with the JSON result': async () => {
    const answer = await speak({ text });
    expect(answer.headers.get('Content-Type')).toMatch(/^application\/json/);
    expect(await failureFrom(answer)).toEqual({
      status: 'success',
      audio_url: expect.stringMatching(/^http:\/\/sonant\.test\/audio\/aud_[0-9A-Z]+\.wav$/),
      voice_name: 'Tone, low',
      method: 'rest',
      chars: 19,
      format: 'wav',
    });
  },
  'POST /api/audio/speech 3: buffer, Content-Type': async () => {
    for (const [output_format, type] of [
      ['wav', 'audio/wav'],
      ['pcm', 'audio/pcm'],
      ['mp3', 'audio/mpeg'],
    ] as const) {
      expect((await buffer({ output_format })).headers.get('Content-Type')).toBe(type);
    }
  },
  'POST /api/audio/speech 3: buffer, Content-Disposition': async () => {
    for (const format of ['wav', 'pcm', 'mp3']) {
      const { headers } = await buffer({ output_format: format });
      expect(headers.get('Content-Disposition')).toBe(`attachment; filename=${headers.get('X-Audio-Id')}.${format}`);
    }
  },
  'POST /api/audio/speech 3: buffer, X-Voice': async () => {
    const { headers } = await buffer();
    expect([headers.get('X-Voice'), headers.get('X-Voice-Encoding')]).toEqual(['Tone, low', null]);
  },
  'POST /api/audio/speech 3: buffer, X-Method': async () =>
    expect((await buffer()).headers.get('X-Method')).toBe('rest'),
  'POST /api/audio/speech 3: buffer, X-Chars': async () => {
    expect((await buffer()).headers.get('X-Chars')).toBe('19');
    expect((await buffer({ text: 'Ça va? 😀' })).headers.get('X-Chars')).toBe('8');
  },
  'POST /api/audio/speech 3: buffer, X-Format': async () => {
    for (const format of ['wav', 'pcm', 'mp3'])
      expect((await buffer({ output_format: format })).headers.get('X-Format')).toBe(format);
  },
  'POST /api/audio/speech 4: streaming carries text_chunks instead of text': async () => {
    const answer = await speak(chunks);
    expect([answer.status, answer.headers.get('Content-Type'), answer.headers.get('X-Chars')]).toEqual([
      200,
      'audio/wav',
      '18',
    ]);
    expect((await bytesOf(answer)).toString('latin1', 0, 4)).toBe('RIFF');
    expect(await faultsOf({ ...chunks, text })).toEqual(['text conflict']);
    expect(await faultsOf({ method: 'streaming', text })).toEqual(['text_chunks required', 'text conflict']);
  },
  '/api/audio/speech/sse: speaks as Server-Sent Events': async () => {
    const answer = await send(sse, { body: { voice_id: 'tone-low', ...chunks, output_format: 'pcm' } });
    expect(answer.headers.get('Content-Type')).toBe('text/event-stream');
    const events = await readEvents(answer);
    expect([events[0]!.event, events.at(-1)!.event]).toEqual(['speech.audio.info', 'speech.audio.done']);
    const { duration } = events.at(-1)!.data as unknown as { duration: number };
    expect(rateOf(soundIn(events), duration)).toBeCloseTo(44100, -1);
    expect(eventsIn(': keepalive\n\n')).toEqual([]);
  },
};

test.each(Object.entries(proofs))('%s', (_, prove) => prove());

test('no row is missing', () => {
  expect(Object.keys(proofs)).toHaveLength(rowCount);
});

// Tests a clone from creation to deletion, over REST and gRPC, in the running service: recordings, consent, speech in
// every mode and format, and withdrawn consent. The clone's data never appears in anything readable.
import { afterAll, describe, expect, test } from 'vitest';
import { VoiceKind, VoiceStatus } from '../../gen/sonant/v1/voice_pb.ts';
import { createVoiceRows } from '../../src/library/voices/voice-rows.ts';
import { cloneMark } from '../engines/tone-engine.ts';
import { eventsIn, soundIn } from '../transports/http/event-reader.ts';
import { explain, failureOf } from '../transports/rpc/grpc-client.ts';
import { openCloning } from './open-cloning.ts';

const { url, key, makeKey, grpc, request, send, speak, form, reference, consent, logged, written, kept } =
  await openCloning(afterAll);
const { places, holders, inStore, sealedClones } = kept;
const { voices, speech, call } = grpc;

test('the cloning requirements are listed', async () => {
  const { body } = await send('GET', '/api/cloning');
  expect(body.engines).toEqual([
    {
      ...{ engine: 'cloner', sample_language_codes: ['en', 'de'], sample_seconds: { min: 2, max: 30 } },
      ...{ needs_reference_text: false, consent_scripts: { 'en-US': 'I agree that my voice becomes tones.' } },
    },
  ]);
});

describe('by REST', () => {
  let voiceId: string;
  let audioUrl: string;
  let sealed: Uint8Array[];
  const fields = (more: object) => ({ voice_id: voiceId, ...more });
  const text = 'Good evening to all who are listening.';

  test('a person who consents becomes a voice', async () => {
    const { status, body, headers } = await send('POST', '/api/voices', form());
    expect([status, body.details]).toEqual([201, undefined]);
    voiceId = body.voice_id;
    expect(headers.get('Location')).toBe(`${url}/api/voices/${voiceId}`);
    expect(body).toMatchObject({
      ...{ name: 'Ada', kind: 'cloned', engine: 'cloner', status: 'ready', labels: { mood: 'calm' } },
      ...{ language_codes: ['en-US', 'en'], bindings: [{ engine: 'cloner', voice_id: null }] },
      consent: {
        ...{ speaker_name: 'Ada L.', statement: 'I agree that my voice becomes tones.', language_code: 'en-US' },
        ...{ audio_sha256: expect.stringMatching(/^[0-9a-f]{64}$/), confirmed_by: expect.stringMatching(/^key:key_/) },
        revoked_at: null,
      },
      ...{ owner: 'self', access: 'private' },
    });
    const other = await makeKey(['voices:read']);
    const asked = await send('GET', `/api/voices/${voiceId}`, undefined, other);
    expect(asked.status, 'for another account').toBe(404);
    sealed = await sealedClones(voiceId);
    expect(sealed.length).toBe(1);
    expect(await holders(sealed[0]!)).not.toEqual([]);
  });

  test.each(['wav', 'pcm', 'mp3', 'opus', 'flac'])(
    'it speaks, whole and streamed and as events, as %s',
    async (output_format) => {
      for (const sample_rate of [24000, 44100, 48000]) {
        const request = fields({ output_format, sample_rate });
        const whole = await speak({ ...request, text, return_format: 'buffer' });
        expect([whole.status, whole.headers.get('X-Voice')]).toEqual([200, 'Ada']);
        const link = await speak({ ...request, text });
        audioUrl = link.body.audio_url;
        expect((await send('GET', new URL(audioUrl).pathname)).bytes.equals(whole.bytes)).toBe(true);
        const streamed = await speak({ ...request, method: 'streaming', text_chunks: [text] });
        const { bytes: events } = await send('POST', '/api/audio/speech/sse', { ...request, text_chunks: [text] });
        expect(soundIn(eventsIn(events.toString())).equals(streamed.bytes)).toBe(true);
        if (output_format === 'pcm') expect(streamed.bytes.equals(whole.bytes)).toBe(true);
      }
    },
  );

  test('it has a preview, and sounds like its person: no other voice does', async () => {
    expect((await send('GET', `/api/voices/${voiceId}/preview`)).headers.get('content-type')).toBe('audio/mpeg');
    const mine = await speak(fields({ text, output_format: 'pcm', return_format: 'buffer' }));
    const other = await speak({ voice_id: 'cloner-low', text, output_format: 'pcm', return_format: 'buffer' });
    expect(mine.bytes.equals(other.bytes)).toBe(false);
  });

  test('after consent is withdrawn, speech stops in the middle of a word and the voice is removed everywhere', async () => {
    const long = Array(60).fill(text);
    const body = fields({ method: 'streaming', text_chunks: long, output_format: 'wav' });
    const streaming = await request('POST', '/api/audio/speech', body);
    const reader = streaming.body!.getReader();
    await reader.read();
    const events = await request('POST', '/api/audio/speech/sse', fields({ text_chunks: long }));
    const revoked = await send('POST', `/api/voices/${voiceId}/consent/revoke`);
    expect(revoked.body).toMatchObject({ status: 'consent_revoked', consent: { revoked_at: expect.any(String) } });
    const rest = (async () => {
      while (!(await reader.read()).done);
    })();
    await expect(rest).rejects.toThrow();
    const last = eventsIn(await events.text()).at(-1)!;
    expect([last.event, last.data.error]).toEqual(['error', 'voice_not_ready']);

    for (const body of [{ text }, { text, return_format: 'buffer' }, { method: 'streaming', text_chunks: [text] }]) {
      const refused = await speak(fields(body));
      expect([refused.status, refused.body.error]).toEqual([409, 'voice_not_ready']);
    }
    expect((await send('GET', new URL(audioUrl).pathname)).status).toBe(410);
    const resumed = await send('GET', `/api/audio/speech/sse/${last.id.split(':')[0]}`);
    expect([resumed.status, resumed.body.error]).toEqual([410, 'stream_expired']);
    expect(await sealedClones(voiceId)).toEqual([]);
    expect(await holders(sealed[0]!.subarray(0, 32)), 'what was sealed is gone from the disk').toEqual([]);
    // Audio of other voices still exists: the two recordings, and the reference for comparison.
    await expect.poll(async () => (await places()).filter((place) => place.includes('/aud_')).length).toBe(3);
    expect((await send('POST', `/api/voices/${voiceId}/consent/revoke`)).status).toBe(200);
    expect((await send('PATCH', `/api/voices/${voiceId}`, { enabled: true })).status).toBe(409);
  });

  test('a clone needs recordings of consent and of speech, and every fault is reported', async () => {
    const noise = new Blob([new Uint8Array(40_000)]);
    for (const [fields, faults] of [
      [{ consent_audio: undefined }, ['consent_audio']],
      [{ consent_audio: reference }, ['consent_audio']],
      [{ voice_id: 'arthur', name: '', consent_audio: new Blob(['hello']) }, ['name', 'voice_id', 'consent_audio']],
      [{ reference_audio: undefined, name: undefined, speaker_name: '' }, ['name', 'reference_audio', 'speaker_name']],
      [{ reference_audio: noise, consent_audio: new Blob(['hello']) }, ['reference_audio', 'consent_audio']],
      [{ language_code: 'fr-FR' }, ['language_code']],
      [{ consent_script: 'Whatever.' }, ['consent_script']],
      [{ engines: 'flite,nobody' }, ['engines', 'engines']],
      [{ labels: '[1]' }, ['labels']],
      [{ voice_id: 'arthur' }, ['voice_id']],
    ] as const) {
      const { status, body } = await send('POST', '/api/voices', form(fields));
      const named = body.details?.map(({ field }: { field: string }) => field);
      expect([status, body.error, named]).toEqual([400, 'invalid_request', faults]);
    }
  });

  test('a malformed form, one that is too large or has too many parts is refused', async () => {
    const sendRaw = async (body: string, type: string, path = '/api/voices') => {
      const headers = { 'X-API-Key': key, 'Content-Type': type };
      const answer = await fetch(url + path, { method: 'POST', headers, body });
      return [answer.status, ((await answer.json()) as { error: string }).error];
    };
    expect(await sendRaw('--x\r\nnonsense', 'multipart/form-data; boundary=x')).toEqual([400, 'invalid_request']);
    expect(await sendRaw('hello', 'multipart/form-data')).toEqual([400, 'invalid_request']);
    expect(await sendRaw('hello', 'text/plain')).toEqual([415, 'unsupported_media_type']);
    expect(await sendRaw('name=Ada', 'application/x-www-form-urlencoded')).toEqual([415, 'unsupported_media_type']);
    expect(await sendRaw('{}', 'application/json', '/api/cloning')).toEqual([415, 'unsupported_media_type']);
    const huge = form({ reference_audio: new Blob([new Uint8Array(26 << 20)]) });
    expect(await send('POST', '/api/voices', huge)).toMatchObject({ status: 413, body: { limit: 25 << 20 } });
    const many = form();
    for (let i = 0; i < 50; i++) many.append(`more${i}`, 'x');
    expect((await send('POST', '/api/voices', many)).status).toBe(400);
  });
});

describe('by gRPC', () => {
  test('the same: cloned, heard, deleted, and nothing is left', async () => {
    const bytesOf = async (blob: Blob) => new Uint8Array(await blob.arrayBuffer());
    const recordings = { referenceAudio: await bytesOf(reference), consentAudio: await bytesOf(consent) };
    const person = { voiceId: 'bert', name: 'Bert', languageCode: 'en-US', speakerName: 'Bert B.' };
    const { voice } = await voices.unary('cloneVoice', { ...person, ...recordings }, call);
    expect(voice).toMatchObject({ voiceId: 'bert', kind: VoiceKind.CLONED, status: VoiceStatus.READY });
    const [sealed] = await sealedClones('bert');

    const spoken = await speech.unary('synthesizeSpeech', { voiceId: 'bert', text: 'Hello.' }, call);
    expect(spoken.voiceName).toBe('Bert');
    const stream = speech.stream(
      'streamSpeech',
      { voiceId: 'bert', textChunks: Array(60).fill('Good evening to all who are listening.') },
      call,
    );
    const end = new Promise((resolve) => stream.once('error', resolve));
    await new Promise((resolve) => stream.once('data', resolve));
    stream.pause();
    await voices.unary('deleteVoice', { voiceId: 'bert' }, call);
    stream.resume();
    expect(explain(await end)).toMatchObject({ code: 'FAILED_PRECONDITION', info: { reason: 'VOICE_NOT_READY' } });
    const audioUrl = (spoken.audio as { value: string }).value;
    expect((await send('GET', new URL(audioUrl).pathname)).status).toBe(410);
    const gone = await failureOf(voices.unary('getVoice', { voiceId: 'bert' }, call));
    expect(explain(gone).info?.reason).toBe('VOICE_NOT_FOUND');
    expect(await holders(sealed!.subarray(0, 32))).toEqual([]);
  });

  test('larger than it may be is refused, and all else stays as small as it was', async () => {
    const huge = { name: 'X', referenceAudio: new Uint8Array(26 << 20) };
    const tooLarge = explain(await failureOf(voices.unary('cloneVoice', huge, call)));
    expect(tooLarge.info?.reason).toBe('PAYLOAD_TOO_LARGE');
    const wide = { spec: { name: 'x'.repeat(2 << 20) } };
    const alsoTooLarge = explain(await failureOf(voices.unary('createVoice', wide, call)));
    expect(alsoTooLarge.info?.reason).toBe('PAYLOAD_TOO_LARGE');
  });
});

test('the data of a clone appears in no log, reply, metric or file', async () => {
  // The path of the form alone, which generated clients call.
  const { status, headers } = await send('POST', '/api/cloning', form({ voice_id: 'cleo' }));
  expect([status, headers.get('Location')]).toEqual([201, `${url}/api/voices/cleo`]);
  const metrics = await send('GET', '/metrics');
  expect(metrics.bytes.toString()).toContain('sonant_engine_segments_total{engine="cloner",outcome="spoken"}');
  expect(metrics.bytes.toString()).toMatch(
    /^sonant_engine_sound_seconds_total\{engine="cloner",model="[^"]*"\} [0-9]/m,
  );
  expect(logged.length).toBeGreaterThan(20);
  expect(written.length).toBeGreaterThan(40);
  const mark = new RegExp(`${cloneMark}|${Buffer.from(cloneMark).toString('base64').slice(0, -2)}`);
  expect([...logged, ...written].filter((text) => mark.test(text))).toEqual([]);
  expect(await holders(Buffer.from(cloneMark))).toEqual([]);
});

test('the audit record is complete, in order, and tamper-evident', () =>
  inStore(async (store) => {
    const rows = createVoiceRows(store);
    const record = await Array.fromAsync(rows.readRecord());
    expect(record.map(({ action, voiceId }) => [action, voiceId])).toEqual([
      ['clone', expect.stringMatching(/^voc_/)],
      ['revoke_consent', expect.stringMatching(/^voc_/)],
      ['clone', 'bert'],
      ['delete', 'bert'],
      ['clone', 'cleo'],
    ]);
    const { consent: evidence, referenceSha256 } = JSON.parse(record[0]!.detail);
    expect([evidence.speakerName, evidence.audioSha256.length, referenceSha256.length]).toEqual(['Ada L.', 64, 64]);
    expect(record[0]).toMatchObject({ actor: expect.stringMatching(/^key:key_/), address: '127.0.0.1' });
    const entriesUntil = async () => {
      const seen: number[] = [];
      const refused = await (async () => {
        for await (const { entry } of rows.readRecord()) seen.push(entry);
      })().catch((error: Error) => error.message);
      return [seen.length, refused];
    };
    await store.query("update voice_record set detail = '{}' where entry = 3");
    expect(await entriesUntil()).toEqual([2, 'entry 3 of the audit log of voices is missing or was changed']);
    await store.query('delete from voice_record where entry = 2');
    expect(await entriesUntil()).toEqual([1, 'entry 2 of the audit log of voices is missing or was changed']);
  }));

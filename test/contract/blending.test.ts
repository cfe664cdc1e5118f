// Tests a blended voice over REST and gRPC, in the running service: it sounds according to its weights on every API,
// belongs to the account that created it, can be changed and deleted, and fails clearly while a part of it is missing.
import { afterAll, describe, expect, test } from 'vitest';
import { VoiceAccess, VoiceKind, VoiceOwner } from '../../gen/sonant/v1/voice_pb.ts';
import { operator, toRecordEntry } from '../../src/accounts/keys/caller.ts';
import { createVoiceRows, noTexts } from '../../src/library/voices/voice-rows.ts';
import { dominantFrequencyHz } from '../audio/measure-tone.ts';
import { eventsIn, soundIn } from '../transports/http/event-reader.ts';
import { explain, failureOf } from '../transports/rpc/grpc-client.ts';
import { openCloning } from './open-cloning.ts';

const { url, makeKey, grpc, send, speak, form, kept } = await openCloning(afterAll);
const { voices, speech, call } = grpc;

const text = 'Harbour';
const pcm = { output_format: 'pcm', sample_rate: 24_000 } as const;
const low = 'cloner-low';
const high = 'cloner-high';
const parts = (...weights: readonly [voice_id: string, weight: number][]) =>
  weights.map(([voice_id, weight]) => ({ voice_id, weight }));
const make = (voice_id: string, more: object = {}) =>
  send('POST', '/api/voices', { voice_id, name: 'Between', blend: parts([low, 1], [high, 3]), ...more });
const hzOf = (bytes: Uint8Array) => {
  const { buffer, byteOffset, length } = bytes;
  return dominantFrequencyHz(new Int16Array(buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer), 24_000);
};
const say = async (voice_id: string) => (await speak({ voice_id, text, ...pcm, return_format: 'buffer' })).bytes;
/** The high voice is a fifth above the low one. */
const pitchOf = async (bytes: Uint8Array) => hzOf(bytes) / hzOf(await say(low));

describe('a blend', () => {
  test('is made, listed, played, and heard at its weights in every mode', async () => {
    const { status, body, headers } = await make('between');
    expect([status, body.details]).toEqual([201, undefined]);
    expect(headers.get('Location')).toBe(`${url}/api/voices/between`);
    expect(body).toMatchObject({
      ...{ voice_id: 'between', name: 'Between', kind: 'stock', engine: 'cloner', status: 'ready' },
      ...{ language_codes: ['en'], blend: parts([low, 0.25], [high, 0.75]), consent: null },
      ...{ bindings: [{ engine: 'cloner', voice_id: null }], owner: 'self', access: 'private' },
    });
    expect((await send('GET', '/api/voices/between')).body).toEqual(body);
    expect((await send('GET', '/api/voices?text=between')).body.voices).toEqual([body]);
    expect((await send('GET', `/api/voices/${low}`)).body.blend).toBeNull();
    const preview = await send('GET', '/api/voices/between/preview');
    expect([preview.status, preview.headers.get('Content-Type')]).toEqual([200, 'audio/mpeg']);

    const whole = await say('between');
    expect(await pitchOf(whole)).toBeCloseTo(1.15, 2);
    const chunks = { voice_id: 'between', text_chunks: [text], ...pcm };
    const streamed = await speak({ ...chunks, method: 'streaming' });
    const { bytes: events } = await send('POST', '/api/audio/speech/sse', chunks);
    const link = await speak({ voice_id: 'between', text, ...pcm });
    const facade = await send('POST', '/v1/audio/speech', { voice: 'between', input: text, response_format: 'pcm' });
    const sounds = [
      streamed.bytes,
      soundIn(eventsIn(events.toString())),
      (await send('GET', new URL(link.body.audio_url).pathname)).bytes,
      facade.bytes,
    ];
    for (const each of sounds) expect(each.equals(whole)).toBe(true);
  });

  test('is private unless it is shared, changes its parts, and is deleted', async () => {
    const other = await makeKey(['voices:read', 'voices:write', 'speech:synthesize']);
    const as = async (method = 'GET') => (await send(method, '/api/voices/mine', undefined, other)).status;
    await make('mine');
    expect(await as()).toBe(404);
    expect((await send('PATCH', '/api/voices/mine', { access: 'everyone' })).body.access).toBe('everyone');
    expect(await as()).toBe(200);
    expect(await as('DELETE')).toBe(403);
    expect((await make('shared', { access: 'everyone' })).body.access).toBe('everyone');

    const before = await say('mine');
    const blend = parts([low, 0], [high, 5]);
    expect((await send('PATCH', '/api/voices/mine', { blend })).body.blend).toEqual(parts([low, 0], [high, 1]));
    expect((await say('mine')).equals(await say(high))).toBe(true);
    expect((await say('mine')).equals(before)).toBe(false);
    const bindings = [{ engine: 'cloner', voice_id: low }];
    expect((await send('PATCH', '/api/voices/mine', { bindings })).body).toMatchObject({ bindings, blend: null });
    expect((await say('mine')).equals(await say(low))).toBe(true);

    expect((await send('DELETE', '/api/voices/mine')).status).toBe(204);
    expect((await speak({ voice_id: 'mine', text })).body.error).toBe('voice_not_found');
  });

  test('a part may be a voice under another name; it speaks what all parts speak', async () => {
    await send('POST', '/api/voices', {
      voice_id: 'deep',
      name: 'Deep',
      bindings: [{ engine: 'cloner', voice_id: low }],
    });
    expect((await make('renamed', { blend: parts(['deep', 1], [high, 1]) })).body).toMatchObject({
      blend: parts([low, 0.5], [high, 0.5]),
      language_codes: ['en'],
    });
    expect((await make('german', { language_codes: ['de'] })).body.details).toMatchObject([
      { field: 'language_codes', reason: 'unsupported_language' },
    ]);
    expect((await make('british', { language_codes: ['en-GB'] })).body.language_codes).toEqual(['en-GB']);
  });

  test('has no part that its maker may not use', async () => {
    const admin = await makeKey(['voices:write', 'voices:read', 'admin']);
    const other = await makeKey(['voices:write', 'voices:read']);
    await send('PATCH', `/api/voices/${high}`, { access: 'private' }, admin);
    const { body } = await send('POST', '/api/voices', { name: 'X', blend: parts([low, 1], [high, 1]) }, other);
    expect(body.details).toMatchObject([{ field: 'blend[1].voice_id', reason: 'enum' }]);
    expect(body.details[0].allowed).toContain(low);
    expect(body.details[0].allowed).not.toContain(high);
    await send('DELETE', `/api/voices/${high}`, undefined, admin);
  });

  test('every fault of it is reported, with the field', async () => {
    await make('made');
    const clone = (await send('POST', '/api/voices', form({ voice_id: 'ada' }))).body.voice_id;
    const nine = Array.from({ length: 9 }, (): [string, number] => [low, 1]);
    for (const [blend, faults] of [
      [parts([low, 1]), [['blend', 'length']]],
      [parts(...nine), [['blend', 'length']]],
      [parts([low, 0], [high, 0]), [['blend', 'range']]],
      [
        parts([low, -1], [high, 1001]),
        [
          ['blend[0].weight', 'range'],
          ['blend[1].weight', 'range'],
        ],
      ],
      [parts([low, 1], [low, 1]), [['blend[1].voice_id', 'conflict']]],
      [parts([low, 1], ['nobody', 1]), [['blend[1].voice_id', 'enum']]],
      [parts([low, 1], ['arthur', 1]), [['blend[1].voice_id', 'enum']]],
      [parts([low, 1], ['made', 1]), [['blend[1].voice_id', 'enum']]],
      [parts([low, 1], [clone, 1]), [['blend[1].voice_id', 'enum']]],
      [
        [{ voice_id: low }, { voice_id: high, weight: '1' }],
        [
          ['blend[0].weight', 'required'],
          ['blend[1].weight', 'type'],
        ],
      ],
      ['all of them', [['blend', 'type']]],
      [[], [['bindings', 'required']]],
    ] as const) {
      const { status, body } = await make('faulty', { blend });
      const named = body.details?.map(({ field, reason }: { field: string; reason: string }) => [field, reason]);
      expect([status, body.error, named]).toEqual([400, 'invalid_request', faults]);
    }
    const both = await make('faulty', { bindings: [{ engine: 'cloner', voice_id: low }] });
    expect(both.body.details).toMatchObject([{ field: 'blend', reason: 'conflict' }]);
    const onClone = await send('PATCH', `/api/voices/${clone}`, { blend: parts([low, 1], [high, 1]) });
    expect(onClone.body.details).toMatchObject([{ field: 'blend', reason: 'conflict' }]);
    const onItself = await send('PATCH', `/api/voices/${low}`, { blend: parts([high, 1], [low, 1]) });
    expect([onItself.status, onItself.body.details]).toMatchObject([
      400,
      [{ field: 'blend[1].voice_id', reason: 'conflict' }],
    ]);
    const limited = await send('POST', '/api/auth/api-keys', { voice_ids: [low], scopes: ['voices:write'] });
    const made = { name: 'X', blend: parts([low, 1], [high, 1]) };
    expect((await send('POST', '/api/voices', made, limited.body.key)).status).toBe(403);
  });

  test('fails clearly while a part is not there, and is still listed', async () => {
    const blend = [low, 'cloner-gone'].map((voiceId) => ({ voiceId, weight: 0.5 }));
    await kept.inStore((store) =>
      createVoiceRows(store).change('half', () => ({
        row: {
          ...noTexts,
          ...{ voiceId: 'half', name: 'Half', description: '', kind: 'stock', status: 'ready', version: 1 },
          ...{ labels: '{}', languageCodes: 'en', consent: null, createdAtMs: 1, updatedAtMs: 1, ownerId: null },
          ...{
            bindings: JSON.stringify([{ engine: 'cloner', speakerId: '', blend }]),
            access: 'everyone',
            lexiconIds: null,
          },
        },
        entry: toRecordEntry({ action: 'create', voiceId: 'half', atMs: 1, detail: {} }, operator),
      })),
    );
    await expect.poll(async () => (await send('GET', '/api/voices/half')).status).toBe(200);
    const { status, body } = await speak({ voice_id: 'half', text });
    expect([status, body.error]).toEqual([503, 'engine_unavailable']);
    expect(body.message).toContain('cloner-low and cloner-gone');
  });

  test('is made, changed and heard by gRPC too', async () => {
    const blend = (...weights: readonly number[]) =>
      weights.map((weight, i) => ({ voiceId: i === 0 ? low : high, weight }));
    const spec = { name: 'Between', blend: blend(3, 1) };
    const { voice } = await voices.unary('createVoice', { voiceId: 'over-grpc', spec }, call);
    expect(voice).toMatchObject({
      ...{ voiceId: 'over-grpc', kind: VoiceKind.STOCK, access: VoiceAccess.PRIVATE, owner: VoiceOwner.SELF },
      ...{ blend: blend(0.75, 0.25), bindings: [{ engine: 'cloner', voiceId: '' }] },
    });
    const spoken = await speech.unary(
      'synthesizeSpeech',
      { voiceId: 'over-grpc', text, bufferBytesMax: 1_000_000 },
      call,
    );
    expect(spoken.voiceName).toBe('Between');
    expect(await pitchOf(await say('over-grpc'))).toBeCloseTo(1.05, 2);
    const change = { voiceId: 'over-grpc', spec: { blend: blend(1, 1) }, updateMask: { paths: ['blend'] } };
    expect((await voices.unary('updateVoice', change, call)).voice?.blend).toMatchObject(blend(0.5, 0.5));
    const nan = { spec: { name: 'X', blend: blend(Number.NaN, 1) } };
    expect(explain(await failureOf(voices.unary('createVoice', nan, call)))).toMatchObject({
      ...{ code: 'INVALID_ARGUMENT', info: { reason: 'INVALID_REQUEST' } },
      violations: [{ field: 'blend[0].weight', reason: 'RANGE' }],
    });
    await voices.unary('deleteVoice', { voiceId: 'over-grpc' }, call);
    const gone = await failureOf(voices.unary('getVoice', { voiceId: 'over-grpc' }, call));
    expect(explain(gone).info?.reason).toBe('VOICE_NOT_FOUND');
  });
});

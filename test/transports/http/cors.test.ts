// Tests which pages may read responses, according to CORS.
import { afterAll, describe, expect, test } from 'vitest';
import { openTestGateway } from './open-gateway.ts';

const shared = await openTestGateway({}, afterAll);

describe('CORS', () => {
  const preflight = {
    Origin: 'https://a.example',
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'x-api-key',
  };

  test('is off by default', async () => {
    const answer = await shared.send('/api/voices', { headers: { Origin: 'https://a.example' } });
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control') || name === 'vary')).toEqual(
      [],
    );
    await answer.arrayBuffer();
    const preflighted = await shared.send('/api/audio/speech', { method: 'OPTIONS', headers: preflight });
    expect(preflighted.status).toBe(405);
    await preflighted.arrayBuffer();
  });

  test('lets pages of the origins that are listed read replies and failures, with every header of ours', async () => {
    const gateway = await openTestGateway({ settings: { allowedOrigins: ['https://a.example', 'https://b.example'] } });
    for (const path of ['/api/voices', '/nothing', '/audio/aud_X.wav', '/sonant.v1.VoiceService/ListVoices']) {
      const answer = await gateway.send(path, { headers: { Origin: 'https://a.example' } });
      expect(answer.headers.get('Access-Control-Allow-Origin'), path).toBe('https://a.example');
      expect(answer.headers.get('Vary'), path).toBe('Origin');
      expect(answer.headers.get('Access-Control-Expose-Headers'), path).toMatch(
        /X-Request-Id.*X-Audio-Id.*Retry-After/,
      );
      await answer.arrayBuffer();
    }
    const preflighted = await gateway.send('/api/audio/speech', { method: 'OPTIONS', headers: preflight });
    expect([preflighted.status, preflighted.headers.get('Access-Control-Allow-Headers')]).toEqual([
      204,
      expect.stringContaining('X-API-Key'),
    ]);
    const methods = preflighted.headers.get('Access-Control-Allow-Methods')!.toLowerCase().split(', ');
    const { paths } = (await (await gateway.send('/openapi.json')).json()) as { paths: Record<string, object> };
    expect(methods).toEqual(expect.arrayContaining([...new Set(Object.values(paths).flatMap(Object.keys))]));
    const theirs = 'content-type,x-fern-sdk-name,xi-api-key';
    const headers = { ...preflight, 'Access-Control-Request-Headers': theirs };
    const ofElevenLabs = await gateway.send('/v1/text-to-speech/tone-low/stream', { method: 'OPTIONS', headers });
    const allowed = ofElevenLabs.headers.get('Access-Control-Allow-Headers')!.toLowerCase().split(', ');
    const others = 'cartesia-version x-cartesia-client openai-organization openai-project if-match traceparent';
    expect(allowed).toEqual(expect.arrayContaining([...theirs.split(','), ...others.split(' ')]));
  });

  test('is named in Vary beside what else a reply depends on', async () => {
    const gateway = await openTestGateway({ settings: { allowedOrigins: ['https://a.example'] } });
    const headers = { 'X-API-Key': await gateway.makeKey(['voices:read', 'voices:write']) };
    const body = { name: 'Mine', entries: [{ grapheme: 'AWS', alias: 'cloud' }] };
    const made = await gateway.send('/api/lexicons', { method: 'POST', headers, body });
    const { lexicon_id: id } = (await made.json()) as { lexicon_id: string };
    const answer = await gateway.send(`/api/lexicons/${id}`, { headers });
    expect([answer.status, answer.headers.get('Vary')]).toEqual([200, 'Origin, Accept']);
    await answer.arrayBuffer();
  });

  test('keeps others out', async () => {
    const gateway = await openTestGateway({ settings: { allowedOrigins: ['https://a.example'] } });
    for (const origin of ['https://evil.example', 'http://a.example', 'https://a.example.evil', 'null']) {
      const answer = await gateway.send('/api/voices', { headers: { Origin: origin } });
      expect(answer.headers.get('Access-Control-Allow-Origin')).toBeNull();
      expect(answer.headers.get('Vary')).toBe('Origin');
      await answer.arrayBuffer();
    }
  });
});

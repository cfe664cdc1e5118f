// CORS: which pages may read what they are answered.
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
    const theirs = 'content-type,x-fern-sdk-name,xi-api-key';
    const headers = { ...preflight, 'Access-Control-Request-Headers': theirs };
    const ofElevenLabs = await gateway.send('/v1/text-to-speech/tone-low/stream', { method: 'OPTIONS', headers });
    const allowed = ofElevenLabs.headers.get('Access-Control-Allow-Headers')!.toLowerCase().split(', ');
    expect(allowed).toEqual(expect.arrayContaining(theirs.split(',')));
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

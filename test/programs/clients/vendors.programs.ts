// Tests the newest Python clients of OpenAI, ElevenLabs and Cartesia at their defaults: sound, voices, an account, and
// what their users read of each refusal. No client waits for a quota, or asks again.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newFolder } from '../../new-folder.ts';
import { openTestGateway } from '../../transports/http/open-gateway.ts';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';
import { findPython, runPython } from './python-clients.ts';

const python = findPython();

test.skipIf(!python)(
  'the clients of OpenAI, ElevenLabs and Cartesia get sound and readable refusals, and ask once',
  async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'cert.pem'), testCertificate.cert);
    // The WebSocket of ElevenLabs's client always uses TLS.
    process.env.SSL_CERT_FILE = join(folder, 'cert.pem');
    onTestFinished(() => void delete process.env.SSL_CERT_FILE);
    let port = 0;
    const baseUrl = () => `https://localhost:${port}`;
    const gateway = await openTestGateway({ isLimited: true, settings: { tls: testCertificate, baseUrl } });
    port = gateway.gateway.port;
    const key = await gateway.makeKey(['speech:stream', 'voices:read', 'voices:write']);
    const { key: limited } = await gateway.keyVerifier.create({ limits: { charactersPerMonth: 20 } });
    const got = await runPython<Record<string, any>>(python!, 'vendors_client.py', [baseUrl(), key, limited], null);
    for (const name of [
      'openai',
      'openai alloy',
      'cartesia',
      'elevenlabs',
      'elevenlabs realtime',
      'preview',
      'dialogue',
      'quota, part',
    ])
      expect(got[name], name).toBeGreaterThan(1_000);
    expect(got['openai without /v1']).toEqual([
      'NotFoundError',
      404,
      expect.stringContaining('did you mean /v1/audio/speech?'),
    ]);
    const refused = (name: string, sentence: string) =>
      expect(got[`elevenlabs realtime, wrong ${name}`]).toEqual(['ApiError', 1008, expect.stringContaining(sentence)]);
    refused('voice', 'Voice not found');
    refused('key', 'The API key is missing');
    refused('format', 'output_format must be');
    refused('speed', 'voice_settings.speed must be');
    expect([got.user, got.subscription, got.token]).toEqual([20, 0, 40]);
    expect(got['all voices'][0]).toBeGreaterThan(2);
    expect([got['own voices'], got['voices by id']]).toEqual([
      [0, []],
      [1, ['tone-high']],
    ]);
    expect(got.headers).toEqual([true, expect.stringMatching(/^req_/), '12']);
    const [lines, whole, pieces] = got['dialogue times'];
    expect(lines).toEqual([
      ['tone-low', 'Hello there.'],
      ['tone-high', 'Hi.'],
    ]);
    expect(whole).toBeGreaterThan(1_000);
    expect(pieces).toBeGreaterThan(0.95 * whole);
    expect(got['dialogue, wrong voice']).toEqual(['ApiError', 404, expect.stringContaining('Voice not found')]);
    expect(got.dictionary).toEqual(['there and everywhere else', ['Words'], expect.any(Number)]);
    expect(got.dictionary[2]).toBeGreaterThan(1.5);
    const dictionary = 'pronunciation_dictionary_locators is not a pronunciation dictionary of this key.';
    expect(got['dictionary, wrong id']).toEqual(['ApiError', 400, expect.stringContaining(dictionary)]);
    expect(got['access token']).toEqual([expect.any(Number), 401]);
    expect(got['access token'][0]).toBeGreaterThan(1_000);
    expect(got['own voice']).toEqual(['Ours', 'feminine', ['mine'], []]);
    expect(got.clone).toEqual(['InternalServerError', 501, expect.stringContaining('consent')]);
    const longer = ['ApiError', 400, expect.stringContaining('20 a month')];
    expect(got['quota, too long: dialogue']).toEqual(longer);
    for (const [vendor, tooLong, spent] of [
      ['openai', 'BadRequestError', 'RateLimitError'],
      ['cartesia', 'BadRequestError', 'RateLimitError'],
      ['elevenlabs', 'ApiError', 'ApiError'],
    ] as const) {
      expect(got[`quota, too long: ${vendor}`], vendor).toEqual([tooLong, 400, expect.stringContaining('20 a month')]);
      const status = vendor === 'elevenlabs' ? 401 : 429;
      expect(got[`quota, spent: ${vendor}`], vendor).toEqual([spent, status, expect.stringContaining('8 are left')]);
    }
    const refusals = gateway.requests.filter(({ status }) => status === 429 || status === 401);
    // And the token that lists no voices.
    expect(refusals, 'one for each client').toHaveLength(4);
  },
  300_000,
);

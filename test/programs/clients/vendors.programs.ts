// Tests calls of the newest Python clients of OpenAI, ElevenLabs and Cartesia that only one of them has, such as
// dialogues, dictionaries and accounts. The calls that all clients have are in ten-calls.ts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newFolder } from '../../new-folder.ts';
import { openTestGateway } from '../../transports/http/open-gateway.ts';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';
import { findPython, runProgram } from './client-programs.ts';

const python = findPython();

test.skipIf(!python)(
  'dialogues, dictionaries, accounts, tokens and other calls of one vendor',
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
    const got = await runProgram<Record<string, any>>(python!, 'vendors_client.py', [baseUrl(), key, limited], null);
    for (const name of ['openai alloy', 'preview', 'dialogue']) expect(got[name], name).toBeGreaterThan(1_000);
    expect(got['openai without /v1']).toEqual([
      'NotFoundError',
      404,
      expect.stringContaining('did you mean /v1/audio/speech?'),
    ]);
    const format = expect.stringContaining('output_format must be');
    expect(got['elevenlabs realtime, wrong format']).toEqual(['ApiError', 1008, format]);
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
  },
  300_000,
);

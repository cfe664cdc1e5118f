// Tests that doctor reports Google's faults but no secret.
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { status as code } from '@grpc/grpc-js';
import { afterAll, describe, expect, test } from 'vitest';
import { google, openGoogle } from '../../src/engines/google/google.ts';
import { listen } from '../free-port.ts';
import { newFolder } from '../new-folder.ts';
import { openGoogleServer } from './google-server.ts';

const settings = {
  credentials: '',
  endpoint: 'texttospeech.googleapis.com',
  voices: [] as string[],
  segmentsPerMinute: 200,
  cloneSegmentsPerMinute: 30,
  segmentsSpokenMax: 100,
};
const inspect = (more: Partial<typeof settings>) => google.inspect({ ...settings, ...more } as never, '');

const folder = newFolder(afterAll);
const fileOf = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe('doctor says', () => {
  test('that it is absent where nobody named a login', async () => {
    expect(await inspect({})).toMatchObject({ state: 'absent' });
    expect(await google.open(settings as never, '')).toBeUndefined();
  });

  test('that it is ready', async () => {
    const { endpoint } = await openGoogleServer();
    expect(await inspect({ endpoint })).toEqual({ state: 'ready', message: `${endpoint}, 3 voices` });
  });

  test('which file of credentials cannot be read, or is none', async () => {
    const nowhere = join(folder, 'nowhere.json');
    expect(await inspect({ credentials: nowhere })).toEqual({
      state: 'broken',
      message: `SONANT_GOOGLE_CREDENTIALS: ${nowhere} cannot be read: no such file or folder`,
    });
    for (const text of ['-----BEGIN PRIVATE KEY----- hush', '{"private_key":"hush"}', 'null', '[]', '']) {
      const report = await inspect({ credentials: fileOf('bad.json', text) });
      expect(report).toMatchObject({
        state: 'broken',
        message: expect.stringContaining('is not the JSON key file of a Google service'),
      });
      expect(report.message).not.toMatch(/hush|PRIVATE/);
    }
  });

  test('that the environment has no login', async () => {
    process.env.GOOGLE_APPLICATION_CREDENTIALS = join(folder, 'nowhere.json');
    const report = await inspect({ credentials: 'adc' });
    delete process.env.GOOGLE_APPLICATION_CREDENTIALS;
    expect(report).toEqual({
      state: 'broken',
      message: 'SONANT_GOOGLE_CREDENTIALS is adc, but this environment has no Google login',
    });
  });

  test.each([
    ['refused', 400, '{"error":"invalid_grant"}', 'cannot sign in: status 400, invalid_grant', undefined],
    ['not answered now', 0, '', 'cannot sign in: the connection was closed', 0],
  ])('that the login is %s', async (_, status, body, message, retryAfterSeconds) => {
    const tokens = createServer((request, response) =>
      status ? response.writeHead(status, { 'Content-Type': 'application/json' }).end(body) : request.socket.destroy(),
    );
    const port = await listen(tokens);
    const account = {
      type: 'external_account',
      audience: '//iam.example/pool',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `http://127.0.0.1:${port}/`,
      credential_source: { file: fileOf('token', 'any') },
    };
    process.env.GOOGLE_APPLICATION_CREDENTIALS = fileOf('account.json', JSON.stringify(account));
    const opened = openGoogle({ ...settings, credentials: 'adc', endpoint: '127.0.0.1:9', isListNeeded: true });
    const failure = await opened.catch((error) => error);
    delete process.env.GOOGLE_APPLICATION_CREDENTIALS;
    tokens.close();
    expect(failure).toMatchObject({
      reason: 'engine_unavailable',
      cause: { message: expect.stringContaining(message) },
    });
    expect(failure.facts.retryAfterSeconds).toBe(retryAfterSeconds);
  });

  test('that Google cannot be reached, though there is a login', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const account = { type: 'service_account', client_email: 'a@b.example', private_key_id: 'id', private_key: pem };
    const credentials = fileOf('good.json', JSON.stringify(account));
    const report = await inspect({ credentials, endpoint: '127.0.0.1:9' });
    expect(report).toMatchObject({ state: 'broken', message: expect.stringContaining('127.0.0.1:9: Google answers') });
  });

  test('that Google refuses the login, or has no such voice', async () => {
    const { endpoint, state } = await openGoogleServer();
    state.trouble = { failures: { count: 1, code: code.UNAUTHENTICATED, logged: 'The token has expired.' } };
    expect(await inspect({ endpoint })).toEqual({
      state: 'broken',
      message: `${endpoint}: Google answers UNAUTHENTICATED`,
    });
    const report = await inspect({ endpoint, voices: ['tlh'] });
    expect(report).toEqual({ state: 'broken', message: 'Google lists none of the voices of SONANT_GOOGLE_VOICES' });
  });
});

// Tests that Google's library is not loaded if Google is not configured, and that doctor reports faults but no secret.
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { status as code } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { google, openGoogle } from '../../src/engines/google/google.ts';
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

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-google-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
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
    ['refused', 400, '{"error":"invalid_grant"}', 'cannot sign in: invalid_grant', undefined],
    ['not answered now', 0, '', 'cannot sign in: the connection was closed', 0],
  ])('that the login is %s', async (_, status, body, message, retryAfterSeconds) => {
    const tokens = createServer((request, response) =>
      status ? response.writeHead(status, { 'Content-Type': 'application/json' }).end(body) : request.socket.destroy(),
    );
    await once(tokens.listen(0, '127.0.0.1'), 'listening');
    const { port } = tokens.address() as AddressInfo;
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

describe('Google’s library', () => {
  const root = join(import.meta.dirname, '../..');
  /** Runs as if no package of Google were installed; reports at the end which modules were requested. */
  const without = `
    import { registerHooks } from 'node:module';
    const tried = [];
    registerHooks({
      resolve(name, context, next) {
        if (!/^google-/.test(name)) return next(name, context);
        tried.push(name);
        throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
      },
    });
    process.on('exit', () => console.error('looked for', JSON.stringify(tried)));`;
  const run = async (args: string[], more: NodeJS.ProcessEnv = {}) => {
    const hooked = ['--import', `data:text/javascript,${encodeURIComponent(without)}`, ...args];
    const env = { ...process.env, SONANT_ESPEAK_LIBRARY: '', SONANT_DATA_DIR: folder, ...more };
    return promisify(execFile)(process.execPath, hooked, { env, cwd: folder }).catch((error) => error);
  };

  test('is not loaded where it is not configured', async () => {
    const { stdout, stderr } = await run([join(root, 'src/main.ts'), 'voice', 'list']);
    expect(stdout).toContain('flite');
    expect(stderr).toContain('looked for []');
  });

  test('gets an installation hint where it is configured and missing', async () => {
    const script = `
      const { google } = await import('${root}/src/engines/google/google.ts');
      const settings = ${JSON.stringify({ ...settings, endpoint: 'http://127.0.0.1:9' })};
      console.log((await google.inspect(settings)).message);`;
    const { stdout, stderr } = await run(['--input-type=module', '-e', script]);
    expect(stdout).toContain('npm install google-auth-library');
    expect(stderr).toContain('looked for ["google-auth-library"');
  });
});

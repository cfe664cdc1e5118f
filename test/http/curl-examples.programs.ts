// Tests the commands of the reference, unchanged in a shell: each reaches its operation, is admitted and is understood.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { curlExamplesOf } from '../../src/http/docs/curl-example.ts';
import type { OpenApi } from '../../src/http/docs/openapi-document.ts';
import { groupsOf } from '../../src/http/docs/reference-model.ts';
import { wavHeader } from '../engines/google-server.ts';
import { openTestGateway } from './open-gateway.ts';

const run = promisify(execFile);
const gateway = await openTestGateway({ engine: { blends: true } }, afterAll);
const folder = mkdtempSync(join(tmpdir(), 'sonant-curl-'));
afterAll(() => rmSync(folder, { recursive: true }));
const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as OpenApi;
const key = await gateway.makeKey([
  ...['speech:synthesize', 'speech:stream', 'voices:read', 'voices:write'],
  ...['keys:read', 'keys:write', 'jobs:read', 'jobs:write', 'usage:read', 'admin'],
]);
/** Success, or a resource that is missing or has expired, or a feature that is not set up. */
const understood = /^(2..|304|404|410|503)$/;

const commands = groupsOf(document)
  .flatMap(({ operations }) => operations)
  // This command would revoke the key that all other commands use.
  .filter(({ operation }) => operation.operationId !== 'revokeOwnApiKey')
  .flatMap((example) =>
    curlExamplesOf(document, example).map(({ command, title }) => ({ ...example, command, title })),
  );

/** Replaces the names in the examples with names from this service. */
const toHere = (command: string) =>
  gateway
    .here(command)
    .replace(/(voice_id=|"voice(?:_id)?":")clara/g, '$1tone-low')
    .replace('"engine":"acme","voice_id":"joan"', '"engine":"tone","voice_id":"tone-low"')
    .replace('kokoro-af_heart', 'tone-low')
    .replace('kokoro-af_bella', 'tone-high');

const silence = Buffer.alloc(4_800);

test('each is understood', async () => {
  for (const name of ['reference.wav', 'consent.wav']) writeFileSync(join(folder, name), 'no sound');
  writeFileSync(join(folder, 'speech.wav'), Buffer.concat([wavHeader(24_000, silence), silence]));
  expect(commands.length).toBeGreaterThan(35);
  const example = await Promise.all(
    commands.map(async ({ command, operation: { operationId }, title }) => {
      const shell = `${toHere(command)} -s -w '\\n%{http_code}' --max-time 30`;
      const env = { ...process.env, SONANT_API_KEY: key };
      const { stdout } = await run('sh', ['-c', shell], { cwd: folder, env, encoding: 'latin1' });
      const status = stdout.slice(stdout.lastIndexOf('\n') + 1);
      // The example client is unknown, and its recordings are not audio.
      const isRefused = { takeToken: '401', createVoice: '400' }[operationId] === status && title === 'form';
      // curl cannot open a WebSocket.
      const isUpgrade = operationId === 'liveSpeech' && status === '400';
      return understood.test(status) || isRefused || isUpgrade
        ? undefined
        : `${operationId} ${title}: ${stdout.slice(0, 400)}`;
    }),
  );
  expect(example.filter(Boolean)).toEqual([]);
});

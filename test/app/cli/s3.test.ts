// Tests S3, set up by settings and the SDK's own variables: doctor reports faults, and serve stores audio only there.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasS3, openS3Server, type S3Server } from '../../clips/stores/s3-server.ts';
import { serve } from './serving-program.ts';
import { runSonant } from './sonant-program.ts';

describe.skipIf(!hasS3)('with S3', () => {
  let server: S3Server;
  let env: Record<string, string>;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sonant-cli-s3-'));
    server = await openS3Server();
    env = { ...server.env, SONANT_S3_BUCKET: server.bucketName, SONANT_S3_ENDPOINT: server.endpoint };
  });
  afterAll(() => {
    server.client.destroy();
    rmSync(folder, { recursive: true });
  });
  const listed = async () => {
    const { Contents = [] } = await server.client.send(new ListObjectsV2Command({ Bucket: server.bucketName }));
    return Contents.map(({ Key }) => Key!);
  };

  test('doctor tests the bucket, leaves nothing in it, and reports what is wrong', async () => {
    const publicUrl = `${server.endpoint}/${server.bucketName}`;
    const doctor = async (more: Record<string, string> = {}) => {
      const { code, out } = await runSonant(folder, ['doctor'], '', { ...env, ...more });
      return [code, /^(\w+) +S3 +(.*)$/m.exec(out)?.slice(1).join(' ')];
    };
    expect(
      await Promise.all([
        doctor({ SONANT_S3_LINKS: 'presigned' }),
        doctor({ SONANT_S3_BUCKET: 'not-there' }),
        doctor({ AWS_SECRET_ACCESS_KEY: 'another' }),
        doctor({ SONANT_S3_LINKS: 'public', SONANT_S3_PUBLIC_URL: publicUrl }),
      ]),
    ).toEqual([
      [0, `ready audio is stored in ${server.bucketName}/; links are presigned`],
      [1, expect.stringMatching(/^broken an object cannot be written: NoSuchBucket/)],
      [1, expect.stringMatching(/^broken an object cannot be written: SignatureDoesNotMatch/)],
      [
        1,
        expect.stringMatching(
          /^broken an object cannot be read through a link, such as .*: the link returned status 403$/,
        ),
      ],
    ]);
    expect(await listed()).toEqual([]);
  });

  test('serve stores audio there, and its link plays it', async () => {
    const service = await serve([], { ...env, SONANT_S3_PREFIX: 'a/b/', SONANT_S3_LINKS: 'presigned' });
    const headers = { 'X-API-Key': service.key, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ voice_id: 'arthur', text: 'Hello there.' });
    const answer = await fetch(`${service.url}/api/audio/speech`, { method: 'POST', headers, body });
    const { audio_url } = (await answer.json()) as { audio_url: string };
    expect(new URL(audio_url).origin).toBe(service.url);
    const sound = await fetch(audio_url);
    expect([sound.status, sound.headers.get('Content-Type'), new URL(sound.url).origin]).toEqual([
      ...[200, 'audio/wav', server.endpoint],
    ]);
    expect((await sound.bytes()).length).toBeGreaterThan(50_000);
    const id = answer.headers.get('X-Audio-Id')!;
    const keys = [id, id.replace('aud_', 'rec_')];
    expect((await listed()).sort()).toEqual(keys.map((key) => `a/b/${key.slice(-2)}/${key}`));
    expect(existsSync(join(service.folder, 'data/audio'))).toBe(false);
  });
});

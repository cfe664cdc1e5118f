// Clips in a bucket of a real S3 service: the contract, and what only a bucket can go wrong with.
import { afterAll, describe } from 'vitest';
import { S3Clips } from '../../src/clips/s3-clips.ts';
import { clipStoreConformance } from '../conformance/clip-store.ts';
import { hasS3, openS3Server } from './s3-server.ts';

describe.skipIf(!hasS3)('S3', async () => {
  if (!hasS3) return;
  const server = await openS3Server();
  afterAll(() => server.client.destroy());
  const open = async () => new S3Clips({ bucket: await server.openBucket(), prefix: 'clips/' });

  clipStoreConformance('a bucket', open);
});

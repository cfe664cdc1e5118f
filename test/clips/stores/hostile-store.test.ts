// Tests that a store that misbehaves on purpose fills neither the memory nor the log.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { openS3Bucket } from '../../../src/clips/stores/s3-bucket.ts';
import { S3Clips } from '../../../src/clips/stores/s3-clips.ts';
import { createId } from '../../../src/platform/runtime/id.ts';
import { createLog } from '../../../src/platform/telemetry/log.ts';
import { listen } from '../../free-port.ts';

async function openStore(answer: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const server = createServer((request, response) => void answer(request.resume(), response));
  const serverPort = await listen(server);
  const endpoint = `http://127.0.0.1:${serverPort}`;
  const credentials = { accessKeyId: 'AKID', secretAccessKey: 'hush' };
  const bucket = await openS3Bucket('clips', { endpoint, credentials });
  onTestFinished(() => {
    bucket.close();
    server.closeAllConnections();
    server.close();
  });
  return bucket;
}

const logOf = (error: unknown) => {
  let line = '';
  createLog('info', (written) => {
    line = written;
  }).info('fault', { fault: error });
  return line;
};

test.each([
  ['with a code of its own', 403, '<Code>said-here</Code><Message>said-here</Message>', 'Error: the store answers 403'],
  [
    'with a known code',
    403,
    '<Code>AccessDenied</Code><Message>said-here</Message>',
    'AccessDenied: the store answers',
  ],
  ['with an answer that is not XML', 200, '<said-here><a></b>', 'Error: the store answers'],
])('the log has nothing of what a store says, %s', async (_, status, content, logged) => {
  const bucket = await openStore((request, response) =>
    response.writeHead(status).end(`<Error>${content}<Signed>${request.headers.authorization}</Signed></Error>`),
  );
  const line = logOf(await Array.fromAsync(bucket.list('')).catch((error) => error));
  expect(line).toContain(logged);
  expect(line).not.toMatch(/said-here|AKID/);
});

test('a body without a stated length is not read without end', async () => {
  let sent = 0;
  const bucket = await openStore((_, response) => {
    const send = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
    };
    response.on('drain', send);
    send();
  });
  const clips = new S3Clips({ bucket, prefix: '' });
  const reading = clips.open(createId('aud', 128)).then((clip) => buffer(clip!.body));
  await expect(reading).rejects.toMatchObject({ reason: 'storage_unavailable' });
  expect(sent).toBeLessThan(16 << 20);
});

// Tests the listener of an unreachable database: the memory left by a failed connection.
import { createServer } from 'node:net';
import v8 from 'node:v8';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { PostgresListener } from '../../../src/platform/store/postgres.ts';
import { listen } from '../../free-port.ts';

/** Counts objects in use: a full collection runs first. */
const countClients = () => v8.queryObjects(pg.Client, { format: 'count' });

test('connections that failed are not kept', async () => {
  let connects = 0;
  const server = createServer((socket) => {
    connects++;
    socket.destroy();
  });
  const port = await listen(server);
  onTestFinished(() => void server.close());
  const before = countClients();
  const listener = new PostgresListener({ host: '127.0.0.1', port, user: 'nobody', database: 'none' });
  listener.listen('keys', () => {});
  await expect.poll(() => connects).toBeGreaterThan(4);
  // At most two clients exist: the client that has just failed, and its successor.
  expect(countClients() - before).toBeLessThanOrEqual(2);
  await listener.close();
});

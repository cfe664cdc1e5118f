// Tests the connection limits: which connection is closed to make room for a new one, on real sockets.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createConnections, createTurns, FairShares } from '../../../src/transports/net/connections.ts';
import { listen } from '../../free-port.ts';

type Options = Parameters<typeof createConnections>[0];

/** A listener that counts its connections, and the accepted connections in order. */
async function open(options: Options) {
  const connections = createConnections(options);
  const taken: Socket[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    if (connections.admit(socket)) taken.push(socket);
  });
  const port = await listen(server);
  const clients: Socket[] = [];
  onTestFinished(() => {
    for (const client of clients) client.destroy();
    server.close();
  });
  /** Opens a connection; resolves when the connection was closed or accepted. */
  const dial = async (localAddress: string) => {
    const before = taken.length;
    const client = connect({ port, host: '127.0.0.1', localAddress });
    client.on('error', () => {}).resume();
    clients.push(client);
    await Promise.race([once(client, 'close'), expect.poll(() => taken.length).toBeGreaterThan(before)]);
    return client;
  };
  return { connections, taken, dial };
}

const isOpen = (socket: Socket) => !socket.destroyed;

test('at the limit of an address, its connection that was idle for longest is closed for a new one', async () => {
  const { connections, taken, dial } = await open({ perAddressMax: 3 });
  for (let n = 0; n < 3; n++) await dial('127.0.0.2');
  const other = await dial('127.0.0.3');
  const end = connections.use(taken[0]!);
  await dial('127.0.0.2');
  expect(taken.map(isOpen)).toEqual([true, false, true, true, true]);
  end();
  await dial('127.0.0.2');
  await dial('127.0.0.2');
  // The first connection became idle later than the third and the fifth.
  expect(taken.map(isOpen)).toEqual([true, false, false, true, false, true, true]);
  expect(isOpen(other)).toBe(true);
});

test('at the limit of an address without an idle connection, new ones are closed', async () => {
  const { connections, taken, dial } = await open({ perAddressMax: 2 });
  for (let n = 0; n < 2; n++) {
    await dial('127.0.0.2');
    connections.use(taken[n]!);
  }
  const refused = await dial('127.0.0.2');
  expect([isOpen(refused), ...taken.map(isOpen)]).toEqual([false, true, true]);
});

test('at the limit in all, a newcomer displaces an idle connection of the address with the most', async () => {
  const { taken, dial } = await open({ inAllMax: 5, perAddressMax: Number.POSITIVE_INFINITY });
  await dial('127.0.0.3');
  for (let n = 0; n < 4; n++) await dial('127.0.0.2');
  await dial('127.0.0.4');
  await dial('127.0.0.3');
  expect(taken.map(isOpen)).toEqual([true, false, false, true, true, true, true]);
  // No address has more connections than the newcomer's address, so a connection of that address is closed.
  await dial('127.0.0.2');
  expect(taken.map(isOpen)).toEqual([true, false, false, false, true, true, true, true]);
});

test('connections that are replaced in a second for others of their address are limited', async () => {
  const { taken, dial } = await open({ perAddressMax: 1, displacedPerSecond: 0 });
  await dial('127.0.0.2');
  const refused = await dial('127.0.0.2');
  expect([isOpen(refused), ...taken.map(isOpen)]).toEqual([false, true]);
});

test('a newcomer never displaces a member of an address that has as few as its own', () => {
  const displaced: object[] = [];
  const shares = new FairShares<{ name: string }>({
    inAllMax: 4,
    perAddressMax: 4,
    ownDisplacedPerSecond: 0,
    displace: (member) => displaced.push(member),
  });
  const add = (name: string, address: string) => {
    const member = { name };
    const hasPlace = shares.add(member, address);
    if (hasPlace) shares.setDisplaceable(member, true);
    return hasPlace;
  };
  expect(['a1', 'a2', 'a3'].map((name) => add(name, '2001:db8::1'))).toEqual([true, true, true]);
  expect(add('b1', '2001:db8:0:1::1')).toBe(true);
  // An address in the same /64 network as the first.
  expect(add('a4', '2001:db8::ffff')).toBe(false);
  expect(add('b2', '2001:db8:0:1::2')).toBe(true);
  expect(displaced).toEqual([{ name: 'a1' }]);
  expect(add('b3', '2001:db8:0:1::3')).toBe(false);
  expect(shares.size).toBe(4);
});

test('addresses take turns to start requests, and the number of waiting requests per address is limited', async () => {
  const started: string[] = [];
  const turns = createTurns({ atOnce: 1, waitingPerAddressMax: 3 });
  const take = (address: string, name: string) => turns.take(address, () => started.push(name));
  expect(['a1', 'a2', 'a3', 'a4'].map((name) => take('a', name))).toEqual([true, true, true, false]);
  expect(take('b', 'b1')).toBe(true);
  expect(started).toEqual([]);
  await expect.poll(() => started).toEqual(['a1', 'b1', 'a2', 'a3']);
});

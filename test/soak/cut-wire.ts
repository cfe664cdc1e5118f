// Runs a proxy from a local port to a server (TCP or a Unix socket), in its own process so that nothing slows it. It
// obeys its parent: 'heal', 'reset' (resets existing and new connections) or 'silence' (like an unplugged cable: no
// data and no errors): node cut-wire.ts '{"path":"/run/postgresql/.s.PGSQL.5432"}'
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../free-port.ts';

type Order = 'heal' | 'reset' | 'silence';

const target = JSON.parse(process.argv[2]!);
let order: Order = 'heal';
const ends = new Set<() => void>();
/** Data that is delivered after a silence. */
let waiting: (() => void)[] = [];

const server = createServer({ pauseOnConnect: true }, (near) => {
  near.on('error', () => near.destroy());
  if (order === 'reset') return void near.resetAndDestroy();
  const begin = () => {
    if (near.destroyed) return;
    const far = connect(target);
    const end = () => {
      near.resetAndDestroy();
      far.destroy();
      ends.delete(end);
    };
    ends.add(end);
    for (const socket of [near, far]) socket.on('error', end).setNoDelay(true);
    near.once('close', () => ends.delete(end));
    pass(near, far);
    pass(far, near);
    near.resume();
  };
  if (order === 'silence') waiting.push(begin);
  else begin();
});

function pass(from: Socket, to: Socket): void {
  const whenHeard = (work: () => void) => {
    if (order !== 'silence') return work();
    from.pause();
    waiting.push(() => {
      work();
      from.resume();
    });
  };
  from.on('data', (bytes) =>
    whenHeard(() => {
      if (to.destroyed || to.write(bytes)) return;
      from.pause();
      to.once('drain', () => from.resume());
    }),
  );
  from.once('end', () => whenHeard(() => to.end()));
}

process.on('message', (instruction: Order) => {
  order = instruction;
  if (instruction === 'reset') for (const end of [...ends]) end();
  if (instruction === 'heal') {
    const all = waiting;
    waiting = [];
    for (const go of all) go();
  }
  process.send!({ done: instruction });
});
process.on('disconnect', () => process.exit());
const serverPort = await listen(server);
process.send!({ port: serverPort });

// The process of the service that `npm run bench overload` loads: flite alone. It tells its parent where it is, and answers
// every message with the CPU it has used. The checkout whose service runs is an argument, so that two can be compared.
import { join } from 'node:path';
import { ownCpuMs } from '../measuring/machine.ts';
import { openCheckout } from '../measuring/open-checkout.ts';

const root = process.argv[2]!;
const { flite: engine }: typeof import('../../src/engines/flite/flite.ts') = await import(
  join(root, 'src/engines/flite/flite.ts')
);
const settings = { SONANT_CONNECTIONS_PER_ADDRESS: '4096' };
process.send!(await openCheckout({ root, engine, logLevel: 'error', settings }));
process.on('message', () => process.send!(ownCpuMs()));
process.on('disconnect', () => process.exit());

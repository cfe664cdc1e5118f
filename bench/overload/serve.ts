// Runs a service under load in a process, with one engine: flite for `overload` and `served-voice`, eSpeak NG for
// `served-espeak`. It sends its address to its parent, and answers each message with the CPU time used so far. The
// checkout and the engine are arguments, so two checkouts can be compared.
import { join } from 'node:path';
import type { EngineDefinition } from '../../src/engines/engine.ts';
import { ownCpuMs } from '../measuring/machine.ts';
import { openCheckout } from '../measuring/open-checkout.ts';

type LoadedEngine = 'flite' | 'espeak-ng';

async function definitionOf(root: string, engine: LoadedEngine): Promise<EngineDefinition> {
  const file = join(root, `src/engines/${engine}/${engine}.ts`);
  if (engine === 'flite') return ((await import(file)) as typeof import('../../src/engines/flite/flite.ts')).flite;
  return ((await import(file)) as typeof import('../../src/engines/espeak-ng/espeak-ng.ts')).espeakNg;
}

const [, , root, engine = 'flite'] = process.argv as string[];
const settings = { SONANT_CONNECTIONS_PER_ADDRESS: '4096' };
const definition = await definitionOf(root!, engine as LoadedEngine);
// The cost of overload includes its log lines.
const logLevel = engine === 'flite' ? 'info' : 'error';
process.send!(await openCheckout({ root: root!, engine: definition, logLevel, settings }));
process.on('message', () => process.send!(ownCpuMs()));
process.on('disconnect', () => process.exit());

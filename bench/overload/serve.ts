// The process of a service that benches load, with one engine: `overload` and `served-voice` flite, `served-espeak` eSpeak
// NG. It tells its parent where it is, and answers every message with the CPU it has used. The checkout whose service runs is
// an argument, so that two can be compared; so is the engine.
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
// What overload costs includes its lines of log.
const logLevel = engine === 'flite' ? 'info' : 'error';
process.send!(await openCheckout({ root: root!, engine: definition, logLevel, settings }));
process.on('message', () => process.send!(ownCpuMs()));
process.on('disconnect', () => process.exit());

// Makes the calls of a client one after another. Prints the result of each, or its exception, as JSON.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const given = JSON.parse(readFileSync(0, 'utf8'));
export const load = createRequire(join(given.packages, 'package.json'));

export const sound = (form, ...pieces) => ({ form, data: Buffer.concat(pieces).toString('base64') });

export async function run(...calls) {
  const results = {};
  for (const call of calls) {
    results[call.name] = await call().catch((error) => ({ refused: error.constructor.name, message: error.message }));
  }
  process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit());
}

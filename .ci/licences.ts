// Checks the licences of a production install: `node .ci/licences.ts [FOLDER]`. All packages, and the works that they
// contain by bundled.json, must have an allowed licence. bundled.json must list each package with binaries, because the
// package's own licence does not cover compiled code. Prints each fault; exits with 1 if there are any.
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { type InstalledPackage, readInstalled, type Work } from './sbom.ts';

const allowed = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'blessing',
  'ISC',
  'MIT',
  'MIT-Festival',
  'Spencer-86',
  'Unicode-3.0',
  'Zlib',
]);
/**
 * Works under the Lesser GPL, each a separate package or module that anybody can replace, and Eigen, whose licence allows
 * binaries that say where its source is. NOTICE names them.
 */
const allowedFor: Readonly<Record<string, string>> = {
  eigen: 'MPL-2.0',
  'codec-parser': 'LGPL-3.0-or-later',
  lame: 'LGPL-2.0-or-later',
  mpg123: 'LGPL-2.1-only',
};

/** Whether an SPDX expression is allowed: all operands of AND, or one operand of OR; AND binds tighter. */
function isAllowed(expression: string, name: string): boolean {
  const tokens = expression.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const one = (): boolean => {
    if (tokens[at] !== '(') return isListed(tokens[at++] ?? '', name);
    at++;
    const inner = some();
    return tokens[at++] === ')' && inner;
  };
  const every = (): boolean => {
    let are = one();
    while (tokens[at] === 'AND') {
      at++;
      are = one() && are;
    }
    return are;
  };
  const some = (): boolean => {
    let is = every();
    while (tokens[at] === 'OR') {
      at++;
      is = every() || is;
    }
    return is;
  };
  const is = some();
  return is && at === tokens.length;
}

const isListed = (license: string, name: string): boolean => allowed.has(license) || allowedFor[name] === license;

const faultOf = ({ name, license }: Work, where: string): string[] => {
  if (license === '') return [`${where} states no licence`];
  return isAllowed(license, name) ? [] : [`${where} is under ${license}, which is not allowed`];
};

const binaries = '**/*.{a,dll,dylib,exe,node,so,so.*,wasm}';

function faultsOf(folder: string, each: InstalledPackage): string[] {
  const named = `${each.name}@${each.version}`;
  const faults = faultOf(each, named);
  for (const work of each.contains ?? []) faults.push(...faultOf(work, `${work.name} in ${named}`));
  const path = join(folder, each.path);
  if (each.contains || !existsSync(path)) return faults;
  const found = globSync(binaries, { cwd: path, exclude: ['node_modules'] });
  if (found.length > 0) faults.push(`${named} contains ${found[0]}: state in .ci/bundled.json what is in it`);
  return faults;
}

const folder = process.argv[2] ?? join(import.meta.dirname, '..');
const installed = readInstalled(folder);
const faults = installed.flatMap((each) => faultsOf(folder, each));
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
else console.log(`The licences of ${installed.length} packages are allowed.`);

// `npm run bench [NAME...]` runs the named benches, or all benches, prints their findings and stores them in
// bench/results. Each bench has its own process, so none inherits memory or warm code. Benches and the services that
// they fork have the memory settings of `sonant serve`. Exits with 1 if a goal is missed. `npm run bench report` writes
// docs/performance.md from the last results.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { markingFlag, newSpaceFlag, serviceEnvironment } from '../src/memory.js';
import { type Bench, isMet } from './measuring/bench.ts';
import { machineFacts, watchMachine } from './measuring/machine.ts';
import { keepReport, reportText } from './measuring/report.ts';
import { spreadsOfRounds } from './measuring/rounds.ts';
import { writePage } from './performance/kept-reports.ts';

const benches: Readonly<Record<string, () => Promise<{ bench: Bench }>>> = {
  'first-sound': () => import('./first-sound.ts'),
  neural: () => import('./neural.ts'),
  'served-voice': () => import('./served-voice.ts'),
  espeak: () => import('./espeak.ts'),
  'served-espeak': () => import('./served-espeak.ts'),
  transports: () => import('./transports.ts'),
  stored: () => import('./stored.ts'),
  start: () => import('./start.ts'),
  'service-cost': () => import('./service-cost.ts'),
  jobs: () => import('./jobs.ts'),
  replicas: () => import('./replicas.ts'),
  overload: () => import('./overload.ts'),
  resampler: () => import('./resampler.ts'),
  'word-times': () => import('./word-times.ts'),
  words: () => import('./words.ts'),
  languages: () => import('./languages.ts'),
};

const serviceFlags = [newSpaceFlag, markingFlag];

async function runHere(name: string): Promise<boolean> {
  const { bench } = await benches[name]!();
  const stopWatching = watchMachine();
  const startedAt = new Date();
  const findings = await bench.run();
  const seconds = (Date.now() - startedAt.getTime()) / 1000;
  const facts = { machine: machineFacts(), watch: stopWatching(), rounds: spreadsOfRounds() };
  const report = { name, about: bench.about, startedAt: startedAt.toISOString(), seconds, ...facts, ...findings };
  await keepReport(report);
  console.log(reportText(report));
  return findings.goals.every(isMet);
}

async function runInChild(name: string): Promise<boolean> {
  const args = [...serviceFlags, ...process.execArgv, import.meta.filename, name];
  const env = { ...process.env, ...serviceEnvironment };
  const child = spawn(process.execPath, args, { stdio: 'inherit', env });
  const stop = () => {
    child.kill();
    process.exit(1);
  };
  process.once('SIGTERM', stop);
  const [code] = await once(child, 'exit');
  process.off('SIGTERM', stop);
  return code === 0;
}

const chosen = process.argv.slice(2);
if (chosen.join() === 'report') {
  writePage();
  process.exit();
}
const unknown = chosen.filter((name) => !Object.hasOwn(benches, name));
if (unknown.length > 0) {
  console.error(`there is no bench ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}, and report`);
  process.exit(2);
}
const names = chosen.length > 0 ? chosen : Object.keys(benches);
const isChild = names.length === 1 && serviceFlags.every((flag) => process.execArgv.includes(flag));
// The C library has read these variables. Other programs that a bench starts, such as nginx, must not inherit them.
if (isChild) for (const variable in serviceEnvironment) delete process.env[variable];
let allMet = true;
for (const name of names) {
  const met = isChild ? await runHere(name) : await runInChild(name);
  allMet &&= met;
}
process.exitCode = allMet ? 0 : 1;

// Mutation test: `npm run mutants [SEED [COUNT [FIRST]]]` inserts small faults at random places of src, each into a
// copy of the last commit, and runs the tests that reach the changed file: those of the same name or folder first, then
// the closest quick ones. A fault that no test notices has survived. Faults that do not compile are redrawn. A test
// file that also fails without the fault does not count. To resume a run, give the number of the first untested fault.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, normalize } from 'node:path';
import { parseSync, Visitor } from 'vite';
import { slowFiles } from './slow-files.ts';

const [seed = '1', count = '40', first = '1'] = process.argv.slice(2);
const root = join(import.meta.dirname, '..');
const copy = join(mkdtempSync(join(tmpdir(), 'sonant-mutants-')), 'copy');
/**
 * Sizes of the batches of test files. The next batch runs if the previous one has no failure; remaining files are not
 * run.
 */
const batches = [2, 6, 32];
const batchSeconds = 400;

let state = Number(seed);
const random = (below: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  return Math.floor(((state >>> 0) / 2 ** 32) * below);
};

interface Mutant {
  file: string;
  line: number;
  start: number;
  end: number;
  instead: string;
}

const swapped: Record<string, string> = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' },
  ...{ '+': '-', '-': '+', '*': '/', '/': '*', '&&': '||', '||': '&&' },
};

interface Node {
  type: string;
  start: number;
  end: number;
}

function mutantsOf(file: string): Mutant[] {
  const source = readFileSync(join(copy, file), 'utf8');
  const found: Mutant[] = [];
  const text = ({ start, end }: Node) => source.slice(start, end);
  const add = ({ start, end }: Node, instead: string) =>
    found.push({ file, line: source.slice(0, start).split('\n').length, start, end, instead });
  const negate = ({ test }: { test: Node | null }) => test && add(test, `!(${text(test)})`);
  const swap = (node: Node & { operator: string; left: Node; right: Node }) => {
    const other = node.operator === '??' ? undefined : swapped[node.operator];
    if (node.operator === '??') add(node, text(node.left));
    else if (other) add(node, `${text(node.left)} ${other} ${text(node.right)}`);
  };
  new Visitor({
    IfStatement: negate,
    ConditionalExpression: negate,
    WhileStatement: negate,
    BinaryExpression: swap,
    LogicalExpression: swap,
    Literal(node) {
      // Larger numbers are mostly settings for speed and size, which no test should assert.
      if (node.value === 0 || node.value === 1) add(node, String(1 - node.value));
      if (typeof node.value === 'boolean') add(node, String(!node.value));
    },
    ExpressionStatement: (node) => void add(node, ';'),
    ReturnStatement({ argument, ...node }) {
      if (argument && text(argument) !== 'undefined') add(node, 'return undefined as never;');
    },
    TryStatement: (node) => void (node.finalizer && add(node.finalizer, '{}')),
  }).visit(parseSync(file, source).program);
  return found;
}

/** The files that a file imports, forks or opens: every string in it that is a path. */
const referencesOf = (file: string): string[] =>
  [...readFileSync(join(copy, file), 'utf8').matchAll(/['"]((?:\.{1,2}\/|src\/|test\/)?[\w./-]+\.[jt]s)['"]/g)]
    .flatMap(([, path]) => [normalize(join(dirname(file), path!)), normalize(path!)])
    .filter((path) => !path.startsWith('..') && existsSync(join(copy, path)));

/** Number of steps to each file that a test file reaches. */
function reach(from: string, known: Map<string, string[]>): Map<string, number> {
  const steps = new Map([[from, 0]]);
  for (const [file, step] of steps) {
    const next = known.get(file) ?? referencesOf(file);
    known.set(file, next);
    for (const each of next) if (!steps.has(each)) steps.set(each, step + 1);
  }
  return steps;
}

/** Runs a program of node_modules/.bin. */
const run = (program: string, args: string[], seconds: number): Promise<number | 'timeout'> =>
  new Promise((resolve) => {
    const child = spawn(join(copy, 'node_modules/.bin', program), args, { cwd: copy, stdio: 'ignore', detached: true });
    const timer = setTimeout(() => {
      process.kill(-child.pid!, 'SIGKILL');
      resolve('timeout');
    }, seconds * 1_000);
    child.once('exit', (code) => {
      clearTimeout(timer);
      resolve(code ?? 1);
    });
  });

interface Outcome {
  /** The test files that fail; all of them if they do not finish in time. */
  failed: string[];
  /** Whether the failure may be due to a busy machine. */
  isUnsure: boolean;
}

const report = join(copy, '..', 'report.json');
async function runTests(files: readonly string[]): Promise<Outcome> {
  rmSync(report, { force: true });
  const options = ['--bail=1', '--reporter=json', `--outputFile=${report}`];
  const code = await run('vitest', ['run', ...files, ...options], batchSeconds);
  if (code === 0) return { failed: [], isUnsure: false };
  if (code === 'timeout' || !existsSync(report)) return { failed: [...files], isUnsure: true };
  const content = readFileSync(report, 'utf8');
  const { testResults } = JSON.parse(content) as { testResults: { name: string; status: string }[] };
  const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => name.slice(copy.length + 1));
  return failed.length > 0
    ? { failed, isUnsure: /timed out|timeout|ECONNRE/i.test(content) }
    : { failed: [...files], isUnsure: true };
}

/** Whether a test file fails even if no fault is inserted. */
const failsAnyway = new Map<string, boolean>();

/** The test that noticed the fault; undefined if none did. */
async function killerOf(mutant: Mutant, tests: readonly string[]): Promise<string | undefined> {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, 'utf8');
  let from = 0;
  for (const size of batches) {
    const batch = tests.slice(from, from + size);
    from += size;
    if (batch.length === 0) return undefined;
    writeFileSync(path, withMutant(source, mutant));
    const { failed, isUnsure } = await runTests(batch).finally(() => writeFileSync(path, source));
    if (failed.length === 0) continue;
    const unknown = failed.filter((file) => !failsAnyway.has(file));
    const without = unknown.length > 0 ? (await runTests(unknown)).failed : [];
    for (const file of unknown) failsAnyway.set(file, without.includes(file));
    const suspects = failed.filter((file) => !failsAnyway.get(file));
    if (suspects.length === 0) continue;
    if (!isUnsure) return suspects[0];
    // A test that failed only because the machine was busy does not fail again.
    writeFileSync(path, withMutant(source, mutant));
    const { failed: again } = await runTests(suspects).finally(() => writeFileSync(path, source));
    if (again.length > 0) return again[0];
  }
  return undefined;
}

const withMutant = (source: string, { start, end, instead }: Mutant) =>
  source.slice(0, start) + instead + source.slice(end);

/** Checks the types of src alone, which takes a fraction of the time. */
const sourceConfig = 'tsconfig.src.json';

async function compiles(mutant: Mutant): Promise<boolean> {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, 'utf8');
  writeFileSync(path, withMutant(source, mutant));
  const args = ['-p', sourceConfig, '--incremental', '--tsBuildInfoFile', '../tsc.json'];
  const code = await run('tsc', args, 900).finally(() => writeFileSync(path, source));
  return code === 0;
}

spawnSync('git', ['worktree', 'add', '--detach', copy, 'HEAD'], { cwd: root, stdio: 'ignore' });
for (const modules of ['node_modules', 'tools/node_modules']) symlinkSync(join(root, modules), join(copy, modules));
const exclude = ['src/transports/console/browser'];
writeFileSync(join(copy, sourceConfig), JSON.stringify({ extends: './tsconfig.json', include: ['src'], exclude }));
try {
  const sources = globSync('src/**/*.ts', { cwd: copy, exclude: ['**/*.d.ts', 'src/transports/console/**'] }).sort();
  const folders = Map.groupBy(sources, (file) => file.split('/')[1]!);
  const known = new Map<string, string[]>();
  const tests = globSync('test/**/*.test.ts', { cwd: copy }).map((file) => ({ file, steps: reach(file, known) }));
  const drawn: string[][] = [];
  let survivors = 0;
  let names: string[] = [];
  for (let number = 1; number <= Number(count); ) {
    // Each folder is used once before any is used twice.
    if (names.length === 0) names = [...folders.keys()];
    const files = folders.get(names.splice(random(names.length), 1)[0]!)!;
    const all = files.flatMap(mutantsOf);
    const mutant = all[random(all.length)];
    if (!mutant || !(await compiles(mutant)) || number++ < Number(first)) continue;
    const folder = mutant.file.split('/')[1]!;
    const name = basename(mutant.file, '.ts');
    const rankOf = (file: string) => {
      if (basename(file, '.test.ts') === name) return 0;
      return (file.startsWith(`test/${folder}/`) ? 1 : 3) + Number(slowFiles.includes(file));
    };
    const closest = tests
      .filter(({ steps }) => steps.has(mutant.file))
      .sort(
        (one, other) =>
          rankOf(one.file) - rankOf(other.file) ||
          one.steps.get(mutant.file)! - other.steps.get(mutant.file)! ||
          one.steps.size - other.steps.size,
      )
      .map(({ file }) => file);
    const source = readFileSync(join(copy, mutant.file), 'utf8');
    const killer = await killerOf(mutant, closest);
    if (killer === undefined) survivors++;
    const change = [source.slice(mutant.start, mutant.end), mutant.instead].map((text) =>
      text.replace(/\s+/g, ' ').slice(0, 60),
    );
    drawn.push([`${mutant.file}:${mutant.line}`, change.join(' -> '), killer ?? 'SURVIVED']);
    console.log(`${number - 1} ${drawn.at(-1)!.join(' | ')}`);
  }
  const killed = drawn.length - survivors;
  console.log(`seed ${seed}: ${killed} of ${drawn.length} killed (${Math.round((100 * killed) / drawn.length)} %)`);
} finally {
  spawnSync('git', ['worktree', 'remove', '--force', copy], { cwd: root, stdio: 'ignore' });
}

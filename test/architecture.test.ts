// Tests rules for the code base: imports lead to lower folders only, file names are nouns of the problem domain, files
// begin with a header, engines are reached only by their registry, and nothing is unused.
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { parseSync, Visitor } from 'vite';
import { expect, test } from 'vitest';
import { registry } from '../src/engines/registry.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const sources = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.d.ts'));
const tests = globSync('{test,bench,examples,tools}/**/*.ts', { cwd: root, exclude: ['**/node_modules'] });
/** Modules that run in a browser. */
const browserModules = globSync('src/transports/console/browser/*.js', { cwd: root });
/** All modules that run in production. */
const modules = [...sources, ...browserModules];
const everything = [...modules, ...tests];

/** Rooms from the lowest to the highest; rooms on one line do not import each other. */
const order = [
  'platform',
  'contract text audio',
  'engines accounts',
  'speech',
  'clips',
  'library',
  'api',
  'transports',
  'app',
  'main',
];
const ranks = Object.fromEntries(order.flatMap((rooms, rank) => rooms.split(' ').map((room) => [room, rank] as const)));
const roomOf = (file: string) => file.split('/')[1]!.replace(/\.ts$/, '');
const importsOf = (file: string) =>
  [
    ...read(file).matchAll(
      /^(?:import[^;]*?|export (?:type )?\{[^}]*\} from )'(\.[^']+)'|import\('(\.[^']+)'\)|new URL\('(\.[^']+)', import/gms,
    ),
  ].map((match) => normalize(join(dirname(file), (match[1] ?? match[2] ?? match[3])!)));

/** The files that are loaded with this one. */
const loadedBy = (file: string) =>
  [...read(file).matchAll(/^(?:import|export) (?!type )\{([^}]*)\} from '(\.[^']+)'/gm)]
    .filter(([, names]) => names!.split(',').some((name) => name.trim() !== '' && !name.trim().startsWith('type ')))
    .map((match) => normalize(join(dirname(file), match[2]!)));

const visitSyntax = (file: string, visitor: ConstructorParameters<typeof Visitor>[0]) =>
  new Visitor(visitor).visit(parseSync(file, read(file)).program);
const lineOf = (file: string, offset: number) => read(file).slice(0, offset).split('\n').length;

/** Rooms that others use through a face, the file `src/ROOM.ts`. */
const faced = order.slice(1, -2).flatMap((rooms) => rooms.split(' '));
const isFace = (file: string) => faced.some((room) => file === `src/${room}.ts`);
/** The files that run in a worker. They import files, because a face would load a whole room into each worker. */
const inWorkers = new Set<string>();
const enterWorker = (file: string) => {
  if (inWorkers.has(file) || !sources.includes(file)) return;
  inWorkers.add(file);
  loadedBy(file).forEach(enterWorker);
};
sources.filter((file) => /-(thread|process|child|worker)\.ts$/.test(file)).forEach(enterWorker);

test('a room imports another one through its face', () => {
  const past = sources
    .filter((file) => !isFace(file) && !inWorkers.has(file) && basename(file) !== 'settings.ts')
    .flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith('src/'))
        .filter((target) => faced.includes(roomOf(target)) && roomOf(target) !== roomOf(file) && !isFace(target))
        .map((target) => `${file} -> ${target}`),
    );
  expect(past).toEqual([]);
});

test('a face shows what other rooms use, and nothing else', () => {
  const names = (text: string) => [...text.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) => list!.split(','));
  const clean = (name: string) =>
    name
      .trim()
      .replace(/^type /, '')
      .replace(/ as .*/, '');
  const unused = faced.flatMap((room) => {
    const outside = sources.filter((file) => roomOf(file) !== room).map(read);
    const used = new Set(
      outside
        .flatMap((text) => [
          ...text.matchAll(new RegExp(`^import (?:type )?(\\{[^}]*\\}) from '[./]*/${room}\\.ts'`, 'gm')),
        ])
        .flatMap(([, list]) => names(list!).map(clean)),
    );
    const shown = names(read(`src/${room}.ts`))
      .map(clean)
      .filter(Boolean);
    return shown.filter((name) => !used.has(name)).map((name) => `src/${room}.ts: ${name}`);
  });
  expect(unused).toEqual([]);
});

test('every room has a rank', () => {
  expect(sources.filter((file) => ranks[roomOf(file)] === undefined)).toEqual([]);
});

test('imports go down, and rooms of equal rank do not know each other', () => {
  const upward = sources.flatMap((file) =>
    importsOf(file)
      .filter((target) => target.startsWith('src/') && roomOf(target) !== roomOf(file))
      .filter((target) => ranks[roomOf(target)]! >= ranks[roomOf(file)]!)
      .map((target) => `${file} -> ${target}`),
  );
  expect(upward).toEqual([]);
});

test('no files import each other in a circle, types included', () => {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
    if (path.includes(file) || done.has(file)) return;
    for (const target of importsOf(file)) if (modules.includes(target)) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of modules) visit(file, []);
  expect(circles).toEqual([]);
});

test('no literal spreads a literal: its members are written out', () => {
  const spreads = modules.flatMap((file) => {
    const found: string[] = [];
    visitSyntax(file, {
      SpreadElement({ argument, start }) {
        if (['ObjectExpression', 'ArrayExpression'].includes(argument.type))
          found.push(`${file}:${lineOf(file, start)}`);
      },
    });
    return found;
  });
  expect(spreads).toEqual([]);
});

test('names are kebab-case nouns of the problem', () => {
  const banned =
    /^(index|utils?|helpers?|common|shared|misc|lib|types?|constants?|base|impl|managers?|handlers?|core)$/;
  const bad = everything.filter((file) =>
    file
      .split('/')
      .some((part) => banned.test(part.split('.')[0]!) || !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*$/.test(part)),
  );
  expect(bad).toEqual([]);
});

test('a file opens with one to six lines that say what it is, more only to draw a format', () => {
  const bad = everything.filter((file) => {
    const lines = read(file)
      .replace(/^#!.*\n/, '')
      .split('\n');
    const opening = lines.slice(
      0,
      lines.findIndex((line) => !line.startsWith('//')),
    );
    const draws = opening.some((line) => /^\/\/ {4,}\S/.test(line));
    return opening.length < 1 || (opening.length > 6 && !draws);
  });
  expect(bad).toEqual([]);
});

test('the name of an engine appears only in its own files and the registry', () => {
  const outside = sources.filter((file) => !file.startsWith('src/engines/'));
  // The packages of gRPC's error details have Google's name, but do not belong to its engine.
  const words = (file: string) =>
    read(file)
      .toLowerCase()
      .replaceAll(/google[./](rpc|aip|api|protobuf)/g, '');
  const leaks = registry.flatMap(({ name }) =>
    outside.filter((file) => words(file).includes(name)).map((file) => `${file} names ${name}`),
  );
  expect(leaks).toEqual([]);
});

test('every source file is reached from the command line', () => {
  const reached = new Set<string>();
  const visit = (file: string) => {
    if (reached.has(file) || !sources.includes(file)) return;
    reached.add(file);
    importsOf(file).forEach(visit);
  };
  visit('src/main.ts');
  expect(sources.filter((file) => !reached.has(file))).toEqual([]);
});

test('what runs in a browser imports nothing from elsewhere but types', () => {
  const elsewhere = browserModules.flatMap((file) =>
    [...read(file).matchAll(/^import\b[^;]*?'([^']+)'|@import [^'\n]*'([^']+)'|\bimport\('([^']+)'\)/gm)]
      .map((match) => (match[1] ?? match[2] ?? match[3])!)
      .filter((target) => !/^\.\/[a-z-]+\.(js|d\.ts)$|^(\.\.\/){4}gen\/openapi\.ts$/.test(target))
      .map((target) => `${file} -> ${target}`),
  );
  expect(elsewhere).toEqual([]);
});

test('what a file exports, another file uses', () => {
  const words = new Map(everything.map((file) => [file, new Set(read(file).match(/\w+/g))]));
  const unused = modules.flatMap((file) =>
    [...read(file).matchAll(/^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm)]
      .map((match) => match[1]!)
      .filter((name) => !everything.some((other) => other !== file && words.get(other)!.has(name)))
      // A type may be exported because an exported function refers to it.
      .filter((name) => !new RegExp(`^export (interface|type) ${name}\\b`, 'm').test(read(file)))
      .map((name) => `${file}: ${name}`),
  );
  expect(unused).toEqual([]);
});

test('nothing is left for later', () => {
  const marks = new RegExp(['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', '\\.on' + 'ly\\('].join('|'));
  expect(everything.filter((file) => marks.test(read(file)))).toEqual([]);
});

test('a test mirrors the file it tests', () => {
  const mirrored = tests.filter(
    (file) => file.startsWith('test/') && file.endsWith('.test.ts') && dirname(file) !== 'test',
  );
  const folders = new Set(['conformance', 'contract', 'distributed', 'examples']);
  const lost = mirrored.filter((file) => {
    const room = file.split('/')[1]!;
    return !folders.has(room) && !sources.some((source) => source.startsWith(`src/${room}/`));
  });
  expect(lost.map((file) => basename(file))).toEqual([]);
});

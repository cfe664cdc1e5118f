// Tests the documents without running them: the languages of code blocks, the reasons of blocks that are not run,
// settings and paths. docs.programs.ts runs the blocks.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { allSettings } from '../src/app/config.ts';
import { registry } from '../src/engines/registry.ts';
import { blocksOf, pages, readPage, root } from './document-blocks.ts';

const blocks = pages.flatMap(blocksOf);
const languages = ['sh', 'python', 'ts', 'js', 'go', 'json', 'toml', 'yaml', 'html', 'text', 'console'];

test('every block says what it is written in', () => {
  expect(blocks.filter(({ language }) => !languages.includes(language)).map(({ place }) => place)).toEqual([]);
  const names = blocks.flatMap(({ name }) => name ?? []);
  expect(names).toEqual([...new Set(names)]);
  const programs = blocks.filter(({ language, notRun }) => /^(python|[jt]s)$/.test(language) && notRun === undefined);
  expect(programs.filter(({ name }) => name === undefined)).toEqual([]);
});

test('what is not run has its reason, and is counted', () => {
  const reasons = blocks.flatMap(({ notRun }) => notRun ?? []);
  const counts = Object.fromEntries(reasons.map((reason) => [reason, reasons.filter((one) => one === reason).length]));
  expect(counts).toEqual({
    'is what CI runs': 2,
    'needs Docker': 2,
    'needs a model to download': 2,
    'needs a server elsewhere': 2,
    'needs an engine that clones': 1,
    'needs ghz': 1,
    'needs k6': 1,
    'run by livekit_turns.py': 1,
    'run by pipecat_turns.py': 1,
  });
});

test('a block that a program of the tests runs has the lines of that program', () => {
  const shown = blocks.flatMap(({ notRun = '', text }) => {
    const [, file] = /^run by (\S+)$/.exec(notRun) ?? [];
    const code = file && readFileSync(join(root, 'test/programs/clients', file), 'utf8');
    return code ? text.split('\n').map((line) => [line, code.includes(line)] as const) : [];
  });
  expect(shown.length).toBeGreaterThan(5);
  expect(shown.filter(([, isRun]) => !isRun)).toEqual([]);
});

test('docs/api.md tells of every path and service', () => {
  const page = readPage('docs/api.md');
  const { paths } = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
  const collections = Object.keys(paths).map((path) => /^\/[^/]+(\/[^/{]+)?/.exec(path)![0]);
  const protos = readdirSync(join(root, 'proto/sonant/v1')).map((name) =>
    readFileSync(join(root, 'proto/sonant/v1', name), 'utf8'),
  );
  const services = protos.flatMap((proto) => [...proto.matchAll(/^service (\w+)/gm)].map(([, name]) => name!));
  expect([...collections, ...services].filter((name) => !page.includes(name))).toEqual([]);
});

test('output is shown without the command that makes it', () => {
  const shown = blocks.filter(({ language }) => language === 'text' || language === 'console');
  const commands = shown.filter(({ text }) => /^(\$ |(npm|npx|curl|node|python3|docker|kubectl) )/m.test(text));
  expect(commands.map(({ place }) => place)).toEqual([]);
});

test('what is to be parsed can be', () => {
  for (const { language, text } of blocks) {
    if (language === 'json') JSON.parse(text);
    if (language === 'toml') parseToml(text);
    if (language === 'yaml') expect(parseYaml(text)).toBeTypeOf('object');
  }
});

test('what is set in TOML is a setting', () => {
  const known = allSettings(registry).map(({ name }) => name);
  const set = blocks.flatMap(({ language, text }) => (language === 'toml' ? Object.keys(parseToml(text)) : []));
  expect(set.filter((name) => !known.includes(`SONANT_${name.toUpperCase()}`))).toEqual([]);
});

test('every setting is in its table, and every standard variable is named', () => {
  const page = readPage('docs/settings.md');
  const documented = [...page.matchAll(/^\| `(SONANT_\w+)`/gm)].map((match) => match[1]);
  const names = allSettings(registry).map(({ name }) => name);
  expect(documented).toEqual(names.filter((name) => name.startsWith('SONANT_')));
  // The variables for single signals are described once for all signals.
  const standard = names.filter((name) => !/^SONANT_|^OTEL_EXPORTER_OTLP_(TRACES|METRICS)_/.test(name));
  expect(standard.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

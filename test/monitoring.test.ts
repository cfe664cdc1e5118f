// Tests that Prometheus's own tool accepts the alert rules, and that rules and dashboard only use metrics and labels
// that the service has.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAiCompatible } from '../src/engines/openai-compatible/openai-compatible.ts';
import { openConfigured } from './app/open-configured.ts';
import { openOpenAiServer } from './engines/openai-server.ts';
import { isInstalled } from './programs.ts';

const folder = join(import.meta.dirname, '../deploy');
const rulesFile = join(folder, 'prometheus/sonant.rules.yml');

/** Names of the metrics of a service with everything on that has metrics. */
async function readFamilyNames(): Promise<string[]> {
  const { url } = await openOpenAiServer();
  const settings = { SONANT_OPENAI_URL: url, OTEL_EXPORTER_OTLP_ENDPOINT: url };
  const service = await openConfigured(settings, { definitions: [openAiCompatible] });
  const text = await (await fetch(`${service.url}/metrics`)).text();
  return [...text.matchAll(/^# HELP (\S+)/gm)].map(([, name]) => name!);
}

const metricsIn = (text: string) =>
  [...text.matchAll(/\b(?:sonant|rpc_server|http_server)_[a-z_]+/g)].map(([name]) =>
    name.replace(/_(bucket|sum|count)$/, ''),
  );

test('the rules and the dashboard name metrics that the service has, and the documents name all of them', async () => {
  const known = await readFamilyNames();
  const dashboard = readFileSync(join(folder, 'grafana/sonant.json'), 'utf8');
  const rules = readFileSync(rulesFile, 'utf8');
  const named = [...metricsIn(rules), ...metricsIn(dashboard)];
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
  const documents = [readFileSync(join(folder, '../docs/monitoring.md'), 'utf8')];
  const told = metricsIn(documents.join('\n'));
  expect(known.filter((name) => !told.includes(name))).toEqual([]);
  expect(told.filter((name) => !known.includes(name))).toEqual([]);
  expect(new Set(known).size).toBe(known.length);
});

test('the dashboard is one that Grafana can load: ids and places of panels are unique, and each asks something', () => {
  const { panels, templating, schemaVersion, uid, title } = JSON.parse(
    readFileSync(join(folder, 'grafana/sonant.json'), 'utf8'),
  );
  expect([uid, title, schemaVersion >= 36]).toEqual(['sonant', 'Sonant', true]);
  const unique = (values: unknown[]) => new Set(values.map((value) => JSON.stringify(value))).size === values.length;
  type Panel = { id: number; gridPos: { x: number; y: number; w: number }; targets: { expr: string; refId: string }[] };
  expect(unique(panels.map(({ id }: Panel) => id))).toBe(true);
  expect(unique(panels.map(({ gridPos }: Panel) => gridPos))).toBe(true);
  for (const { gridPos, targets } of panels as Panel[]) {
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    expect(targets.length).toBeGreaterThan(0);
    expect(unique(targets.map(({ refId }) => refId))).toBe(true);
  }
  const variables = templating.list.map(({ name }: { name: string }) => name);
  const used = [...JSON.stringify(panels).matchAll(/\$\{?([a-z]\w*)/g)].map(([, name]) => name);
  expect(used.filter((name) => !variables.includes(name))).toEqual([]);
});

test.skipIf(!isInstalled('promtool'))('Prometheus takes the rules, and they fire when they should', () => {
  const run = (...args: string[]) =>
    execFileSync('promtool', args, { cwd: join(folder, 'prometheus'), encoding: 'utf8', stdio: 'pipe' });
  expect(run('check', 'rules', 'sonant.rules.yml')).toContain('SUCCESS');
  expect(run('test', 'rules', 'sonant.rules.test.yml')).toContain('SUCCESS');
});

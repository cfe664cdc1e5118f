// Tests the dashboard against Grafana's own types (@grafana/schema, installed only for this test), which refuse
// misnamed members and invalid values.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { newFolder } from './new-folder.ts';

const root = join(import.meta.dirname, '..');
const run = promisify(execFile);
const schema = '@grafana/schema@13.2.3';

/**
 * A panel with the options of time series, which the general panel type leaves open. The file contains the values of
 * enums.
 */
const types = `
import type { Dashboard, DataSourceRef, Panel } from '@grafana/schema';
import type { FieldConfig, Options } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
type Plain<T> = T extends string ? \`\${T}\` | T : T extends (infer E)[] ? Plain<E>[]
  : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type Some<T> = T extends (infer E)[] ? Some<E>[] : T extends object ? { [K in keyof T]?: Some<T[K]> } : T;
type Fields = NonNullable<Panel['fieldConfig']>;
type Series = Omit<Plain<Panel>, 'type' | 'options' | 'fieldConfig' | 'targets'> & {
  type: 'timeseries';
  options: Plain<Some<Options>>;
  fieldConfig: Omit<Plain<Fields>, 'defaults'> & {
    defaults: Omit<Plain<Fields['defaults']>, 'custom'> & { custom?: Plain<Some<FieldConfig>> };
  };
  targets: { refId: string; expr: string; legendFormat?: string; datasource: DataSourceRef }[];
};
export const dashboard: Omit<Plain<Dashboard>, 'panels'> & { panels: Series[] } =`;

test("Grafana's own types take the dashboard, and would refuse faults in it", { timeout: 300_000 }, async () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'package.json'), '{"private": true}');
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', schema], { cwd: folder });
  const compilerOptions = { noEmit: true, strict: true, skipLibCheck: true, target: 'es2024', types: [] };
  const modules = { module: 'nodenext', moduleResolution: 'nodenext' };
  const config = { compilerOptions: { ...compilerOptions, ...modules }, files: ['dashboard.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const complaints = async (json: string): Promise<string> => {
    writeFileSync(join(folder, 'dashboard.ts'), `${types} ${json};`);
    const tsc = run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]);
    return tsc.then(
      () => '',
      ({ stdout }) => stdout,
    );
  };
  const file = readFileSync(join(root, 'deploy/grafana/sonant.json'), 'utf8');
  expect(await complaints(file)).toBe('');
  expect(await complaints(file.replace('"gridPos"', '"gridPosition"'))).toContain('gridPosition');
  expect(await complaints(file.replace('"displayMode": "list"', '"displayMode": "lists"'))).toContain('"lists"');
  expect(await complaints(file.replace('"fillOpacity": 20', '"fillOpacity": "20"'))).toContain('not assignable');
});

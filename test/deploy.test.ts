// Checks deploy/ against the service: its settings exist, and its grace periods are long enough. deploy.programs.ts
// runs the balancer before two replicas.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allSettings, loadConfig } from '../src/app/config.ts';
import { registry } from '../src/engines/registry.ts';

const deploy = join(import.meta.dirname, '../deploy');

test('the settings that are named there exist', () => {
  const known = new Set<string>(allSettings(registry).map(({ name }) => name));
  const files = globSync('**', { cwd: deploy, withFileTypes: true }).filter((file) => file.isFile());
  const named = files.flatMap(({ parentPath, name }) =>
    [...readFileSync(join(parentPath, name), 'utf8').matchAll(/SONANT_[A-Z0-9_]*/g)].map(([setting]) => setting),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test('the grace period of a replica exceeds its time to drain', () => {
  const numberIn = (pattern: RegExp, files: readonly string[], fallback?: number) => {
    const [, found] = pattern.exec(files.map((file) => readFileSync(join(deploy, file), 'utf8')).join('')) ?? [];
    return Number(found ?? fallback);
  };
  const drainSeconds = loadConfig({ env: {}, folder: deploy, engines: [] }).drainSeconds;
  for (const [given, ...files] of [
    [
      /^ *terminationGracePeriodSeconds: (\d+)$/m,
      'kubernetes/base/deployment.yaml',
      'kubernetes/base/kustomization.yaml',
    ],
    [/^ *stop_grace_period: (\d+)s$/m, 'compose.yaml'],
  ] as const) {
    const leave = numberIn(/SONANT_LEAVE_SECONDS(?:: "|=)(\d+)/, files);
    const drain = numberIn(/SONANT_DRAIN_SECONDS(?:: "|=)(\d+)/, files, drainSeconds);
    expect(leave).toBeGreaterThanOrEqual(4);
    expect(numberIn(given, files)).toBeGreaterThanOrEqual(leave + drain + 5);
  }
});

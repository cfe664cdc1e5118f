// The README's table of settings has every setting that there is, in their order. Its code is run by docs.test.ts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allSettings } from '../src/config.ts';
import { registry } from '../src/engines/registry.ts';

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');

test('every setting is in its table', () => {
  const documented = [...readme.matchAll(/^\| `(SONANT_\w+)`/gm)].map((match) => match[1]);
  expect(documented).toEqual(allSettings(registry).map(({ name }) => name));
});

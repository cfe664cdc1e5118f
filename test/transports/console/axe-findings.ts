// Finds accessibility faults on a page with axe (https://github.com/dequelabs/axe-core): one line per element, worst
// first.
import { readFileSync } from 'node:fs';
import { toolFile } from '../../tool-packages.ts';
import type { Page } from './chromium.ts';

const axe = readFileSync(toolFile('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

export async function axeFindings(page: Page, options: object = {}): Promise<string[]> {
  if (!(await page.run('Boolean(window.axe)'))) await page.run(`${axe}; undefined`);
  const { violations } = await page.run<{ violations: Violation[] }>(`axe.run(${JSON.stringify(options)})`);
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${impact}: ${id}: ${html}: ${failureSummary}`),
  );
}

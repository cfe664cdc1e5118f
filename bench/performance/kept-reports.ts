// The reports shown in docs/performance.md are stored in docs/performance/, in the repository. Reports of the last runs are
// in bench/results/, which is ignored by Git. `npm run bench report` copies newer reports and writes the page.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchReport, resultsFolder } from '../measuring/report.ts';
import { type Reports, renderPage, shownBenches } from './page.ts';

const docs = join(import.meta.dirname, '../../docs');
const kept = join(docs, 'performance');

/** Reads the reports, in the order of the page. */
export function readReports(folder: string = kept): Reports {
  const names = new Set(readdirSync(folder));
  const isThere = (bench: string) => names.has(`${bench}.json`);
  const read = (bench: string): BenchReport => JSON.parse(readFileSync(join(folder, `${bench}.json`), 'utf8'));
  return new Map(shownBenches.filter(isThere).map((bench) => [bench, read(bench)]));
}

export function writePage(): void {
  mkdirSync(kept, { recursive: true });
  mkdirSync(resultsFolder, { recursive: true });
  const before = readReports();
  for (const [bench, report] of readReports(resultsFolder)) {
    if (report.startedAt <= (before.get(bench)?.startedAt ?? '')) continue;
    writeFileSync(join(kept, `${bench}.json`), `${JSON.stringify(report, null, 2)}\n`);
    console.log(`docs/performance/${bench}.json is of ${report.startedAt}`);
  }
  const files = renderPage(readReports());
  for (const name of readdirSync(kept)) if (name.endsWith('.svg')) rmSync(join(kept, name));
  for (const [path, content] of files) writeFileSync(join(docs, path), content);
  console.log(`docs/performance.md and ${files.size - 1} plots are written`);
}

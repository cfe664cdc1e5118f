// Prints `N passed, N failed, N skipped` from the test runner's JSON report. A report that is missing or holds no test
// counts as a failure. Plain JavaScript, so that any Node can run it.
import { readFileSync } from 'node:fs';

const count = { passed: 0, failed: 0, skipped: 0 };
try {
  for (const file of JSON.parse(readFileSync(process.argv[2], 'utf8')).testResults) {
    if (file.status === 'failed' && file.assertionResults.length === 0) count.failed++;
    for (const { status } of file.assertionResults) count[status in count ? status : 'skipped']++;
  }
} catch {
  count.failed++;
}
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);

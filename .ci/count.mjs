// Prints the sum of the test runner's JSON reports as `N passed, N failed, N skipped`. A report that is missing or
// unreadable counts as a failure. Plain JavaScript, so that any version of Node can run it.
import { readFileSync } from 'node:fs';

const count = { passed: 0, failed: 0, skipped: 0 };
for (const report of process.argv.slice(2)) {
  try {
    for (const file of JSON.parse(readFileSync(report, 'utf8')).testResults) {
      if (file.status === 'failed' && file.assertionResults.length === 0) count.failed++;
      for (const { status } of file.assertionResults) count[status in count ? status : 'skipped']++;
    }
  } catch {
    count.failed++;
  }
}
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);

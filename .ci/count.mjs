// Prints the tests that failed, and the sum of the test runner's JSON reports as `N passed, N failed, N skipped`. A
// report that is missing or unreadable counts as a failure. Plain JavaScript, so that any version of Node can run it.
import { readFileSync } from 'node:fs';

const count = { passed: 0, failed: 0, skipped: 0 };
const fail = (why) => {
  count.failed++;
  console.log(`FAILED ${why.slice(0, 2000)}`);
};
for (const report of process.argv.slice(2)) {
  try {
    for (const file of JSON.parse(readFileSync(report, 'utf8')).testResults) {
      if (file.status === 'failed' && file.assertionResults.length === 0) fail(`${file.name}: ${file.message}`);
      for (const { status, fullName, failureMessages } of file.assertionResults) {
        if (status === 'failed') fail(`${file.name} > ${fullName}: ${failureMessages.join('\n')}`);
        else count[status in count ? status : 'skipped']++;
      }
    }
  } catch (error) {
    fail(`${report}: ${error}`);
  }
}
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);

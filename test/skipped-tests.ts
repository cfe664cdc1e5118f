// Reporter that ends the output of the tests with the reasons for which tests were skipped.
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { missingPrograms } from './programs.ts';

const withoutReason = 'a program or server is missing, or the system is another one';

// biome-ignore lint/style/noDefaultExport: that is how vitest finds it
export default class SkippedTests implements Reporter {
  private vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const test of modules.flatMap(({ children }) => [...children.allTests('skipped')])) {
      const { note } = test.result() as { note?: string };
      const reason = note ?? withoutReason;
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    // With -t, all other tests count as skipped.
    if (counts.size === 0 || this.vitest?.config.testNamePattern) return;
    console.log('Skipped tests:');
    for (const [reason, count] of counts) console.log(`  ${count}: ${reason}`);
    const { programs, packages } = missingPrograms();
    if (programs.length) console.log(`  missing: ${programs.join(', ')} (apt-get install ${packages.join(' ')})`);
  }
}

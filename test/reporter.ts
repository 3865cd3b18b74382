import { relative } from "node:path";
import type { Reporter, TestCase, TestModule, TestRunEndReason } from "vitest/node";
import { DefaultReporter } from "vitest/node";

interface Suite {
  passed: number;
  failed: number;
  skipped: number;
  milliseconds: number;
}

/** The default report, then each suite with its seconds, every skip by name, and one closing line: `N passed, N failed, N skipped`. */
class SuiteReporter extends DefaultReporter implements Reporter {
  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: Parameters<DefaultReporter["onTestRunEnd"]>[1],
    reason: TestRunEndReason,
  ): void {
    super.onTestRunEnd(modules, errors, reason);
    const suites = new Map<string, Suite>();
    const skips: string[] = [];
    for (const module of modules) {
      const suite = suites.get(suiteOf(module)) ?? { passed: 0, failed: 0, skipped: 0, milliseconds: 0 };
      suites.set(suiteOf(module), suite);
      suite.milliseconds += module.diagnostic().duration;
      // A file that could not even be loaded has no failing test, but it failed.
      if (module.state() === "failed" && [...module.children.allTests("failed")].length === 0) suite.failed += 1;
      for (const test of module.children.allTests()) count(test, suite, skips);
    }
    for (const [name, suite] of suites) {
      this.ctx.logger.log(
        `suite ${name.padEnd(14)} ${String(suite.passed).padStart(5)} passed ${String(suite.failed).padStart(3)} failed ` +
          `${String(suite.skipped).padStart(3)} skipped ${(suite.milliseconds / 1000).toFixed(1).padStart(7)} s`,
      );
    }
    for (const skip of skips) this.ctx.logger.log(`skipped: ${skip}`);
    const all = [...suites.values()];
    const sum = (pick: (suite: Suite) => number): number => all.reduce((total, suite) => total + pick(suite), 0);
    const failed = sum((suite) => suite.failed) + errors.length;
    this.ctx.logger.log(`${sum((s) => s.passed)} passed, ${failed} failed, ${sum((s) => s.skipped)} skipped`);
  }
}

function count(test: TestCase, suite: Suite, skips: string[]): void {
  const state = test.result().state;
  if (state === "passed") suite.passed += 1;
  else if (state === "failed") suite.failed += 1;
  else if (state === "skipped") {
    suite.skipped += 1;
    skips.push(test.fullName);
  }
}

/** First folder below test/, or the file itself for the few at the top. */
function suiteOf(module: TestModule): string {
  const [, first = "", second] = relative(process.cwd(), module.moduleId).split("/");
  return second === undefined ? "repository" : first;
}

// Vitest loads a reporter given by path through its default export.
// biome-ignore lint/style/noDefaultExport: required by the loader
export default SuiteReporter;

/** Says at the end of `npm test` what it left to CI. */
import type { Reporter, TestModule } from "vitest/node";
import { IN_CI, inCI } from "./ci.ts";

export default class LeftToCI implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (inCI) return;
    const left = modules.flatMap((module) => [...module.children.allTests("skipped")].filter(({ fullName }) => fullName.includes(IN_CI)));
    if (left.length === 0) return;
    const files = new Set(left.map(({ module }) => module.moduleId)).size;
    console.log(
      ` Left to CI: ${left.length} tests of ${files} files, and longer runs of random tests. To run them here: CI=true npm test\n`,
    );
  }
}

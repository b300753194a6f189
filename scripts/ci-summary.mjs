/** Adds up what `npm test` and `npm run check` counted; arguments: the folder of their reports and the two exit codes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [folder, testsExit, checkExit] = process.argv.slice(2);
const tests = countTests();
const checks = countChecks();
const passed = tests.passed + checks.passed;
const failed = tests.failed + checks.failed;
console.log(
  `tests: ${tests.passed} passed, ${tests.failed} failed, ${tests.skipped} skipped; checks: ${checks.passed} passed, ${checks.failed} failed`,
);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

/** A file that cannot be loaded has no tests to count, and an unhandled error fails none: each run that failed counts at least once. */
function countTests() {
  const report = readReport("tests.json");
  const results = report === undefined ? {} : JSON.parse(report);
  const unloadable = (results.testResults ?? []).filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
  const failed = (results.numFailedTests ?? 0) + unloadable;
  const skipped = (results.numPendingTests ?? 0) + (results.numTodoTests ?? 0);
  return { passed: results.numPassedTests ?? 0, failed: atLeastOne(failed, testsExit), skipped };
}

function countChecks() {
  const counts = /^(\d+) passed, (\d+) failed$/mu.exec(readReport("check.txt") ?? "");
  return { passed: Number(counts?.[1] ?? 0), failed: atLeastOne(Number(counts?.[2] ?? 0), checkExit) };
}

function atLeastOne(failed, exit) {
  return exit === "0" ? failed : Math.max(failed, 1);
}

function readReport(name) {
  try {
    return readFileSync(join(folder, name), "utf8");
  } catch {
    return undefined; // the run ended before it could write one; its exit code tells
  }
}

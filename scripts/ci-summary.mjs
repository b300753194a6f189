/**
 * Adds up what `npm test` and `npm run check` counted; arguments: the folder of their reports and the two exit codes.
 * With `--failed-files` and the folder: prints the test files that failed, one a line; none where an error outside every test came from another
 * file, or from none, for it would not come again with these.
 */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

const [first, second, checkExit] = process.argv.slice(2);
if (first === "--failed-files") printFailedFiles(second);
else summarize(first, second, checkExit);

function printFailedFiles(folder) {
  const failed = readTests(folder, "tests.json").testResults.filter(({ status }) => status === "failed");
  const names = new Set(failed.map(({ name }) => relative(process.cwd(), name)));
  const printed = stripVTControlCharacters(readReport(folder, "tests.txt") ?? "");
  const outside = Number(/^Vitest caught (\d+) unhandled error/mu.exec(printed)?.[1] ?? 0);
  const origins = [...printed.matchAll(/^This error originated in "([^"]+)" test file/gmu)].map(([, name]) => name);
  if (origins.length === outside && origins.every((name) => names.has(name))) for (const name of names) console.log(name);
}

function summarize(folder, testsExit, checkExit) {
  const tests = countTests(folder, testsExit);
  const checks = countChecks(folder, checkExit);
  const passed = tests.passed + checks.passed;
  const failed = tests.failed + checks.failed;
  for (const name of tests.passedAgain) console.log(`failed beside the other tests, and passed when run again: ${name}`);
  console.log(
    `tests: ${tests.passed} passed, ${tests.failed} failed, ${tests.skipped} skipped; checks: ${checks.passed} passed, ${checks.failed} failed`,
  );
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}

/** A file that cannot be loaded has no tests to count, and an unhandled error fails none: each run that failed counts at least once. */
function countTests(folder, exit) {
  const tests = readTests(folder, "tests.json");
  const again = readTests(folder, "again.json");
  const last = again.testResults.length > 0 ? again : tests;
  const stillFailing = new Set(failedNames(last));
  const passedAgain = failedNames(tests).filter((name) => !stillFailing.has(name));
  const unloadable = last.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
  return {
    passed: tests.numPassedTests + passedAgain.length,
    failed: atLeastOne(last.numFailedTests + unloadable, exit),
    skipped: tests.numPendingTests + tests.numTodoTests,
    passedAgain,
  };
}

function failedNames({ testResults }) {
  return testResults.flatMap((file) => file.assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName));
}

function countChecks(folder, exit) {
  const counts = /^(\d+) passed, (\d+) failed$/mu.exec(readReport(folder, "check.txt") ?? "");
  return { passed: Number(counts?.[1] ?? 0), failed: atLeastOne(Number(counts?.[2] ?? 0), exit) };
}

function atLeastOne(failed, exit) {
  return exit === "0" ? failed : Math.max(failed, 1);
}

function readTests(folder, name) {
  const report = readReport(folder, name);
  const none = { testResults: [], numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };
  return report === undefined ? none : { ...none, ...JSON.parse(report) };
}

function readReport(folder, name) {
  try {
    return readFileSync(join(folder, name), "utf8");
  } catch {
    return undefined; // the run ended before it could write one; its exit code tells
  }
}

/** A test that only CI runs, as it takes long: `test` with "(in CI)" behind its title, by which `npm test` counts what it left out. */
import { test, type TestFunction, type TestOptions } from "vitest";
import { IN_CI, inCI } from "./ci.ts";

export function testInCI(title: string, options: TestOptions, run: TestFunction): void;
export function testInCI(title: string, run: TestFunction, timeoutMs?: number): void;
export function testInCI(title: string, first: TestOptions | TestFunction, second?: TestFunction | number): void {
  const inTime = typeof second === "number" ? { timeout: second } : {};
  const [options, run] = typeof first === "function" ? [inTime, first] : [first, second as TestFunction];
  test.runIf(inCI)(`${title} ${IN_CI}`, options, run);
}

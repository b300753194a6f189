/** Bounds on work, which hold on a machine that is busy with something else. */
import { expect } from "vitest";

/**
 * What `act` returns, which may take so much processor time: many times what it needs, and far less than it would take if its cost grew with the
 * square of its input. Only for what is synchronous: other work of this process is counted too.
 */
export function inProcessorTime<Result>(maxMs: number, act: () => Result): Result {
  const before = process.cpuUsage();
  const result = act();
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(maxMs);
  return result;
}

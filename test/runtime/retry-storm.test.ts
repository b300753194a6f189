/** L13 of reliability: a dependency that is down, then half down, then back, under callers that retry at every level. */
import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime-options.ts";
import { seededRandom } from "../../src/testing/fake-ports.ts";
import { repeated } from "../ci.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

const CALLERS = repeated(2_000);
const SECOND_MS = 1_000;
/** Each caller asks once in so many seconds; they are spread over them. */
const EVERY_S = 10;
const PHASES = { steady: 30, down: 60, half: 60, recovered: 60 };

/** The dependency itself, through one tool, and through two. */
const ASKED = ["outside::dependency", "callers::one", "callers::two"];

interface Second {
  requests: number;
  /** What reached the dependency. */
  attempts: number;
}

/** Plays all of it in virtual time: per second, how many asked for the dependency and how often it was asked. */
async function storm(options: RuntimeOptions) {
  const random = seededRandom(13);
  const end = Object.values(PHASES).reduce((sum, seconds) => sum + seconds, 0);
  const seconds: Second[] = Array.from({ length: end + 120 }, () => ({ requests: 0, attempts: 0 }));
  const secondAt = (index: number): Second => seconds[index] ?? expect.fail("beyond the end");
  const now = (): number => Math.floor(ports.clock.now() / SECOND_MS);
  const failsNow = (): boolean => {
    const second = now() - PHASES.steady;
    return second >= 0 && (second < PHASES.down || (second < PHASES.down + PHASES.half && random.next() < 0.5));
  };
  const dependency = tool("dependency", () => {
    secondAt(now()).attempts++;
    if (failsNow()) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    return "up";
  });
  // Its own calls are tried again within calls that are tried again.
  const around = (name: string, inner: string): Tool =>
    tool(name, async (_input, context) => {
      const result = await context.execute({ name: inner, input: {} });
      if (result.status !== "ok") throw Object.assign(new Error(result.error?.message), { code: "ECONNRESET" });
      return result.output;
    });
  const { runtime, ports, events } = testRuntime({
    ...options,
    toolsets: [
      { name: "outside", tools: [dependency] },
      { name: "callers", tools: [around("one", "outside::dependency"), around("two", "callers::one")] },
    ],
  });
  const pending: Promise<unknown>[] = [];
  const began = ports.clock.wallTime();
  for (let second = 0; second < end; second++) {
    for (let caller = 0; caller < CALLERS / EVERY_S; caller++) {
      secondAt(second).requests++;
      pending.push(runtime.execute({ name: ASKED[caller % ASKED.length] ?? "" }));
      if (caller % 20 === 0) await ports.clock.advance(SECOND_MS / (CALLERS / EVERY_S / 20));
    }
  }
  await ports.clock.advance(60 * SECOND_MS);
  await Promise.all(pending);
  const opening = events.find((event) => event.type === "circuit-change" && event.state === "open");
  return { seconds, openedAt: opening?.type === "circuit-change" ? opening.at - began : undefined };
}

function between(seconds: readonly Second[], from: number, length: number): Second {
  return seconds
    .slice(from, from + length)
    .reduce((sum, { requests, attempts }) => ({ requests: sum.requests + requests, attempts: sum.attempts + attempts }), {
      requests: 0,
      attempts: 0,
    });
}

describe("L13 a retry storm is bounded", () => {
  test.each([
    ["with its circuit", {}],
    ["without a circuit, the retry budget alone", { circuit: false }],
  ] as const)("%s", async (_what, options) => {
    const { seconds, openedAt } = await storm(options);
    expect(between(seconds, PHASES.steady, PHASES.down).attempts).toBeGreaterThan(0);
    const untilBack = between(seconds, 0, PHASES.steady + PHASES.down); // the retries of a minute are a share of what was asked shortly before as well
    expect(untilBack.attempts / untilBack.requests).toBeLessThanOrEqual(1.1);
    const steady = between(seconds, 0, PHASES.steady).attempts / PHASES.steady;
    const recovery = seconds.slice(PHASES.steady + PHASES.down).map(({ attempts }) => attempts);
    expect(Math.max(...recovery)).toBeLessThanOrEqual(steady * 1.5);
    const back = between(seconds, PHASES.steady + PHASES.down + PHASES.half + 35, 20); // a probe is let through every 30 s
    expect(back.attempts).toBeGreaterThanOrEqual(back.requests);
    if (!("circuit" in options)) expect((openedAt ?? Infinity) - PHASES.steady * SECOND_MS).toBeLessThanOrEqual(SECOND_MS);
  });
});

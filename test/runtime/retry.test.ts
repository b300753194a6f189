import { describe, expect, test } from "vitest";
import type { Effects } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Outcome } from "../../src/core/error-codes.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

const reset = (): never => {
  throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
};

test("F3.12 F3.14 a failing read is attempted four times at about 0, 1, 3 and 7 s, and the result says so", async () => {
  const at: number[] = [];
  const { runtime, ports } = testRuntime({
    tools: [
      tool(
        "flaky",
        () => {
          at.push(ports.clock.now());
          return reset();
        },
        { effects: { reads: ["x"] } },
      ),
    ],
  });
  const pending = runtime.execute({ name: "flaky" });
  await ports.clock.advance(60_000);
  const result = await pending;
  expect([result.status, result.error?.code, result.attempts]).toEqual(["error", "network_error", 4]);
  expect(at.length).toBe(4);
  for (const [index, about] of [0, 1_000, 3_000, 7_000].entries())
    expect(Math.abs((at[index] ?? Infinity) - about)).toBeLessThanOrEqual(about * 0.6);
});

test("F3.12 a call that succeeds on the third attempt is ok, with its retries in the events", async () => {
  let left = 2;
  const { runtime, ports, trace } = testRuntime({ tools: [tool("flaky", () => (left-- > 0 ? reset() : "done"))] });
  const pending = runtime.execute({ name: "flaky" });
  await ports.clock.advance(10_000);
  const result = await pending;
  expect([result.status, result.output, result.attempts]).toEqual(["ok", "done", 3]);
  expect(trace()).toEqual(["call-start", "call-attempt", "call-retry", "call-attempt", "call-retry", "call-attempt", "call-end"]);
});

test("F3.13 a read whose error message names a transient failure is retried; other errors end at once", async () => {
  const words = ["timeout", "connection", "network", "temporary", "rate limit", "try again"];
  const { runtime, ports } = testRuntime({
    tools: [...words, "bad value"].map((word) =>
      tool(
        word,
        () => {
          throw new Error(`upstream: ${word} problem`);
        },
        { maxAttempts: 2 },
      ),
    ),
  });
  const pending = runtime.execute([...words, "bad value"].map((name) => ({ name })));
  await ports.clock.advance(60_000);
  expect((await pending).map((result) => result.attempts)).toEqual([2, 2, 2, 2, 2, 2, 1]);
});

test("B07 F3.13 a write that may have happened is never repeated; one that did not start is", async () => {
  let charges = 0;
  const writes = { effects: { writes: ["account"], external: true } };
  const { runtime, ports } = testRuntime({
    tools: [
      tool(
        "charge",
        () => {
          charges++;
          return new Promise(() => {});
        },
        { ...writes, timeoutMs: 100 },
      ),
      tool(
        "refused",
        () => {
          throw new ToolError("network_error", "nobody listens there", { outcome: "not_started" });
        },
        writes,
      ),
      tool("put", reset, { effects: { writes: ["account2"], idempotent: true } }),
    ],
  });
  const pending = runtime.execute([{ name: "charge" }, { name: "refused" }, { name: "put" }]);
  await ports.clock.advance(120_000);
  const [charge, refused, put] = await pending;
  expect(charges).toBe(1);
  expect([charge?.error?.code, charge?.attempts, refused?.attempts, put?.attempts]).toEqual(["timeout", 1, 4, 4]);
  expect(charge?.error?.message).toContain("Its effect is not known");
});

const ended = (outcome: Outcome) => new ToolError("network_error", `ended ${outcome}`, { outcome, retryable: true });

test.each<readonly [string, Effects<unknown>, readonly Outcome[], Outcome]>([
  ["a write that may have happened before it did not begin", { writes: ["a"], idempotent: true }, ["unknown", "not_started"], "unknown"],
  ["a write that may have happened before it failed", { writes: ["a"], idempotent: true }, ["unknown", "failed"], "unknown"],
  ["a write that may have happened first of all", { writes: ["a"], idempotent: true }, ["unknown", "not_started", "failed"], "unknown"],
  ["a write that failed before it may have happened", { writes: ["a"], idempotent: true }, ["failed", "unknown"], "unknown"],
  ["a write that did not begin before it failed", { writes: ["a"], idempotent: true }, ["not_started", "failed"], "failed"],
  ["a write that failed before it did not begin", { writes: ["a"], idempotent: true }, ["failed", "not_started"], "failed"],
  ["a write that never began", { writes: ["a"] }, ["not_started", "not_started"], "not_started"],
  ["a read, which has no effect", { reads: ["a"], writes: [] }, ["unknown", "not_started"], "not_started"],
])("the outcome of a call covers all its attempts: %s", async (_, effects, outcomes, expected) => {
  const left = [...outcomes];
  const attempts = tool("put", () => Promise.reject(ended(left.shift() ?? "unknown")), { effects, maxAttempts: outcomes.length });
  const { runtime, ports } = testRuntime({ tools: [attempts] });
  const pending = runtime.execute({ name: "put" });
  await ports.clock.advance(60_000);
  const { error } = await pending;
  expect([error?.outcome, error?.message]).toEqual([expected, `ended ${outcomes.at(-1)}`]);
});

test.each([
  ["not_started", "unknown", "unknown"],
  ["not_started", "failed", "failed"],
  ["failed", "not_started", "failed"],
] as const)(
  "a handler that throws circuit_open, as from a nested call, counts as having run: %s, then %s",
  async (first, last, expected) => {
    const errors = [ended(first), new ToolError("circuit_open", "what it calls is down", { outcome: last, retryable: false })];
    const put = tool("put", () => Promise.reject(errors.shift() ?? ended("unknown")), { effects: { writes: ["a"], idempotent: true } });
    const { runtime, ports } = testRuntime({ tools: [put] });
    const pending = runtime.execute({ name: "put" });
    await ports.clock.advance(60_000);
    const { attempts, error } = await pending;
    expect([attempts, error?.code, error?.outcome]).toEqual([2, "circuit_open", expected]);
  },
);

test("an error that gets the outcome of an earlier attempt keeps its own hints, details and retryAfterMs", async () => {
  const last = { hint: "Wait.", operatorHint: "Raise the quota.", details: ["3 of 3 used"], retryAfterMs: 7_000 };
  const errors = [ended("unknown"), new ToolError("rate_limited", "slow down", { outcome: "not_started", retryable: true, ...last })];
  const put = tool("put", () => Promise.reject(errors.shift() ?? ended("failed")), {
    effects: { writes: ["a"], idempotent: true },
    maxAttempts: 2,
  });
  const { runtime, ports } = testRuntime({ tools: [put] });
  const pending = runtime.execute({ name: "put" });
  await ports.clock.advance(60_000);
  const { error } = await pending;
  expect(error).toEqual({ code: "rate_limited", message: "slow down", outcome: "unknown", retryable: true, ...last });
});

test.each(["not_started", "failed", "unknown"] as const)(
  "a call cancelled between two attempts has the outcome of the earlier ones: %s",
  async (outcome) => {
    const put = tool("put", () => Promise.reject(ended(outcome)), { effects: { writes: ["a"], idempotent: true }, maxAttempts: 2 });
    const { runtime, ports } = testRuntime({ tools: [put] });
    const leaving = new AbortController();
    const pending = runtime.execute({ name: "put" }, { signal: leaving.signal });
    await ports.clock.advance(1);
    leaving.abort(new Error("the user left"));
    const { status, attempts, error } = await pending;
    expect([status, attempts, error?.code, error?.outcome]).toEqual(["cancelled", 1, "cancelled", outcome]);
    expect(error?.message).toBe("default::put was cancelled: the caller aborted: the user left");
  },
);

const WAITS: Readonly<Record<string, Partial<Tool>>> = {
  "its locks": { effects: { writes: ["a"], idempotent: true } },
  "a slot": { effects: { writes: ["a"], idempotent: true, commutative: true }, maxConcurrent: 1 },
};
const ENDS = ["its deadline", "its caller"] as const;
const waitsForMore = Object.keys(WAITS).flatMap((what) =>
  ENDS.flatMap((end) => (["not_started", "failed", "unknown"] as const).map((outcome) => ({ what, end, outcome }))),
);

test.each(waitsForMore)(
  "a call whose next attempt waits for $what when $end ends it has the outcome of the earlier attempts: $outcome",
  async ({ what, end, outcome }) => {
    let asked = 0;
    const put = tool("put", () => (asked++ === 0 ? Promise.reject(ended(outcome)) : new Promise(() => {})), {
      ...WAITS[what],
      maxAttempts: 2,
      deadlineMs: 20_000,
      timeoutMs: 0,
    });
    const { runtime, ports } = testRuntime({ tools: [put] });
    const leaving = new AbortController();
    const pending = runtime.execute({ name: "put" }, { signal: leaving.signal });
    await ports.clock.advance(1);
    const holder = runtime.execute({ name: "put" }); // it takes them while the other waits to be tried again
    await ports.clock.advance(10_000);
    if (end === "its caller") leaving.abort(new Error("the user left"));
    else await ports.clock.advance(10_000);
    const { attempts, error } = await pending;
    const code = end === "its caller" ? "cancelled" : "resource_busy";
    expect([attempts, asked, error?.code, error?.outcome]).toEqual([1, 2, code, outcome]);
    await ports.clock.advance(10_000);
    await holder;
  },
);

test("B08 a dependency that always fails gets at most 1.1 attempts per request", async () => {
  let seen = 0;
  const { runtime, ports } = testRuntime({
    circuit: false,
    tools: [
      tool("down", () => {
        seen++;
        return reset();
      }),
    ],
  });
  const pending = Promise.all(Array.from({ length: 1_000 }, () => runtime.execute({ name: "down" })));
  await ports.clock.advance(60_000);
  await pending;
  expect(seen).toBeGreaterThan(1_000);
  expect(seen).toBeLessThanOrEqual(1_100);
});

test("a call that ends because the retries of its tool are used up says so to the operator, and no other call does", async () => {
  const down = (...given: readonly [] | readonly [string]) =>
    tool("down", () => {
      throw new ToolError("rate_limited", "Slow down.", {
        outcome: "not_started",
        hint: "Wait.",
        ...(given.length === 0 ? {} : { operatorHint: given[0] }),
      });
    });
  for (const given of [[], ["Raise the quota."]] as const) {
    const { runtime, ports } = testRuntime({ circuit: false, tools: [down(...given)], maxAttempts: 3 });
    const pending = Promise.all(Array.from({ length: 12 }, () => runtime.execute({ name: "down" })));
    await ports.clock.advance(60_000);
    const results = await pending;
    expect(results.filter(({ attempts }) => attempts < 3).length).toBeGreaterThan(0);
    for (const { attempts, error } of results) {
      const spent = `It was not tried again after attempt ${attempts} of 3: default::down has used up its retry budget, which is ten retries or a tenth of its recent calls. Make the call again later.`;
      const told = attempts < 3 ? [...given, spent] : given;
      expect(error).toEqual({
        code: "rate_limited",
        message: "Slow down.",
        outcome: "not_started",
        retryable: true,
        hint: "Wait.",
        ...(told.length === 0 ? {} : { operatorHint: told.join(" ") }),
      });
    }
  }
});

test("a call that is not tried again because its circuit opened meanwhile says so to the operator", async () => {
  const down = tool("down", () => {
    throw new ToolError("rate_limited", "Slow down.", { outcome: "not_started" });
  });
  const { runtime, ports } = testRuntime({
    circuit: { failures: 2, openMs: 30_000 },
    retry: { delayMs: 100 },
    tools: [down],
    maxAttempts: 4,
  });
  const pending = Promise.all([runtime.execute({ name: "down" }), runtime.execute({ name: "down" })]);
  await ports.clock.advance(1_000);
  for (const { attempts, error } of await pending) {
    expect([attempts, error?.code]).toEqual([1, "rate_limited"]);
    expect(error?.operatorHint).toMatch(
      /^It was not tried again after attempt 1 of 4: default::down has failed repeatedly, so its circuit opened\. Make the call again in 29\d{3} ms\.$/u,
    );
  }
});

test("Retry-After is honoured, and an error with retryable: false is not retried", async () => {
  const at: number[] = [];
  const { runtime, ports } = testRuntime({
    tools: [
      tool("limited", () => {
        at.push(ports.clock.now());
        if (at.length === 1) throw new ToolError("rate_limited", "slow down", { retryAfterMs: 5_000 });
        return 1;
      }),
      tool("final", () => {
        throw new ToolError("network_error", "gone", { retryable: false });
      }),
    ],
  });
  const pending = runtime.execute([{ name: "limited" }, { name: "final" }]);
  await ports.clock.advance(60_000);
  const [limited, final] = await pending;
  expect([limited?.status, at[1], final?.attempts]).toEqual(["ok", 5_000, 1]);
});

test("invalid retry settings are rejected at once", () => {
  expect(() => testRuntime({ retry: { factor: Number.NaN } })).toThrow("factor of retry is NaN; it takes a number from 1.");
  expect(() => testRuntime({ retry: { delayMs: -1 } })).toThrow(/delayMs of retry is -1; it takes a number from 0 to/);
});

test("F3.36 B15 a circuit opens on failures, rejects fast, probes once, and closes on success", async () => {
  let healthy = false;
  const { runtime, ports, events } = testRuntime({
    circuit: { failures: 3, windowMs: 60_000, openMs: 5_000, probes: 1 },
    maxAttempts: 1,
    tools: [tool("down", async () => (healthy ? "up" : reset()))],
  });
  for (let call = 0; call < 3; call++) await runtime.execute({ name: "down" });
  const refused = await runtime.execute({ name: "down" });
  expect([refused.error?.code, refused.attempts]).toEqual(["circuit_open", 0]);
  await ports.clock.advance(5_000);
  healthy = true;
  const waiting = await Promise.all(Array.from({ length: 1_000 }, () => runtime.execute({ name: "down" })));
  expect(waiting.filter((result) => result.status === "ok").length).toBe(1);
  expect((await runtime.execute({ name: "down" })).output).toBe("up");
  expect(events.filter((event) => event.type === "circuit-change").map((event) => event.state)).toEqual(["open", "half-open", "closed"]);
});

describe("F3.36 the circuit that all sessions share", () => {
  const thrown: Readonly<Record<string, unknown>> = {
    "an Error": new Error("user not found"),
    "an error of its own class": Object.assign(new Error("sold out"), { name: "SoldOutError", code: "SOLD_OUT" }),
    "a mistake in its code": new TypeError("Cannot read properties of undefined (reading 'id')"),
    "something that is no error": "no such order",
    "a ToolError": new ToolError("execution_failed", "no such order"),
    "a refused request": Object.assign(new Error("Not Found"), { status: 404 }),
    "missing rights": Object.assign(new Error("Forbidden"), { status: 403 }),
    "a refused file": Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" }),
  };
  const unwell: Readonly<Record<string, unknown>> = {
    "a lost connection": Object.assign(new Error("reset"), { code: "ECONNRESET" }),
    "a broken server": Object.assign(new Error("Internal Server Error"), { status: 500 }),
    "a broken server, wrapped": new Error("fetch failed", { cause: { response: { status: 500 } } }),
    "a server that is overloaded": Object.assign(new Error("Overloaded"), { statusCode: 529 }),
    "a ToolError of a dependency": new ToolError("unavailable", "the database is not there"),
  };

  async function sixthOf(what: unknown): Promise<ToolResult> {
    const { runtime } = testRuntime({
      maxAttempts: 1,
      tools: [
        tool("find", () => {
          throw what;
        }),
      ],
    });
    for (let n = 0; n < 5; n++) await runtime.session(`s${n}`).execute({ name: "find" });
    return runtime.session("s5").execute({ name: "find" });
  }

  test.each(Object.keys(thrown))("is not opened by %s", async (what) => {
    expect((await sixthOf(thrown[what])).error?.code).not.toBe("circuit_open");
  });

  test.each(Object.keys(unwell))("is opened by %s, and its error names the failed calls", async (what) => {
    const { error } = await sixthOf(unwell[what]);
    expect({ code: error?.code, details: error?.details }).toEqual({
      code: "circuit_open",
      details: [expect.stringMatching(/^The latest failures: (?:call_\w+: \w+(?:, |\.$)){5}/u)],
    });
  });
});

test("F3.36 errors a tool throws on purpose do not open its circuit", async () => {
  const { runtime } = testRuntime({
    circuit: { failures: 2 },
    tools: [
      tool("find", () => {
        throw new ToolError("execution_failed", "no such order");
      }),
    ],
  });
  const codes: unknown[] = [];
  for (let call = 0; call < 10; call++) codes.push((await runtime.execute({ name: "find" })).error?.code);
  expect(new Set(codes)).toEqual(new Set(["execution_failed"]));
});

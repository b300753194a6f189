/** Handlers that fail after their own calls have had an effect. */
import { describe, expect, test } from "vitest";
import { readOnly, type Effects } from "../../src/core/resources/effects.ts";
import type { Outcome } from "../../src/core/error-codes.ts";
import { ToolError } from "../../src/core/error.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

const later = (outcome: Outcome) => new ToolError("unavailable", "later", { retryable: true, outcome });

interface Nested {
  readonly charge?: Partial<Tool>;
  readonly isAwaited?: boolean;
  readonly middle?: boolean;
  readonly outcome?: Outcome;
  /** The outcome of the nested call, if it fails. */
  readonly fails?: Outcome;
}

/** Calls a tool whose handler calls `charge` and then fails; returns how often `charge` ran, and how the call ended. */
async function failAfterCharge(effects: Effects | undefined, nested: Nested = {}): Promise<readonly unknown[]> {
  const { isAwaited = true, middle = false, outcome = "not_started", fails } = nested;
  let charges = 0;
  const charge = tool(
    "charge",
    async () => {
      if (fails !== undefined) throw new ToolError("unavailable", "down", { retryable: false, outcome: fails });
      return ++charges;
    },
    { effects: { writes: ["money"] }, ...nested.charge },
  );
  const inner = tool("inner", async (_, { execute }) => (await execute({ name: "charge" })).output, {
    effects: { writes: ["b"], idempotent: true },
  });
  const outer = tool(
    "outer",
    async (_, { execute }) => {
      const made = execute({ name: middle ? "inner" : "charge" });
      if (isAwaited) await made;
      throw later(outcome);
    },
    effects === undefined ? {} : { effects },
  );
  const { runtime, ports } = testRuntime({ tools: [charge, inner, outer], circuit: false });
  let result: ToolResult | undefined;
  void runtime
    .session()
    .execute({ name: "outer" })
    .then((ended) => (result = ended));
  await ports.clock.advance(100_000);
  return [charges, result?.attempts, result?.error?.outcome];
}

describe("B07 a call is not tried again after a call of its handler had an effect that must not be repeated", () => {
  test.each<readonly [string, Effects | undefined, Outcome]>([
    ["without declared effects", undefined, "not_started"],
    ["that writes", { writes: ["a"] }, "not_started"],
    ["that declares to read only", readOnly("a"), "not_started"],
    ["that declares to read only", readOnly("a"), "unknown"],
  ])("of a tool %s (%o, its error says %s), and its outcome is unknown", async (_, effects, outcome) => {
    expect(await failAfterCharge(effects, { outcome })).toEqual([1, 1, "unknown"]);
  });

  test("through a call in between", async () => {
    expect(await failAfterCharge(undefined, { middle: true })).toEqual([1, 1, "unknown"]);
  });

  test("that its handler does not wait for", async () => {
    const [charges, attempts] = await failAfterCharge(undefined, { isAwaited: false });
    expect([charges, attempts]).toEqual([1, 1]);
  });

  test("that is a background job", async () => {
    const [charges, attempts] = await failAfterCharge(undefined, { charge: { mode: "background" } });
    expect([charges, attempts]).toEqual([1, 1]);
  });
});

describe("B07 a call is tried again", () => {
  test("if its tool declares that it may be repeated, and its outcome is unknown", async () => {
    expect(await failAfterCharge({ writes: ["a"], idempotent: true })).toEqual([4, 4, "unknown"]);
  });

  test("if the calls of its handler only read, are idempotent or did not begin", async () => {
    expect([
      await failAfterCharge(undefined, { charge: { effects: readOnly("money") } }),
      await failAfterCharge(undefined, { charge: { effects: { writes: ["money"], idempotent: true } } }),
      await failAfterCharge(undefined, { fails: "not_started" }),
    ]).toEqual([
      [4, 4, "not_started"],
      [4, 4, "not_started"],
      [0, 4, "not_started"],
    ]);
  });
});

/** What the program's own code may do in the middle of a call, and what must come of it: one result, recorded, and nothing held. */
import { describe, expect, test, vi } from "vitest";
import type { ToolCall } from "../../src/core/call.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Hook } from "../../src/core/hook.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { testRuntime, tool, type TestRuntime } from "./bench-runtime.ts";

const never = (): Promise<never> => new Promise(() => {});
const fail = (): never => {
  throw new Error("bug");
};
const writes = { effects: { writes: ["x"] }, maxAttempts: 1 } as const;

/** Runs the calls to their end, and sees that each was recorded once, that nothing runs, waits or is locked, and that no promise failed unseen. */
async function outcomeOf(world: TestRuntime, call: unknown, options = {}): Promise<readonly ToolResult[]> {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  const before = world.events.filter((event) => event.type === "call-end").length;
  let results: readonly ToolResult[] | undefined;
  void world.runtime.execute([call] as readonly ToolCall[], options).then((all) => (results = all));
  await world.ports.clock.advance(100_000);
  await settle();
  process.off("unhandledRejection", unhandled);
  expect(results, "the call never ended").toBeDefined();
  expect(world.events.filter((event) => event.type === "call-end").length - before).toBe(1);
  expect([world.runtime.running, world.ports.clock.pending, unhandled.mock.calls]).toEqual([[], 0, []]);
  return results ?? [];
}

/** The same, short: the error's code or the output. */
async function end(options: RuntimeOptions, name = "t"): Promise<unknown> {
  const world = testRuntime({ ...options, tools: [...(options.tools ?? []), tool("next", () => "free", writes)] });
  const [result] = await outcomeOf(world, { name });
  const [next] = await outcomeOf(world, { name: "next" });
  if (options.hooks === undefined) expect(next?.output).toBe("free");
  return result?.error?.code ?? result?.output;
}

const hostileProxy = (): object => new Proxy({}, { get: fail, has: fail, getPrototypeOf: fail, ownKeys: fail });

describe("F2.30 the call fails, and is not accepted unchecked, when", () => {
  const bad: readonly (readonly [string, Partial<Record<"validate" | "parseInput" | "parseOutput", () => unknown>>, string])[] = [
    ["validate throws", { validate: fail }, "execution_failed"],
    [
      "validate throws what cannot be looked at",
      {
        validate: () => {
          throw hostileProxy();
        },
      },
      "execution_failed",
    ],
    [
      "validate throws a broken ToolError",
      {
        validate: () => {
          throw new Proxy(new ToolError("timeout", "x"), {
            get: fail,
          });
        },
      },
      "execution_failed",
    ],
    ["validate answers with a promise of problems", { validate: async () => ["bad"] }, "execution_failed"],
    ["validate answers with a promise that fails", { validate: async () => fail() }, "execution_failed"],
    ["validate answers with nothing", { validate: () => undefined }, "execution_failed"],
    ["parseInput throws", { parseInput: fail }, "execution_failed"],
    ["parseInput rejects", { parseInput: () => Promise.reject(new Error("bug")) }, "execution_failed"],
    ["parseInput never answers", { parseInput: never }, "timeout"],
    ["parseInput answers with nothing", { parseInput: () => undefined }, "execution_failed"],
    ["parseInput answers with neither value nor issues", { parseInput: async () => ({}) }, "execution_failed"],
    ["parseInput answers with issues that are no list", { parseInput: () => ({ issues: "bad" }) }, "execution_failed"],
    [
      "parseInput answers issues through a promise of another library",
      { parseInput: () => ({ then: (resolve: (value: unknown) => void) => resolve({ issues: ["bad"] }) }) },
      "invalid_input",
    ],
    ["parseOutput throws", { parseOutput: fail }, "execution_failed"],
    ["parseOutput rejects", { parseOutput: () => Promise.reject(hostileProxy()) }, "execution_failed"],
    ["parseOutput never answers", { parseOutput: never }, "timeout"],
    ["parseOutput answers with nothing", { parseOutput: () => null }, "execution_failed"],
    ["parseOutput makes what is not JSON", { parseOutput: () => ({ value: 1n }) }, "not_json"],
  ];
  test.each(bad)("%s", async (_, parts, code) => {
    let ran = 0;
    const broken: Tool = { ...tool("t", () => ++ran, writes), ...(parts as Partial<Tool>) }; // the types forbid what is tried here
    expect([await end({ tools: [broken] }), ran]).toEqual([code, parts.parseOutput === undefined ? 0 : 1]);
  });
});

describe("B05 an answer is awaited as `await` would, and the lock of its call released, when it is", () => {
  const tampered = (change: (promise: Promise<number>) => unknown) => (): unknown => {
    const promise = Promise.resolve(7);
    change(promise);
    return promise;
  };
  const odd: readonly (readonly [string, () => unknown, unknown])[] = [
    [
      "a promise whose constructor throws",
      tampered((promise) =>
        Object.defineProperty(promise, "constructor", {
          get: fail,
        }),
      ),
      "execution_failed",
    ],
    ["a promise whose own then throws", tampered((promise) => Reflect.set(promise, "then", fail)), 7],
    [
      "a promise whose own then calls back at once, and twice",
      tampered((promise) => Reflect.set(promise, "then", (resolve: (value: number) => void) => (resolve(1), resolve(2)))),
      7,
    ],
    [
      "a thenable that calls back twice and then throws",
      () => ({
        then: (resolve: (value: number) => void) => {
          resolve(7);
          resolve(8);
          throw new Error("no");
        },
      }),
      7,
    ],
    ["a function with a then", () => Object.assign(() => 0, { then: (resolve: (value: number) => void) => resolve(7) }), 7],
    [
      "a thenable of a thenable",
      () => ({ then: (resolve: (value: unknown) => void) => resolve({ then: (inner: (value: number) => void) => inner(7) }) }),
      7,
    ],
    [
      "a thenable whose then throws on the second look",
      () => {
        let looks = 0;
        return {
          get then() {
            if (looks++ > 0) throw new Error("no");
            return () => {};
          },
        };
      },
      "execution_failed",
    ],
    ["content of a part without its text", () => new ToolOutput({ content: [{ type: "text" } as never] }), "not_json"],
    ["content that is not a list", () => new ToolOutput({ content: "text" as never }), "not_json"],
    ["what cannot be looked at", hostileProxy, "execution_failed"],
  ];
  test.each(odd)("%s", async (_, answer, expected) => {
    expect(await end({ tools: [tool("t", answer, writes)] })).toEqual(expected);
  });
});

test("B04 an error that imitates a ToolError, or has unusual fields, becomes a valid one", async () => {
  class Loud extends ToolError {
    override toJSON(): never {
      throw new Error("no JSON of me");
    }
  }
  const thrown = [
    Object.create(ToolError.prototype),
    Object.assign(new ToolError("timeout", "x"), { details: 5 }),
    Object.assign(new ToolError("timeout", "x"), { code: "__proto__" }),
    new Loud("vetoed", "loud"),
    new ToolError("rate_limited", "later", { retryAfterMs: Infinity, retryable: false }),
  ];
  for (const [index, code] of ["execution_failed", "execution_failed", "execution_failed", "vetoed", "rate_limited"].entries()) {
    const world = testRuntime({
      tools: [
        tool(
          "t",
          () => {
            throw thrown[index];
          },
          { maxAttempts: 1 },
        ),
      ],
    });
    const [result] = await outcomeOf(world, { name: "t" });
    expect(result?.error?.code).toBe(code);
    expect(JSON.parse(JSON.stringify(result?.error))).toEqual(result?.error);
  }
});

describe("F1.49 hooks", () => {
  const before = (answer: () => unknown): RuntimeOptions => ({
    hooks: [{ name: "h", beforeCall: answer as NonNullable<Hook["beforeCall"]> }],
    tools: [tool("t", () => "ran", writes)],
  });
  test.each([
    ["null, which says nothing", () => null, "ran"],
    ["a number", () => 5, "vetoed"],
    ["a call without a name", () => ({ input: {} }), "vetoed"],
    [
      "a veto that is no text",
      () => ({
        veto: {
          toString: fail,
        },
      }),
      "vetoed",
    ],
    ["what cannot be looked at, as if it threw", hostileProxy, "ran"],
    ["a promise of another library", () => ({ then: (resolve: (value: unknown) => void) => resolve({ veto: "no" }) }), "vetoed"],
    ["a promise that fails after its time", () => new Promise((_, reject) => setImmediate(() => reject(new Error("late")))), "ran"],
  ])("beforeCall may return %s", async (_, answer, expected) => {
    expect(await end(before(answer))).toBe(expected);
  });

  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  test.each([
    ["null", () => null],
    ["an array", () => []],
    ["what cannot be looked at", hostileProxy],
    [
      "a getter that throws",
      () => ({
        get output() {
          throw new Error("no");
        },
      }),
    ],
    ["an output that is not JSON", () => ({ output: cyclic })],
    ["content of no known type", () => ({ content: [{ type: "video" }] })],
    ["an unknown status", () => ({ status: "fine" })],
    ["an error without a code", () => ({ status: "error", error: { message: "x" } })],
    ["an error with a code of its own", () => ({ status: "error", error: { code: "__proto__", message: "x" } })],
    ["a status without its error", () => ({ status: "error" })],
    ["warnings that are no texts", () => ({ warnings: [1n] })],
    ["a change made in place", (result: ToolResult) => void Object.assign(result, { output: "forged" })],
  ])("afterCall cannot break a result with %s, even with onError throw", async (_, answer) => {
    const world = testRuntime({
      hooks: [{ name: "h", afterCall: answer as NonNullable<Hook["afterCall"]> }],
      tools: [tool("t", () => "ran")],
    });
    const [result] = await outcomeOf(world, { id: "i", name: "t" }, { onError: "throw" });
    expect(result).toEqual({
      callId: "call_1",
      id: "i",
      name: "default::t",
      status: "ok",
      output: "ran",
      origin: "live",
      attempts: 1,
      durationMs: 0,
      repairs: [],
      warnings: [],
    });
  });

  test("afterCall sees the whole answer before truncation, and removed text cannot be read anywhere", async () => {
    const redact: Hook = {
      name: "redact",
      afterCall: (result) => ({ ...result, output: String(result.output).replaceAll("SECRET", "***") }),
    };
    const { runtime } = testRuntime({ hooks: [redact], tools: [tool("t", () => `${"x".repeat(5_000)}SECRET`, { maxResultBytes: 100 })] });
    const session = runtime.session();
    const cut = await session.execute({ name: "t" });
    const rest = await session.execute({ name: "read_result", input: { handle: cut.truncation?.handle } });
    expect([cut.truncation?.totalBytes, JSON.stringify(rest.output).includes("SECRET")]).toEqual([5_003, false]);
  });

  test("afterCall does not run for an unknown tool name", async () => {
    const asked: string[] = [];
    const { runtime } = testRuntime({
      hooks: [{ name: "h", afterCall: (result) => void asked.push(result.name) }],
      tools: [tool("t", () => "ran")],
    });
    await runtime.execute([{ name: "nowhere" }, { name: "t" }]);
    expect(asked).toEqual(["default::t"]);
  });
});

import { describe, expect, test } from "vitest";
import { createLoop } from "../../src/compose/loop.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Hook } from "../../src/core/hook.ts";
import { collectReply } from "../../src/core/model.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

/** Asks a model about every call; it answers `allow`, `deny` or an input to run instead. */
function judgedBy(answers: readonly string[], more: Partial<Hook> = {}): Hook {
  const model = scriptedModel(answers.map((text) => ({ text })));
  return {
    name: "judge",
    onFailure: "stop",
    async beforeCall(call) {
      const messages = [{ role: "user", at: 0, content: JSON.stringify(call.input) } as const];
      const text = (await collectReply(model.stream({ messages })))?.text ?? "";
      if (text === "allow") return undefined;
      return text.startsWith("{") ? { ...call, input: JSON.parse(text) as unknown } : { veto: text };
    },
    ...more,
  };
}

function bank(hook: Hook) {
  const paid: unknown[] = [];
  const pay = tool("pay", (input) => paid.push(input["amount"]), { effects: { writes: ["bank"] } });
  return { ...testRuntime({ tools: [pay], hooks: [hook] }), paid };
}

describe("a judging agent", () => {
  test("F1.54 in a hook allows, rewrites or stops a call before the action", async () => {
    const { runtime, paid } = bank(judgedBy(["allow", '{"amount": 5}', "Too much."]));
    const results = [];
    for (const amount of [1, 50, 5_000]) results.push(await runtime.execute({ name: "pay", input: { amount } }));
    expect(results.map(({ status, error }) => [status, error?.code, error?.message])).toEqual([
      ["ok", undefined, undefined],
      ["ok", undefined, undefined],
      ["error", "vetoed", "Too much."],
    ]);
    expect(paid).toEqual([1, 5]);
  });

  test("F1.54 that is required stops the call if it fails or times out; one that is not required is skipped", async () => {
    const stopped = bank(judgedBy([]));
    const result = await stopped.runtime.execute({ name: "pay", input: { amount: 1 } });
    expect([result.error?.code, result.error?.outcome, stopped.paid]).toEqual(["vetoed", "not_started", []]);
    expect(result.error?.message).toContain("has no reply left");

    const slow = bank(judgedBy([], { timeoutMs: 50, beforeCall: () => new Promise<never>(() => {}) }));
    const waiting = slow.runtime.execute({ name: "pay", input: { amount: 1 } });
    await slow.ports.clock.advance(50);
    expect([(await waiting).error?.message, slow.paid]).toEqual([
      'The hook "judge", which must agree to pay, did not answer within 50 ms',
      [],
    ]);

    const skipped = bank(judgedBy([], { onFailure: "skip" }));
    expect([(await skipped.runtime.execute({ name: "pay", input: { amount: 1 } })).status, skipped.paid]).toEqual(["ok", [1]]);
  });

  test("F1.54 withholds an answer that it could not judge", async () => {
    const { runtime, paid } = bank({
      name: "reader",
      onFailure: "stop",
      afterCall() {
        throw new Error("the judge is ill");
      },
    });
    const { error, output } = await runtime.execute({ name: "pay", input: { amount: 1 } });
    expect([error?.code, error?.outcome, output, paid]).toEqual(["vetoed", "unknown", undefined, [1]]);
  });

  test("F1.54 can run inside a tool, whose result is its answer", async () => {
    const inner = createRuntime({ tools: [tool("look_up", () => "the rent is 700")] });
    const model = scriptedModel([{ calls: [{ name: "look_up" }] }, { text: "deny" }]);
    const ask = tool("ask_the_judge", async (_input, { signal }) => {
      const { text, reason } = await createLoop({ model, session: inner.session() }).run("May 7,000 be paid?", { signal });
      if (reason !== "answered") throw new ToolError("execution_failed", `The judge ended with ${reason}.`);
      return { verdict: text };
    });
    await using runtime = createRuntime({ tools: [ask] });
    expect((await runtime.execute({ name: "ask_the_judge" })).output).toEqual({ verdict: "deny" });
    await inner.close();
  });

  test.each([
    [{ onFailure: "halt" }, 'onFailure of the hook "judge" is halt; it takes "skip" or "stop".'],
    [{ timeoutMs: -1 }, "timeoutMs of the hook"],
  ])("in a hook with %o is rejected at once", (wrong, message) => {
    expect(() => bank(judgedBy([], wrong as Partial<Hook>))).toThrow(message);
  });
});

test("F1.54 an invalid result of a required hook vetoes the call, and does not show the answer", async () => {
  for (const said of ["clean", [], { status: "fine" }, { status: "ok", output: 1n }]) {
    const hook: Hook = { name: "redact", onFailure: "stop", afterCall: () => said as never };
    const { runtime } = testRuntime({ tools: [tool("t", () => "secret")], hooks: [hook] });
    const result = await runtime.execute({ name: "t" });
    expect([result.status, result.error?.code, result.output]).toEqual(["error", "vetoed", undefined]);
  }
});

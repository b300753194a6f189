import { describe, expect, test } from "vitest";
import type { ToolResult } from "../../src/core/result.ts";
import { scratchpadOf, scratchpadToolset } from "../../src/toolsets/scratchpad.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";

function bench() {
  const peek = tool("peek", (_input, context) => scratchpadOf(context).get("plan") ?? "nothing");
  const reserve = tool("reserve", ({ key = "__owner__" }, context) => scratchpadOf(context).set(String(key), "program"), {
    effects: { writes: ["session:scratchpad"] },
  });
  const owner = tool("owner", ({ key = "__owner__" }, context) => scratchpadOf(context).get(String(key)) ?? "nobody");
  const { runtime, events } = testRuntime({ toolsets: [scratchpadToolset()], tools: [peek, reserve, owner] });
  const session = runtime.session("s");
  const use = async (input: object): Promise<ToolResult> => session.execute({ name: "scratchpad", input });
  return { runtime, session, events, use };
}

describe("F1.55 scratchpad", () => {
  test("F1.55 a value is set, read, listed and deleted; a missing key is an answer, not an error", async () => {
    const { use } = bench();
    expect((await use({ action: "list" })).output).toBe("The scratchpad is empty.");
    expect((await use({ action: "set", key: "plan", value: "first tea" })).output).toBe('Set "plan".');
    expect((await use({ action: "get", key: "plan" })).output).toBe("first tea");
    expect((await use({ action: "list" })).output).toBe("plan");
    expect(await use({ action: "get", key: "plans" })).toMatchObject({
      status: "ok",
      output: 'There is no key "plans". Did you mean "plan"?',
    });
    expect((await use({ action: "delete", key: "plan" })).output).toBe('Deleted "plan".');
    expect((await use({ action: "delete", key: "plan" })).output).toBe('There is no key "plan".');
  });

  test("F1.55 other tools of the session see a value, other sessions do not", async () => {
    const { runtime, session, use } = bench();
    await use({ action: "set", key: "plan", value: "x" });
    expect((await session.execute({ name: "peek" })).output).toBe("x");
    expect((await runtime.session("other").execute({ name: "peek" })).output).toBe("nothing");
  });

  test("F1.55 reserved keys are rejected, hidden, and not removed by clear", async () => {
    const { session, use } = bench();
    await session.execute({ name: "reserve" });
    await use({ action: "set", key: "plan", value: "x" });
    expect((await use({ action: "list" })).output).toBe("plan");
    for (const action of ["get", "set", "delete"])
      expect((await use({ action, key: "__owner__", value: "model" })).error).toMatchObject({
        code: "invalid_input",
        details: ['The key "__owner__" is reserved. Use one without "__" around it.'],
      });
    expect((await use({ action: "clear" })).output).toBe("Cleared.");
    expect((await use({ action: "list" })).output).toBe("The scratchpad is empty.");
    expect((await session.execute({ name: "owner" })).output).toBe("program");
  });

  test("F1.55 a key with a line break is listed in one line", async () => {
    const { use } = bench();
    for (const key of ["a\nb", "plan"]) await use({ action: "set", key, value: "x" });
    expect((await use({ action: "list" })).output).toBe('"a\\nb"\nplan');
  });

  test("F1.55 a missing key or value is reported by name, and constructor and __proto__ reach no prototype", async () => {
    const { session, use } = bench();
    const problems = async (input: object) => (await use(input)).error?.details;
    expect(await problems({ action: "set" })).toEqual(['"key" is missing: set needs one.', '"value" is missing: set needs one.']);
    expect(await problems({ action: "set", key: "a" })).toEqual(['"value" is missing: set needs one.']);
    expect((await use({ action: "get", key: "constructor" })).output).toBe('There is no key "constructor".');
    expect((await use({ action: "set", key: "constructor", value: "x" })).output).toBe('Set "constructor".');
    expect((await use({ action: "get", key: "constructor" })).output).toBe("x");
    expect(await problems({ action: "set", key: "__proto__", value: "x" })).toEqual([
      'The key "__proto__" is reserved. Use one without "__" around it.',
    ]);
    expect((await session.execute({ name: "owner", input: { key: "__proto__" } })).output).toBe("nobody");
    await session.execute({ name: "reserve", input: { key: "__proto__" } });
    expect((await session.execute({ name: "owner", input: { key: "__proto__" } })).output).toBe("program");
    expect((await use({ action: "list" })).output).toBe("constructor");
    expect((await use({ action: "set", key: "\ud800", value: "x" })).status).toBe("ok");
  });

  test("F1.55 parallel calls of one message keep every value, changes are events, and a fork has its own values", async () => {
    const { session, events, use } = bench();
    await session.execute(
      Array.from({ length: 50 }, (_, at) => ({ name: "scratchpad", input: { action: "set", key: `k${at}`, value: `${at}` } })),
    );
    expect(String((await use({ action: "list" })).output).split("\n")).toHaveLength(50);
    expect(events.filter(({ type }) => type === "state-change")).toHaveLength(50 + 50);
    const branch = session.fork();
    await branch.execute({ name: "scratchpad", input: { action: "clear" } });
    expect((await branch.execute({ name: "scratchpad", input: { action: "list" } })).output).toBe("The scratchpad is empty.");
    expect(String((await use({ action: "list" })).output).split("\n")).toHaveLength(50);
    const { results } = await session.simulate({ name: "scratchpad", input: { action: "get", key: "k7" } });
    expect(results[0]?.output).toBe("7");
  });

  test("F1.55 more than 500 keys are rejected", async () => {
    const { session, use } = bench();
    const calls = Array.from({ length: 500 }, (_, at) => ({ name: "scratchpad", input: { action: "set", key: `k${at}`, value: "" } }));
    await session.execute(calls);
    expect((await use({ action: "set", key: "one more", value: "" })).error).toMatchObject({ code: "limit_exceeded" });
    expect((await use({ action: "set", key: "k1", value: "new" })).status).toBe("ok");
  });
});

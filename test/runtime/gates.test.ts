import { describe, expect, test } from "vitest";
import type { ApprovalRequest } from "../../src/core/approvals/ask.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Hook } from "../../src/core/hook.ts";
import type { ToolResult } from "../../src/core/result.ts";

import type { Tool } from "../../src/core/tool.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { providerName } from "../../src/wire/provider-name.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";

const remove = tool("remove", (input) => `removed ${String(input["path"])}`, { effects: { writes: ["disk"], destructive: true } });

test("F1.49 hooks rewrite a call in priority order, and the rewritten call runs", async () => {
  const hooks: Hook[] = [
    { name: "second", priority: 2, beforeCall: (call) => ({ ...call, input: { text: `${(call.input as { text: string }).text}2` } }) },
    { name: "first", priority: 1, beforeCall: async (call) => ({ ...call, name: "echo", input: { text: "1" } }) },
  ];
  const { runtime } = testRuntime({ hooks, tools: [tool("echo", (input) => input)] });
  const result = await runtime.execute({ id: "x", name: "other" });
  expect([result.id, result.name, result.output]).toEqual(["x", "default::echo", { text: "12" }]);
});

test("F1.49 a veto is the model's result, and the tool never runs", async () => {
  let ran = 0;
  const { runtime } = testRuntime({
    hooks: [{ name: "guard", beforeCall: () => ({ veto: "Not on a Sunday." }) }],
    tools: [tool("echo", () => ran++)],
  });
  const result = await runtime.execute({ name: "echo" });
  expect([result.error?.code, result.error?.message, ran]).toEqual(["vetoed", "Not on a Sunday.", 0]);
});

test.each(["", " ", 5, undefined, {}])("F1.49 a veto with the reason %j still says that the call was stopped", async (veto) => {
  const hooks = [{ name: "guard", beforeCall: () => ({ veto }) as { readonly veto: string } }];
  const { runtime } = testRuntime({ hooks, tools: [tool("echo", () => "ran")] });
  expect((await runtime.execute({ name: "echo" })).error).toMatchObject({
    code: "vetoed",
    message: "The call was stopped, and no reason was given.",
  });
});

test("F1.49 a hook that throws or times out is logged and skipped; a rewrite to an unknown tool is a veto", async () => {
  const broken: Hook[] = [
    {
      name: "throws",
      beforeCall: () => {
        throw new Error("bug");
      },
      afterCall: () => Promise.reject(new Error("bug too")),
    },
    { name: "deaf", beforeCall: () => new Promise<undefined>(() => {}) },
  ];
  const { runtime, ports } = testRuntime({ hooks: broken, tools: [tool("echo", () => "ran")] });
  const pending = runtime.execute({ name: "echo" });
  await ports.clock.advance(10_000);
  expect((await pending).output).toBe("ran");
  expect(ports.log.lines.filter(({ level }) => level === "warn").map((line) => line.message)).toEqual([
    'The hook "throws" threw: bug; it was skipped',
    'The hook "deaf" did not answer within 10000 ms; it was skipped',
    'The hook "throws" threw: bug too; it was skipped',
  ]);
  const lost = testRuntime({
    hooks: [{ name: "lost", beforeCall: (call) => ({ ...call, name: "nowhere" }) }],
    tools: [tool("echo", () => 1)],
  });
  expect((await lost.runtime.execute({ name: "echo" })).error?.code).toBe("vetoed");
});

test("F1.49 afterCall may change the answer, but not the ids of its result", async () => {
  const { runtime } = testRuntime({
    hooks: [{ name: "redact", afterCall: (result) => ({ ...result, callId: "forged", output: "***" }) }],
    tools: [tool("secret", () => "hunter2")],
  });
  const result = await runtime.execute({ id: "a", name: "secret" });
  expect([result.callId, result.id, result.output]).toEqual(["call_1", "a", "***"]);
});

test("F1.49 what a hook leaves out of a result is left out, and its warnings and metadata replace those of the result", async () => {
  const answer = (): ToolOutput =>
    new ToolOutput({ content: [{ type: "text", text: "secret" }], output: { key: "secret" }, metadata: { from: "secret" } });
  const resultAfter = async (change: (result: ToolResult) => unknown): Promise<ToolResult> => {
    const hook = { name: "redact", afterCall: (result: ToolResult) => change(result) as ToolResult };
    const { runtime, events } = testRuntime({ hooks: [hook], tools: [tool("read", answer)] });
    const result = await runtime.session("s").execute({ name: "read" });
    expect(JSON.stringify(events)).not.toContain("secret");
    return result;
  };
  const bare = await resultAfter(({ status }) => ({ status }));
  expect([bare.status, bare.output, bare.content, bare.metadata]).toEqual(["ok", undefined, undefined, undefined]);
  const changed = await resultAfter(() => ({ output: 1, metadata: { from: "hook" }, warnings: ["It was redacted."] }));
  expect([changed.output, changed.content, changed.metadata, changed.warnings]).toEqual([
    1,
    undefined,
    { from: "hook" },
    ["It was redacted."],
  ]);
});

describe("F1.49 a result that a hook redacts never leaks its original", () => {
  const SECRET = "hunter2";
  type Context = Parameters<NonNullable<Tool["execute"]>>[1];
  const ends: Readonly<Record<string, (context: Context) => unknown>> = {
    "an answer": () => SECRET,
    "partial output and an answer": ({ partial }) => (partial(SECRET), SECRET),
    "partial output": ({ partial }) => (partial(SECRET), new Promise(() => {})),
    "a failure": () => Promise.reject(new Error(SECRET)),
    metadata: () => new ToolOutput({ output: 1, metadata: { SECRET } }),
  };

  /** Aborts it at `abortAtMs`. @param delayMs how long the hook takes; undefined = it does not wait */
  const run = async (end: string, delayMs: number | undefined, abortAtMs = 1_000, down = false): Promise<ToolResult> => {
    const controller = new AbortController();
    const { runtime, events, ports } = testRuntime({
      hooks: [
        {
          name: "redact",
          onFailure: "stop",
          timeoutMs: 200,
          afterCall: (result) => (delayMs === undefined ? redact(result) : later(result)),
        },
      ],
      tools: [
        tool("t", (_, context) => ends[end]?.(context), { effects: { writes: ["a"] }, timeoutMs: 100, deadlineMs: 250, maxAttempts: 1 }),
      ],
    });
    const redact = (result: ToolResult): ToolResult => {
      if (down) throw new Error("The hook is down.");
      return JSON.parse(JSON.stringify(result).replaceAll(SECRET, "***")) as ToolResult;
    };
    const later = async (result: ToolResult): Promise<ToolResult> => {
      await new Promise<void>((resolve) => ports.clock.timer(resolve, delayMs ?? 0));
      return redact(result);
    };
    const pending = runtime.execute({ name: "t" }, { signal: controller.signal });
    ports.clock.timer(() => controller.abort(), abortAtMs);
    await ports.clock.advance(1_000);
    const result = await pending;
    expect(JSON.stringify([result, events.filter(({ type }) => type === "call-end")])).not.toContain(SECRET);
    return result;
  };

  describe.each(Object.keys(ends))("with %s", (end) => {
    test.each([50, 150, 1_000])("when the call is aborted after %d ms and the hook is immediate, slow or too slow", async (abortAtMs) => {
      for (const delayMs of [undefined, 0, 120, 180, 10_000]) await run(end, delayMs, abortAtMs);
    });

    test("when a hook with onFailure: stop fails", async () => {
      expect((await run(end, undefined, 1_000, true)).error?.code).toBe("vetoed");
      for (const delayMs of [120, 10_000]) expect((await run(end, delayMs, 1_000, true)).error?.code).toMatch(/vetoed|timeout/u);
    });
  });

  test("the partial output of a cancelled call is kept as the hooks leave it", async () => {
    for (const delayMs of [undefined, 0, 120])
      expect(await run("partial output", delayMs, 50)).toMatchObject({ status: "cancelled", output: "***" });
  });

  test.each([
    ["is cancelled", 50, 1_000, "t was cancelled: the caller aborted"],
    ["is cancelled while the first hook works", 105, 1_000, "t was cancelled: the caller aborted"],
    ["takes longer than its deadline", undefined, 100, "t had not ended when its deadline passed"],
  ])("every hook is notified of the end of a call that %s", async (_, abortAtMs, deadlineMs, message) => {
    const seen: string[] = [];
    const controller = new AbortController();
    const { runtime, ports } = testRuntime({
      hooks: [
        { name: "slow", afterCall: () => new Promise<void>((resolve) => ports.clock.timer(resolve, 10)) },
        { name: "audit", afterCall: ({ status }) => void seen.push(status) },
      ],
      tools: [tool("t", () => new Promise(() => {}), { timeoutMs: 100, deadlineMs, maxAttempts: 1 })],
    });
    const pending = runtime.execute({ name: "t" }, { signal: controller.signal });
    if (abortAtMs !== undefined) ports.clock.timer(() => controller.abort(), abortAtMs);
    await ports.clock.advance(1_000);
    const { status, error } = await pending;
    expect([seen, error?.message]).toEqual([[status], expect.stringContaining(message)]);
  });

  test("a call that failed before it ran keeps the outcome not_started", async () => {
    const { runtime, ports } = testRuntime({
      hooks: [{ name: "deaf", onFailure: "stop", afterCall: () => new Promise<undefined>(() => {}) }],
      tools: [tool("t", () => 1, { inputSchema: { type: "object", required: ["a"] } })],
    });
    const pending = runtime.execute({ name: "t" });
    await ports.clock.advance(10_000);
    expect((await pending).error).toMatchObject({ code: "vetoed", outcome: "not_started" });
  });
});

test("F1.50 a destructive call needs approval: allow-once, allow-always, deny, a throwing and a silent approver", async () => {
  const asked: ApprovalRequest[] = [];
  const answers: (() => never | "allow-once" | "allow-always" | "deny" | Promise<never>)[] = [];
  const { runtime, ports } = testRuntime({
    approval: {
      approve: (request) => {
        asked.push(request);
        return answers.shift()?.() ?? "deny";
      },
      timeoutMs: 1_000,
    },
    tools: [remove],
  });
  const session = runtime.session();
  const call = { name: "remove", input: { path: "a" } };
  answers.push(
    () => "allow-once",
    () => "deny",
    () => {
      throw new Error("broken");
    },
    () => new Promise<never>(() => {}),
    () => "allow-always",
  );
  const codes: unknown[] = [];
  for (let turn = 0; turn < 6; turn++) {
    const pending = session.execute(call);
    await ports.clock.advance(1_000);
    const result = await pending;
    codes.push(result.error?.code ?? result.output);
  }
  expect(codes).toEqual(["removed a", "approval_denied", "approval_denied", "approval_denied", "removed a", "removed a"]);
  expect(asked.length).toBe(5);
  expect(asked[0]).toMatchObject({ toolName: "default::remove", input: { path: "a" }, sessionId: session.id });
  expect(asked[0]?.digest).toMatch(/^[0-9a-f]{64}$/);
  expect(runtime.session().execute(call)).toBeDefined();
});

test("the error of a destructive call without an approver says how to approve it", async () => {
  const { runtime } = testRuntime({ tools: [remove] });
  const result = await runtime.execute({ name: "remove", input: {} });
  expect(result.error?.code).toBe("approval_required");
  expect(result.error?.hint).toBeTruthy();
});

test.each([
  ["denied", (): "deny" => "deny"],
  ["cancelled while it waits for the answer", () => new Promise<never>(() => {})],
])("a call that is %s neither uses up a once-per-turn tool nor ends the turn", async (_, refuse) => {
  let answer: () => "allow-once" | Promise<never> | "deny" = refuse;
  const effects = { writes: ["a"], destructive: true };
  const { runtime } = testRuntime({
    approval: { approve: () => answer() },
    tools: [
      tool("once", () => 1, { effects, oncePerTurn: true }),
      tool("last", () => 2, { effects, endsTurn: true }),
      tool("note", () => 3),
    ],
  });
  await runtime.session().turn(async (turn) => {
    const run = async (name: string, signal?: AbortSignal): Promise<unknown> => {
      const round = turn.round(signal === undefined ? {} : { signal });
      round.add({ name, input: {} });
      const [result] = await round.end({ content: "", finish: "calls", usage: { inputTokens: 0, outputTokens: 0 } });
      return result?.error?.code ?? result?.output;
    };
    for (const name of ["once", "last"]) {
      const controller = new AbortController();
      const refused = run(name, controller.signal);
      await settle();
      controller.abort();
      expect(await refused).toMatch(/approval_denied|cancelled/u);
    }
    expect(turn.endedBy).toBeUndefined();
    answer = () => "allow-once";
    expect([await run("note"), await run("once"), await run("once"), await run("last"), await run("note")]).toEqual([
      3,
      1,
      "limit_exceeded",
      2,
      "limit_exceeded",
    ]);
  });
});

test("a call whose handler ran uses up a once-per-turn tool even if its error says not_started", async () => {
  const refuse = (): never => {
    throw new ToolError("unavailable", "No connection.", { outcome: "not_started", retryable: false });
  };
  const { runtime } = testRuntime({ tools: [tool("once", refuse, { oncePerTurn: true })] });
  await runtime.session().turn(async (turn) => {
    const run = async (): Promise<unknown> => {
      const round = turn.round({});
      round.add({ name: "once", input: {} });
      const [result] = await round.end({ content: "", finish: "calls", usage: { inputTokens: 0, outputTokens: 0 } });
      return result?.error?.code;
    };
    expect([await run(), await run()]).toEqual(["unavailable", "limit_exceeded"]);
  });
});

test("a call that waits for approval holds no lock: another writer of the same key runs meanwhile", async () => {
  const door = gate<"allow-once">();
  const { runtime } = testRuntime({
    approval: { approve: () => door.promise },
    tools: [remove, tool("write", () => "written", { effects: { writes: ["disk"] } })],
  });
  const pending = runtime.execute({ name: "remove", input: { path: "a" } });
  await settle();
  expect((await runtime.execute({ name: "write" })).output).toBe("written");
  door.open("allow-once");
  expect((await pending).output).toBe("removed a");
});

test("permission rules: deny beats allow, and an allow list denies the rest", async () => {
  const { runtime } = testRuntime({
    permission: { allow: ["default::*"], deny: ["default::remove"] },
    tools: [remove, tool("look", () => 1)],
    toolsets: [{ name: "mail", tools: [tool("send", () => 1)] }],
  });
  const results = await runtime.execute([{ name: "remove" }, { name: "look" }, { name: "mail::send" }]);
  expect(results.map((result) => result.error?.code)).toEqual(["permission_denied", undefined, "permission_denied"]);
});

test("F4.6 F4.8 F4.10 calls before open, or of a failed or disabled toolset, are unavailable with the reason; others work", async () => {
  const opens = { kind: "test", open: async () => [], call: () => "answered" };
  const failing = { kind: "test", open: () => Promise.reject(new Error("no such host")), call: () => 1 };
  const ask = { name: "ask", description: "Asks.", inputSchema: {}, effects: { reads: [] } };
  const { runtime, trace } = testRuntime({
    toolsets: [
      { name: "good", engine: opens, tools: [ask] },
      { name: "bad", engine: failing, tools: [ask] },
      { name: "off", enabled: false, tools: [tool("x", () => 1)] },
    ],
  });
  expect((await runtime.execute({ name: "good::ask" })).error?.code).toBe("unavailable");
  const report = await runtime.open();
  expect(JSON.stringify(report)).toContain("no such host");
  const [good, bad, off] = await runtime.execute([{ name: "good::ask" }, { name: "bad::ask" }, { name: "off::x" }]);
  expect([good?.output, bad?.error?.code, bad?.error?.message.includes("no such host")]).toEqual(["answered", "unavailable", true]);
  expect(["unavailable", "not_found"]).toContain(off?.error?.code);
  runtime.registry.setEnabled("good", false);
  expect((await runtime.execute({ name: "good::ask" })).error?.code).toBe("unavailable");
  runtime.registry.setEnabled("good", true);
  await runtime.close();
  await runtime.close();
  expect((await runtime.execute({ name: "good::ask" })).error?.code).toBe("unavailable");
  expect(trace().filter((type) => type.startsWith("toolset-"))).toEqual(
    expect.arrayContaining(["toolset-open", "toolset-fail", "toolset-close"]),
  );
});

test("F4.7 a single colon between toolset and tool is accepted with a warning; exact and ambiguous names are not guessed", async () => {
  const { runtime } = testRuntime({
    tools: [tool("mill:grind", () => "default's own")],
    toolsets: [
      { name: "mill", tools: [tool("grind", () => "grinds"), tool("b:c", () => 1), tool("sift", () => "sifts")] },
      { name: "mill:b", tools: [tool("c", () => 2)] },
    ],
  });
  const results = await runtime.execute(["mill:sift", "mill:grind", "mill:b:c", "mill:grnd", "mil:sift"].map((name) => ({ name })));
  expect(results.map(({ name, output, error, warnings }) => [name, output ?? error?.code, warnings])).toEqual([
    ["mill::sift", "sifts", ['"mill:sift" was read as "mill::sift": toolset and tool are separated by "::".']],
    ["default::mill:grind", "default's own", []],
    ["mill:b:c", "not_found", []],
    ["mill:grnd", "not_found", []],
    ["mil:sift", "not_found", []],
  ]);
  expect(runtime.registry.require("mill:sift").qualifiedName).toBe("mill::sift");
});

test("F4.7 a shortened provider name of a long name is accepted without a warning", async () => {
  const name = "n".repeat(60);
  const { runtime } = testRuntime({ toolsets: [{ name: "abc", tools: [tool(name, () => "runs")] }] });
  const given = providerName(`abc::${name}`);
  expect(given).toHaveLength(`abc:${name}`.length);
  expect(await runtime.execute([{ name: given }, { name: `abc:${name}` }])).toMatchObject([
    { output: "runs", warnings: [] },
    { output: "runs", warnings: [expect.stringContaining("separated")] },
  ]);
});

test("F0.3 F4.7 a bare name runs when it is unique, and is ambiguous with candidates otherwise", async () => {
  const { runtime } = testRuntime({
    toolsets: [
      { name: "weather", tools: [tool("get", () => "sun"), tool("only", () => 1)] },
      { name: "mail", tools: [tool("get", () => "post")] },
    ],
  });
  const [scoped, bare, unique] = await runtime.execute([{ name: "weather::get" }, { name: "get" }, { name: "only" }]);
  expect([scoped?.output, bare?.error?.code, unique?.output]).toEqual(["sun", "ambiguous", 1]);
  expect(`${bare?.error?.message} ${bare?.error?.hint ?? ""}`).toMatch(/mail::get.*weather::get|weather::get.*mail::get/);
});

test("F0.8 the input selects the overload, and when none fits, the closest one reports why", async () => {
  const { runtime } = testRuntime({
    toolsets: [
      {
        name: "geo",
        overloads: true,
        tools: [
          tool("find", () => "by city", {
            inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
          }),
          tool("find", () => "by point", {
            inputSchema: {
              type: "object",
              properties: { lat: { type: "number" }, lon: { type: "number" } },
              required: ["lat", "lon"],
              additionalProperties: false,
            },
          }),
        ],
      },
    ],
  });
  const [city, point, neither] = await runtime.execute([
    { name: "find", input: { city: "Oslo" } },
    { name: "find", input: { lat: 1, lon: 2 } },
    { name: "find", input: { lat: "x" } },
  ]);
  expect([city?.output, point?.output, neither?.error?.code]).toEqual(["by city", "by point", "invalid_input"]);
  expect(neither?.error?.details?.join()).toContain("lon");
});

test("A16 A17 a tool with an unusable schema is quarantined alone, with the reason in its result", async () => {
  const { runtime } = testRuntime({
    toolsets: [{ name: "s", tools: [tool("good", () => 1), tool("bad", () => 1, { inputSchema: { type: "something" } })] }],
  });
  const [good, bad] = await runtime.execute([{ name: "good" }, { name: "bad" }]);
  expect([good?.output, bad?.error?.code]).toEqual([1, "unavailable"]);
  expect(bad?.error?.message).toContain("something");
});

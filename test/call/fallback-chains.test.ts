import { describe, expect, test } from "vitest";
import { readOnly } from "../../src/core/resources/effects.ts";
import type { Engine } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import { NoAnswer } from "../../src/core/answers/no-answer.ts";
import type { AnswerSources } from "../../src/core/answers/answer-source.ts";
import type { Tool } from "../../src/core/tool.ts";
import { replayEngine } from "../../src/engine/replay.ts";
import type { AnswerOptions } from "../../src/call/fallback-chains.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";

/** Answers with its name, or leaves calls with `{ none: true }` to others. */
function named(kind: string, more: Partial<Engine> = {}): Engine & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    kind,
    origin: kind === "stub" ? "stub" : kind === "replay" ? "replay" : "simulated",
    asked,
    call({ input }, { toolName }) {
      asked.push(toolName);
      if (input["none"] === true) throw new NoAnswer("not_found", `${kind} has no answer.`, { retryable: false });
      if (input["fails"] === true) throw new ToolError("execution_failed", `${kind} failed.`, { retryable: false });
      return { by: kind };
    },
    ...more,
  };
}

const SCHEMA = { type: "object", properties: { none: { type: "boolean" }, fails: { type: "boolean" } } } as const;

function world(answers: AnswerOptions, more: Partial<Tool> = {}) {
  const ran: string[] = [];
  const send = tool("send", () => ran.push("send"), { inputSchema: SCHEMA, effects: { writes: ["mail"] }, ...more });
  const read = tool("read", () => ({ text: `read ${ran.push("read")}` }), {
    inputSchema: SCHEMA,
    effects: readOnly("notes"),
    cache: "session",
  });
  return { ...testRuntime({ tools: [send, read], answers }), ran };
}

describe("rules", () => {
  test("a tool is answered by the first rule that matches, and others live", async () => {
    const [stub, example] = [named("stub"), named("example")];
    const { runtime, ran } = world({
      engines: { stub, example },
      rules: [
        { tools: "default::send", from: "stub" },
        { tools: ["*::send", "mail::*"], from: "example" },
      ],
    });
    const results = await runtime.execute([{ name: "send" }, { name: "read" }]);
    expect(results.map(({ origin, answeredBy, fidelity, output }) => ({ origin, answeredBy, fidelity, output }))).toEqual([
      { origin: "stub", answeredBy: "stub", fidelity: "scripted", output: { by: "stub" } },
      { origin: "live", answeredBy: undefined, fidelity: undefined, output: { text: "read 1" } },
    ]);
    expect([ran, example.asked]).toEqual([["read"], []]);
  });

  test("a source without an answer passes the call to the next, and the last error is the result", async () => {
    const [replay, lm, example] = [named("replay"), named("lm"), named("example")];
    const { runtime } = world({ engines: { replay, lm, example }, rules: [{ tools: "*", from: ["replay", "lm"] }] });
    const result = await runtime.execute({ name: "send", input: { none: true } });
    expect(result).toMatchObject({ status: "error", error: { code: "not_found", message: "lm has no answer." }, answeredBy: "lm" });
    expect([replay.asked, lm.asked, example.asked, result.attempts]).toEqual([["default::send"], ["default::send"], [], 1]);
  });

  test("an error is an answer: no other source is asked", async () => {
    const [lm, example] = [named("lm"), named("example")];
    const { runtime } = world({ engines: { lm, example }, rules: [{ tools: "*", from: ["lm", "example"] }] });
    const result = await runtime.execute({ name: "send", input: { fails: true } });
    expect([result.error?.message, result.origin, result.fidelity, example.asked]).toEqual(["lm failed.", "simulated", "unchecked", []]);
  });

  test("no source falls back to live, and sources other than live use no lock, approval, circuit or budget", async () => {
    const { runtime, ran } = world(
      { engines: { lm: named("lm") }, rules: [{ tools: "*::send", from: "lm" }] },
      { effects: { destructive: true } },
    );
    const failed = await runtime.execute(Array.from({ length: 30 }, () => ({ name: "send", input: { none: true } })));
    expect(new Set(failed.map(({ error }) => error?.code))).toEqual(new Set(["not_found"]));
    expect((await runtime.execute({ name: "send" })).status).toBe("ok");
    expect(ran).toEqual([]);
  });

  test("a caller may choose the source of its calls, and the runtime's own tools are always live", async () => {
    const stub = named("stub");
    const { runtime, ran } = world({ engines: { stub }, rules: [{ tools: "*", from: "stub" }] });
    const live = await runtime.execute({ name: "send" }, { answerFrom: "live" });
    const own = await runtime.execute({ name: "haft::read_result", input: { handle: "none" } });
    expect([live.origin, ran, own.origin, own.error?.code, stub.asked]).toEqual(["live", ["send"], "live", "not_found", []]);
  });

  test("batches wait for each other if any of their sources is sequential", async () => {
    const order: string[] = [];
    const slow = named("lm", {
      order: "sequential",
      async call({ input }) {
        order.push(`begin ${String(input["n"])}`);
        await Promise.resolve();
        order.push(`end ${String(input["n"])}`);
        return {};
      },
    });
    const absent = named("stub", { call: () => Promise.reject(new NoAnswer("not_found", "none")) });
    const { runtime } = world({ engines: { lm: slow, stub: absent }, rules: [{ tools: "*", from: ["stub", "lm"] }] }, { inputSchema: {} });
    await runtime.execute([1, 2, 3].map((n) => ({ name: "send", input: { n } })));
    expect(order).toEqual(["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
  });

  test.each<[string, AnswerOptions, string]>([
    ["an unknown source", { rules: [{ tools: "*", from: "magic" as AnswerSources }] }, 'answers.rules[0].from names the source "magic".'],
    ["no source", { rules: [{ tools: "*", from: [] }] }, "answers.rules[0].from names no source."],
    ["a rule without sources", { rules: [{ tools: "*" } as never] }, "answers.rules[0].from names no source."],
    [
      "a source that is undefined",
      { rules: [{ tools: "*", from: ["cache", undefined as never] }] },
      "answers.rules[0].from names no source.",
    ],
    ["live beside others", { rules: [{ tools: "*", from: ["live", "cache"] }] }, "answers.rules[0].from names live together with others"],
    [
      "a source without its engine",
      { rules: [{ tools: "*", from: "lm" }] },
      "answers.rules[0].from names lm, and answers.engines has no engine for it.",
    ],
    ["a pattern that fits nothing", { rules: [{ tools: "send", from: "cache" }] }, '"answers.rules[0].tools" has the pattern "send"'],
    ["an engine that is none", { engines: { lm: {} as Engine } }, "answers.engines.lm is not an engine"],
    ["an engine for no source", { engines: { magic: named("x") } as AnswerOptions["engines"] & object }, 'answers.engines has "magic"'],
    ["live in a simulation", { simulation: "live" }, "answers.simulation names live"],
  ])("%s is rejected at once", (_what, answers, message) => {
    expect(() => world(answers)).toThrow(message);
  });

  test("answerFrom a source without an engine rejects", async () => {
    const { runtime } = world({});
    await expect(runtime.execute({ name: "send" }, { answerFrom: "example" })).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

describe("the sources cache and record", () => {
  test("cache returns the stored answer of an equal call, and asks no engine", async () => {
    const { runtime, ran } = world({ engines: { stub: named("stub") }, rules: [] });
    const session = runtime.session();
    const none = await session.execute({ name: "read" }, { answerFrom: "cache" });
    await session.execute({ name: "read" });
    const kept = await session.execute({ name: "read" }, { answerFrom: "cache" });
    const other = await session.execute({ name: "read", input: { fails: false } }, { answerFrom: ["cache", "stub"] });
    expect([none.error?.code, kept.output, kept.origin, kept.fidelity, other.origin, ran]).toEqual([
      "not_found",
      { text: "read 1" },
      "cache",
      "observed",
      "stub",
      ["read"],
    ]);
  });

  test("record runs live and reports the call, so that a replay gives the same answer", async () => {
    const events: SessionEvent[] = [];
    const { runtime, ran } = world({ rules: [{ tools: "*::send", from: "record" }], onRecord: (pair) => events.push(...pair) });
    const results = await runtime.session().execute([{ name: "send", input: { none: false } }, { name: "read" }]);
    expect([results.map(({ origin }) => origin), ran, events.map(({ type }) => type)]).toEqual([
      ["live", "live"],
      ["send", "read"],
      ["call-start", "call-end"],
    ]);
    const again = world({ engines: { replay: replayEngine(events) }, rules: [{ tools: "*", from: "replay" }] });
    const replayed = await again.runtime.execute([{ name: "send", input: { none: false } }, { name: "read" }]);
    expect(replayed.map(({ origin, fidelity, output, error }) => [origin, fidelity, output, error?.code])).toEqual([
      ["replay", "observed", 1, undefined],
      ["replay", "unchecked", undefined, "not_found"],
    ]);
    expect(again.ran).toEqual([]);
  });

  test("record reports answered calls, cached ones included, and no call that did not run", async () => {
    const recorded: unknown[] = [];
    const { runtime } = testRuntime({
      tools: [
        tool("read", () => 1, { effects: { reads: ["notes"], writes: [] }, cache: "session" }),
        tool("send", () => 1, { inputSchema: { type: "object", required: ["to"] } }),
        tool("drop", () => 1, { effects: { writes: ["disk"], destructive: true } }),
        tool("fail", () => Promise.reject(new Error("It broke.")), { maxAttempts: 1 }),
      ],
      approval: { approve: () => "deny" },
      answers: {
        rules: [{ tools: "*", from: "record" }],
        onRecord: ([start, end]) => {
          if (start?.type === "call-start" && end?.type === "call-end")
            recorded.push([start.call.name, end.result.status, end.result.origin]);
        },
      },
    });
    const session = runtime.session();
    for (const name of ["read", "read", "send", "drop", "fail"]) await session.execute({ name });
    expect(recorded).toEqual([
      ["read", "ok", "live"],
      ["read", "ok", "cache"],
      ["fail", "error", "live"],
    ]);
  });

  test("an onRecord listener that throws does not affect the result", async () => {
    const { runtime } = world({
      rules: [{ tools: "*", from: "record" }],
      onRecord: () => {
        throw new Error("full");
      },
    });
    expect((await runtime.execute({ name: "send" })).status).toBe("ok");
  });

  test("an onRecord listener whose promise rejects does not end the process, and the log says what was not recorded", async () => {
    const onRecord = (() => Promise.reject(new Error("full"))) as unknown as () => void; // as a program without types may pass
    const { runtime, ports } = world({ rules: [{ tools: "*", from: "record" }], onRecord });
    expect((await runtime.execute({ name: "send" })).status).toBe("ok");
    await settle();
    expect(ports.log.lines.map(({ message }) => message).join("\n")).toMatch(/send could not be recorded: .*full/u);
  });
});

describe("simulations", () => {
  test("calls that may not run are answered by the simulation sources in order, and reads stay live", async () => {
    const [stub, example] = [named("stub"), named("example")];
    const { runtime, ran } = world({ engines: { stub, example }, simulation: ["stub", "example"] });
    const session = runtime.session();
    const { results } = await session.simulate([{ name: "send", input: { none: false } }, { name: "read" }]);
    expect(results.map(({ origin, answeredBy }) => [origin, answeredBy])).toEqual([
      ["stub", "stub"],
      ["live", undefined],
    ]);
    expect(ran).toEqual(["read"]);
  });

  test("by default engines stand in from the highest fidelity to the lowest", async () => {
    const [replay, example] = [named("replay"), named("example")];
    const { runtime } = world({ engines: { example, replay } });
    const { results } = await runtime.session().simulate([{ name: "send" }, { name: "send", input: { none: true } }]);
    expect(results.map(({ answeredBy, error }) => [answeredBy, error?.message])).toEqual([
      ["replay", undefined],
      ["example", "example has no answer."],
    ]);
  });

  test("a caller cannot make a simulation live with answerFrom", async () => {
    const { runtime, ran } = world({ engines: { stub: named("stub") } });
    const { results } = await runtime.session().simulate([{ name: "send" }], { answerFrom: "live" });
    expect([results[0]?.origin, ran]).toEqual(["stub", []]);
  });
});

describe("rewriteInput", () => {
  test("F0.60 the rewritten input is validated and runs, and the log has the call as it was made", async () => {
    const { runtime, ran } = world({});
    const session = runtime.session("s");
    const good = await session.execute({ name: "send", input: { none: "$1" } }, { rewriteInput: () => ({ none: true }) });
    const bad = await session.execute({ name: "send", input: { none: "$1" } }, { rewriteInput: () => ({ none: "$1" }) });
    const refused = await session.execute(
      { name: "send" },
      {
        rewriteInput: () => {
          throw new ToolError("invalid_input", "There is no $1.");
        },
      },
    );
    expect([good.status, bad.error?.code, refused.error?.message, ran]).toEqual(["ok", "invalid_input", "There is no $1.", ["send"]]);
    const [start] = session.log.filter(({ type }) => type === "call-start");
    const [end] = session.log.filter(({ type }) => type === "call-end");
    expect([start, end]).toMatchObject([{ call: { input: { none: "$1" } } }, { input: { none: true } }]);
  });
});

test("F0.40 calls of a batch without a session see the earlier results, and these are dropped with it", async () => {
  const seen: number[] = [];
  const lm = named("lm", {
    order: "sequential",
    call(_request, { history }) {
      return seen.push(history.length);
    },
  });
  const { runtime } = world({ engines: { lm }, rules: [{ tools: "*::send", from: "lm" }] });
  await runtime.execute([{ name: "send" }, { name: "send" }, { name: "nobody" }, { name: "send" }]);
  await runtime.execute({ name: "send" });
  expect(seen).toEqual([0, 1, 3, 0]);
});

test("an engine can look up the definitions of the other tools", async () => {
  const told: unknown[] = [];
  const lm = named("lm", { call: ({ findTool }) => told.push(findTool?.("default::read")?.name, findTool?.("default::none")) });
  const { runtime } = world({ engines: { lm }, rules: [{ tools: "*::send", from: "lm" }] });
  await runtime.execute({ name: "send" });
  expect(told).toEqual(["read", undefined]);
});

test("a rule for real tools only skips tools that an engine already stands in for", async () => {
  const [own, example] = [named("lm", { effectFree: true }), named("example")];
  const asks: string[] = [];
  const { runtime } = testRuntime({
    toolsets: [
      { name: "played", engine: own, tools: [{ name: "drop", description: "Drops.", inputSchema: {}, effects: { destructive: true } }] },
      { name: "real", tools: [tool("drop", () => asks.push("ran"), { effects: { destructive: true } })] },
    ],
    approval: {
      approve({ toolName }) {
        asks.push(toolName);
        return "allow-once";
      },
    },
    answers: { engines: { example }, rules: [{ tools: "*", from: "example", realOnly: true }] },
  });
  await runtime.open();
  const results = await runtime.execute([{ name: "played::drop" }, { name: "real::drop" }]);
  expect(results.map(({ answeredBy }) => answeredBy)).toEqual(["lm", "example"]);
  expect(asks).toEqual([]);
});

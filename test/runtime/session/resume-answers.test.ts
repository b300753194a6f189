/** What was to be pretended when the process ended is not done for real afterwards, and what was real is not called pretended. */
import { describe, expect, test } from "vitest";
import { runSequence } from "../../../src/compose/sequence/run-sequence.ts";
import type { Effects, ReconcileContext } from "../../../src/core/resources/effects.ts";
import type { Engine } from "../../../src/core/engine.ts";
import { readEvent } from "../../../src/core/recording/read-event.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const never = (): Promise<never> => new Promise(() => {});
const silentLm: Engine = { kind: "lm", origin: "simulated", call: never };
const lm: Engine = { ...silentLm, call: () => ({ by: "lm" }) };
const stub: Engine = { kind: "stub", origin: "stub", call: () => ({ by: "stub" }) };

/** Ends the process while the calls run, and takes the session up in another. */
async function crash(run: (session: RuntimeSession) => Promise<unknown>, before: RuntimeOptions, after: RuntimeOptions) {
  const store = new FailingStore();
  void run(testRuntime({ ...before, store }).runtime.session("s")).catch(() => {});
  await settle();
  await store.logs.get("s")?.whenDurable();
  const { runtime } = testRuntime({ ...after, store: store.crash() });
  return (await runtime.resume("s")).history.map(({ result }) => result);
}

describe.each(["sync", "async"] as const)("I11 an interrupted call (durability %s)", (durability) => {
  const world = () => {
    let ran = 0;
    return { ran: () => ran, tools: [tool("send", () => ++ran, { effects: { writes: ["mail"] } })], durability };
  };

  test.each([
    ["by its caller", { answerFrom: "lm" }, {}],
    ["by its caller, with a key", { answerFrom: "lm", idempotencyKey: "k" }, {}],
    ["by a rule that is gone", {}, { rules: [{ tools: "*", from: "lm" }] }],
  ] as const)("that was to be answered by a stand-in, chosen %s, is answered by it", async (_who, options, answers) => {
    const { ran, ...parts } = world();
    const before = { ...parts, answers: { ...answers, engines: { lm: silentLm } } };
    const results = await crash((session) => session.execute({ name: "send" }, options), before, {
      ...parts,
      answers: { engines: { lm } },
    });
    expect([results, ran()]).toMatchObject([[{ status: "ok", origin: "simulated", answeredBy: "lm", output: { by: "lm" } }], 0]);
  });

  test("does not run for real if its stand-in is missing", async () => {
    const { ran, ...parts } = world();
    const before = { ...parts, answers: { engines: { lm: silentLm } } };
    const results = await crash((session) => session.execute({ name: "send" }, { answerFrom: "lm" }), before, parts);
    expect([results, ran()]).toMatchObject([[{ status: "cancelled", error: { outcome: "not_started" } }], 0]);
    expect(results[0]?.error?.message).toContain("answers.engines has no engine for lm");
  });

  test.each<[string, Effects, object]>([
    ["of which nothing is known", { writes: ["mail"] }, { status: "error", origin: "live", error: { code: "outcome_unknown" } }],
    [
      "that has happened",
      { writes: ["mail"], reconcile: () => ({ happened: true, output: "sent" }) },
      { status: "ok", origin: "live", output: "sent" },
    ],
    [
      "that has not happened",
      { writes: ["mail"], reconcile: () => ({ happened: false }) },
      { status: "ok", origin: "stub", output: { by: "stub" } },
    ],
  ])("that was real, %s, keeps its origin if rules now name the stub", async (_what, effects, expected) => {
    const tools = [tool("send", never, { effects })];
    const after = { tools, durability, answers: { engines: { stub }, rules: [{ tools: "*", from: "stub" }] } } as const;
    const results = await crash((session) => session.execute({ name: "send" }), { tools, durability }, after);
    expect(results).toMatchObject([expected]);
    expect(results[0]?.answeredBy).toBe(results[0]?.origin === "stub" ? "stub" : undefined);
  });

  test("that a hook redirected from a stand-in to a real tool has an unknown outcome", async () => {
    const tools = [tool("draft", () => 1), tool("send", never, { effects: { writes: ["mail"] } })];
    const hooks = [{ name: "sender", beforeCall: () => ({ name: "send", input: {} }) }];
    const parts: RuntimeOptions = {
      tools,
      hooks,
      durability,
      answers: { engines: { stub }, rules: [{ tools: "*::draft", from: "stub" }] },
    };
    const results = await crash((session) => session.execute({ name: "draft" }), parts, parts);
    expect(results).toMatchObject([{ status: "error", origin: "live", error: { code: "outcome_unknown" } }]);
  });

  test("F0.60 runs again with the earlier values of its references, or not at all", async () => {
    const inputs: unknown[] = [];
    const reconcile = ({ input }: ReconcileContext) => {
      inputs.push(["reconcile", input]);
      return { happened: false } as const;
    };
    const toolsOf = (answer: () => unknown) => [
      tool("order", () => ({ id: "o7" })),
      tool("send", (input) => (inputs.push(input), answer()), { effects: { writes: ["mail"], reconcile } }),
    ];
    const calls = [
      { id: "$1", name: "order", arguments: {} },
      { id: "$2", name: "send", arguments: { about: "$1.id" } },
      { id: "$3", name: "send", arguments: { about: "$1.id", again: true } },
    ];
    const results = await crash(
      (session) => runSequence(session, calls),
      { tools: toolsOf(never), durability },
      { tools: toolsOf(() => "sent"), durability },
    );
    expect(inputs).toEqual([{ about: "o7" }, ["reconcile", { about: "o7" }], { about: "o7" }]);
    const [, second, third] = results;
    expect([second?.output, third?.error?.code]).toEqual(["sent", durability === "sync" ? "cancelled" : "outcome_unknown"]);
  });
});

test("I11 the answer source of a call round-trips through a store and a recording", () => {
  const start = { type: "call-start", sessionId: "s", at: 1, callId: "c", turnId: "t", call: { name: "send" } } as const;
  const said = { ...start, answerFrom: ["replay", "lm"], rewritten: true };
  expect(readEvent(said, "line 1")).toEqual(said);
  expect(() => readEvent({ ...start, answerFrom: ["magic"] }, "line 1")).toThrow(expect.objectContaining({ code: "corrupt_record" }));
});

test("issue 19.7 a call that runs again after a crash has its original principal, whoever resumes it", async () => {
  const store = new FailingStore();
  const effects = { writes: ["money"], idempotent: true };
  const before = testRuntime({ store, tools: [tool("pay", never, { effects })] });
  const principal = { id: "key:alice", scopes: new Set(["execute"]) };
  void before.runtime.session("s").execute({ name: "pay" }, { principal: principal.id, data: { principal } });
  await settle();
  await store.logs.get("s")?.whenDurable();
  const again = tool("pay", (_input, { data }) => (data["principal"] as { readonly id: string }).id, { effects });
  const { runtime } = testRuntime({ store: store.crash(), tools: [again] });
  const session = await runtime.resume("s", { data: { principal: { id: "key:bob" } } });
  expect(session.history.map(({ result }) => result?.output)).toEqual(["key:alice"]);
});

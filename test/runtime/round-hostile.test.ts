import type { ToolError } from "../../src/core/error.ts";
import { expect, test } from "vitest";
import type { ModelCall } from "../../src/core/model.ts";
import type { RoundReply, Round } from "../../src/runtime/round.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { FailingStore } from "./session/failing-store.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";

const WELL: RoundReply = { content: "", finish: "calls", usage: { inputTokens: 1, outputTokens: 1 } };
const call = (name: string, input: Readonly<Record<string, unknown>> = {}): ModelCall => ({ name, input });
const write = { effects: { reads: [], writes: ["w"] } };

test("a message that cannot be recorded ends each of its calls, and none that waited runs", async () => {
  const ran: string[] = [];
  const { runtime } = testRuntime({ tools: [tool("read", () => ran.push("read")), tool("write", () => ran.push("write"), write)] });
  const session = runtime.session("s");
  const content = [{ type: "image", mediaType: 7, data: "" }] as unknown as RoundReply["content"];
  const failed = await session
    .turn(async (turn) => {
      const round = turn.round();
      round.add(call("read"));
      round.add(call("write"));
      return round.end({ ...WELL, content });
    })
    .catch((thrown: unknown) => thrown);
  expect(failed).toMatchObject({ code: "not_json" });
  expect(session.history.map(({ call: { name }, result }) => [name, result?.status])).toEqual([
    ["read", "ok"],
    ["write", "cancelled"],
  ]);
  expect(ran).toEqual(["read"]);
  expect(runtime.running).toEqual([]);
  expect(session.messages()).toEqual([]);
  expect(await runtime.close()).toEqual([]);
});

test("a session can be resumed whatever finish reason and usage the model reported", async () => {
  const store = new FailingStore();
  const session = testRuntime({ store, tools: [tool("read", () => 1)] }).runtime.session("s");
  const usage = { inputTokens: Number.NaN, outputTokens: -1.5 };
  await session.turn(async (turn) => {
    const round = turn.round();
    round.add(call("read"));
    await round.end({ ...WELL, usage });
    await turn.round().end({ content: "Bye.", finish: "whatever" as "stop", usage });
  });
  const shown = session.messages();
  await session.close();
  expect((await testRuntime({ store: store.crash() }).runtime.resume("s")).messages()).toEqual(shown);
  expect(shown.map(({ role }) => role)).toEqual(["call", "result", "assistant"]);
});

test("I03 also with asynchronous durability, calls that waited for the end of a message do not run after a crash", async () => {
  const store = memoryStore();
  const ran: string[] = [];
  const tools = [tool("put", () => ran.push("put"), { effects: { reads: [], writes: ["w"], idempotent: true } })];
  const session = testRuntime({ store, tools, durability: "async" }).runtime.session("s");
  const begun = gate();
  const crashed = session.turn(async (turn) => {
    turn.round().add(call("put"));
    begun.open();
    await new Promise(() => {}); // the process ends here
  });
  crashed.catch(() => {});
  await begun.promise;
  await session.eventLog?.whenDurable();
  const resumed = await testRuntime({ store, tools, durability: "async" }).runtime.resume("s", { takeOver: true });
  expect([ran, resumed.messages(), resumed.history.map(({ result }) => result?.error?.code)]).toEqual([[], [], ["outcome_unknown"]]);
});

test("a voided round frees the turn's end and its once-per-turn tools even if the call only reads", async () => {
  const ran: string[] = [];
  const { runtime } = testRuntime({
    tools: [tool("say", () => ran.push("say"), { endsTurn: true }), tool("once", () => ran.push("once"), { oncePerTurn: true })],
  });
  const results = await runtime.session("s").turn(async (turn) => {
    const lost = turn.round();
    lost.add(call("once"));
    lost.add(call("say"));
    await lost.void("lost");
    expect(turn.endedBy).toBeUndefined();
    const round = turn.round();
    round.add(call("once"));
    round.add(call("say"));
    return round.end(WELL);
  });
  expect(results.map(({ status }) => status)).toEqual(["ok", "ok"]);
  expect(ran).toEqual(["once", "say"]);
});

test.each(["session", "runtime"] as const)("closing the %s ends a round whose message never ends", async (what) => {
  const { runtime } = testRuntime({ tools: [tool("write", () => 1, write), tool("read", () => 1)], store: memoryStore() });
  const session = runtime.session("s");
  const begun = gate();
  const held = session.turn(async (turn) => {
    const round = turn.round();
    round.add(call("write"));
    begun.open();
    await new Promise<void>((resolve) => turn.signal.addEventListener("abort", () => resolve()));
    return turn.signal.aborted;
  });
  await begun.promise;
  await (what === "session" ? session : runtime).close();
  expect(await held).toBe(true);
  expect(session.history.map(({ result }) => result?.status)).toEqual(["cancelled"]);
  expect(runtime.running).toEqual([]);
});

test("a tool or a listener that adds to its own round, or ends it, runs no call twice", async () => {
  const ran: string[] = [];
  let round: Round | undefined;
  const ends: Promise<unknown>[] = [];
  const { runtime } = testRuntime({
    tools: [
      tool("adds", () => void (ran.push("adds"), round?.add(call("leaf")))),
      tool("ends", () => void (ran.push("ends"), ends.push(round?.end(WELL) ?? Promise.resolve()))),
      tool("leaf", () => void ran.push("leaf")),
    ],
  });
  const session = runtime.session("s");
  runtime.subscribe((event) => {
    if (event.type === "call-end" && event.result.name === "default::leaf" && ran.filter((name) => name === "leaf").length < 3)
      round?.add(call("leaf"));
  });
  await session.turn(async (turn) => {
    round = turn.round();
    round.add(call("adds"));
    round.add(call("ends"));
    await Promise.all(ends);
  });
  expect(ran).toEqual(["adds", "leaf", "leaf", "leaf", "ends"]);
  expect(session.history.map(({ call: { name }, result }) => `${name} ${result?.status}`)).toEqual([
    "adds ok",
    "leaf ok",
    "leaf ok",
    "leaf ok",
    "ends ok",
  ]);
  expect(runtime.running).toEqual([]);
});

test("F3.37 nested calls have the visibility rules of the call that their handler answers", async () => {
  const ran: string[] = [];
  const nested = (name: string) => async () => {
    const results = [await session.execute({ name }), await session.execute({ name }, { allow: { allow: ["*"] } })];
    return results.map(({ error }) => error?.code ?? "ok").join(" ");
  };
  const { runtime } = testRuntime({ tools: [tool("secret", () => ran.push("secret")), tool("open", nested("secret"))] });
  const session = runtime.session("s");
  const allow = { deny: ["default::secret"] };
  const { output } = await session.execute({ name: "open" }, { allow });
  const [inRound] = await session.turn((turn) => {
    const round = turn.round({ allow });
    round.add(call("open"));
    return round.end(WELL);
  });
  expect([output, inRound?.output, ran]).toEqual(["permission_denied permission_denied", "permission_denied permission_denied", []]);
  expect((await session.execute({ name: "open" })).output).toBe("ok ok");
});

test("F1.15 a message of 4,096 calls on one resource has a result for each", async () => {
  const { runtime } = testRuntime({
    tools: [
      tool("read", () => 1, { effects: { reads: ["k"], writes: [] } }),
      tool("write", () => 1, { effects: { reads: [], writes: ["k"] } }),
    ],
  });
  const results = await runtime.session("s").turn(async (turn) => {
    const round = turn.round();
    for (let index = 0; index < 4_096; index++) round.add(call(index % 2 === 0 ? "write" : "read"));
    await settle();
    return round.end(WELL);
  });
  expect(results.filter(({ status }) => status === "ok")).toHaveLength(4_096);
});

test("a refusal that is not a ToolError is refused, and the session can be closed", async () => {
  const { runtime } = testRuntime({ tools: [tool("read", () => 1, { effects: { reads: ["k"], writes: [] } })] });
  const session = runtime.session("s");
  const ended = session.turn(async (turn) => {
    const round = turn.round();
    for (const refusal of [true, "no", {}, Promise.resolve()] as unknown as ToolError[])
      expect(() => round.add(call("read"), { refusal })).toThrow(
        /^add\(\) takes a ToolError as refusal, not (?:a boolean|a string|an object|a promise)\.$/u,
      );
    round.add(call("read"));
    return await round.end(WELL);
  });
  expect((await ended).map(({ status }) => status)).toEqual(["ok"]);
  await runtime.close();
});

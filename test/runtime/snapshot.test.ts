/** A session as one JSON value: what is taken comes back, and what is hostile, damaged or newer is refused. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ToolOutput } from "../../src/core/content.ts";
import { ToolError } from "../../src/core/error.ts";
import { ERROR_CODES } from "../../src/core/error-codes.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { SessionSnapshot } from "../../src/runtime/snapshot.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";
import { FailingStore } from "./session/failing-store.ts";

const set = tool("set", ({ key, value }, { state }) => state.update(String(key), () => value as JsonValue));
const echo = tool("echo", (input) => input);
const put = (key: string, value: JsonValue) => ({ name: "set", input: { key, value } });
const ODD = { text: "\u0000\ud800 \u2028 é 𝄞", numbers: [0, 1.5, 1e308, 5e-324], empty: [{}, [], "", null] };

async function taken(): Promise<SessionSnapshot> {
  const { runtime } = testRuntime({ tools: [set, echo] });
  const session = runtime.session("s");
  await session.addMessage({ role: "user", content: "go" });
  await session.execute([put("k", ODD), put("__proto__", 1), { name: "nope" }], { idempotencyKey: "key" });
  await session.execute({ name: "echo", input: ODD });
  return session.snapshot();
}

/** By way of text, as a program would send it. */
function sent(snapshot: unknown): SessionSnapshot {
  return parseJson(JSON.stringify(snapshot)) as unknown as SessionSnapshot;
}

test("F0.31 a snapshot is immutable: neither later calls nor assignments change it", async () => {
  const { runtime } = testRuntime({ tools: [set] });
  const session = runtime.session("s");
  await session.execute(put("k", [1]));
  const snapshot = await session.snapshot();
  const copy = structuredClone(snapshot);
  await session.execute(put("k", [2]));
  expect(snapshot).toEqual(copy);
  expect(() => Object.assign(snapshot.state["default"] ?? {}, { k: 5 })).toThrow(TypeError);
  expect(() => (snapshot.events as SessionEvent[]).pop()).toThrow(TypeError);
  expect(() => Object.assign(snapshot.state["default"]?.["k"] ?? {}, { 0: 5 })).toThrow(TypeError);
  expect(session.state("default", "k")).toEqual([2]);
});

test("F0.31 a snapshot waits for the running turn; one that a handler takes is from before its turn", async () => {
  const going = gate();
  let inside: SessionSnapshot | undefined;
  const slow = tool("slow", async (_, { state }) => {
    state.update("k", () => 1);
    inside = await session.snapshot();
    await going.promise;
    state.update("k", () => 2);
  });
  const { runtime } = testRuntime({ tools: [slow] });
  const session: RuntimeSession = runtime.session();
  const running = session.execute({ name: "slow" });
  const outside = session.snapshot();
  const next = session.execute({ name: "slow" });
  await settle();
  going.open();
  await running;
  expect([inside?.state, (await outside).state, (await outside).events.length]).toEqual([{}, { default: { k: 2 } }, 4]);
  await next;
  expect(runtime.session("r", { from: await outside }).state("default", "k")).toBe(2);
});

test("F0.32 F0.54 a session restored from a snapshot continues like the original, independently of it", async () => {
  const snapshot = await taken();
  const { runtime } = testRuntime({ tools: [set, echo] });
  const [one, two] = [runtime.session("one", { from: sent(snapshot) }), runtime.session("two", { from: sent(snapshot) })];
  for (const session of [one, two]) {
    expect([session.log, session.state("default", "k"), session.state("default", "__proto__")]).toEqual([snapshot.events, ODD, 1]);
  }
  await one.execute(put("k", 1));
  expect([one.state("default", "k"), two.state("default", "k"), two.history.length]).toEqual([1, ODD, 4]);
  expect(sent(await two.snapshot())).toEqual({ ...sent(snapshot), sessionId: "two", at: expect.any(Number) });
});

test("F0.54 a session restored into a store can be resumed from it unchanged", async () => {
  const snapshot = await taken();
  const store = new FailingStore();
  const { runtime } = testRuntime({ tools: [set, echo], store });
  const session = runtime.session("r", { from: sent(snapshot) });
  await session.execute(put("k", 1));
  const resumed = await testRuntime({ tools: [set, echo], store: store.crash() }).runtime.resume("r");
  expect([resumed.history, resumed.state("default", "k"), resumed.state("default", "__proto__")]).toEqual([session.history, 1, 1]);
});

test("F0.54 a fork's snapshot is complete, and a branch of a restored session can be committed to it", async () => {
  const { runtime } = testRuntime({ tools: [set, echo] });
  const session = runtime.session();
  await session.execute(put("k", 1));
  const branch = session.fork();
  await branch.execute(put("k", 2));
  const restored = runtime.session("r", { from: await branch.snapshot() });
  const simulation = await restored.simulate({ name: "echo" });
  await simulation.commit();
  expect([restored.history.length, restored.state("default", "k")]).toEqual([3, 2]);
});

test("F0.54 a snapshot of another or no version, or another value, is rejected with what it is", async () => {
  const snapshot = sent(await taken());
  const { runtime } = testRuntime();
  for (const [wrong, message] of [
    [{ ...snapshot, version: 2 }, "It is of version 2; this version of Haft reads version 1."],
    [{ ...snapshot, version: undefined }, "It is of version undefined; this version of Haft reads version 1."],
    [{ ...snapshot, haft: "recording" }, 'It does not begin with "haft": "snapshot".'],
    [{ ...snapshot, sessionId: 5 }, '"sessionId" is not a string.'],
    [{ ...snapshot, events: {} }, '"events" is not an array.'],
    [{ ...snapshot, state: [] }, '"state" is not an object.'],
    [{ ...snapshot, engines: null }, '"engines" is not an object.'],
    [null, "It is not an object."],
    ["snapshot", "It is not an object."],
    [[snapshot], "It is not an object."],
  ] as const) {
    expect(() => runtime.session("s", { from: wrong as unknown as SessionSnapshot })).toThrowError(
      expect.objectContaining({ code: "corrupt_record", message: `The snapshot cannot be used. ${message}` }),
    );
  }
  expect(runtime.session("s").length).toBe(0);
});

test("C09 a tampered snapshot is rejected wherever it is inconsistent, and its id stays free", async () => {
  const snapshot = sent(await taken());
  const { runtime } = testRuntime();
  const tampered: readonly unknown[] = [
    ...snapshot.events.flatMap((event, at) => {
      const change = (by: object): unknown => ({ ...snapshot, events: snapshot.events.with(at, Object.assign({}, event, by)) });
      return [change({ type: "nonsense" }), change({ at: "now" }), change({ sessionId: "" })];
    }),
    // A call without its result, and a change of state without the state.
    { ...snapshot, events: snapshot.events.slice(0, -1) },
    { ...snapshot, events: snapshot.events.filter((event) => event.type !== "state-change") },
    { ...snapshot, state: { default: { k: "other" } } },
    { ...snapshot, state: {} },
    { ...snapshot, state: { ...snapshot.state, extra: { k: 1 } } },
    {
      ...snapshot,
      get events() {
        throw new Error("boom");
      },
    },
    new Proxy(snapshot, {
      ownKeys: () => {
        throw new Error("boom");
      },
    }),
  ];
  for (const one of tampered) {
    expect(() => runtime.session("s", { from: one as SessionSnapshot })).toThrowError(expect.objectContaining({ code: "corrupt_record" }));
  }
  expect(runtime.session("s").length).toBe(0);
});

test("C09 jobs with circular or very deeply nested parent calls can be read", () => {
  const at = { sessionId: "s", turnId: "t", at: 1 };
  const start = (callId: string, parentCallId?: string) => ({
    ...at,
    type: "call-start",
    callId,
    call: { name: "echo", input: {} },
    ...(parentCallId === undefined ? {} : { parentCallId }),
  });
  const job = { ...at, type: "job-start", callId: "0", toolName: "default::echo", mode: "background", notify: true };
  const deep = Array.from({ length: 20_000 }, (_, index) => start(String(index), index === 0 ? undefined : String(index - 1)));
  const { runtime } = testRuntime({ tools: [echo] });
  for (const starts of [[start("0", "0")], [start("0"), start("1", "0"), start("0", "1")], deep]) {
    const from = sent({ haft: "snapshot", version: 1, sessionId: "s", events: [...starts, job], state: {}, engines: {} });
    expect(runtime.session(undefined, { from }).length).toBe(starts.length + 1);
  }
});

test("C09 reserved keys, prototypes and accessors in a snapshot are plain data or dropped, and one nested too deeply is rejected", async () => {
  const hostile = {
    lc: 1,
    type: "constructor",
    id: ["x"],
    $type: "y",
    __class__: "z",
    nested: { type: "Buffer", data: [1, 2] },
    constructor: { prototype: { polluted: 1 } },
  };
  const { runtime } = testRuntime({ tools: [set, echo] });
  const session = runtime.session();
  await session.execute([put("constructor", hostile), { name: "echo", input: hostile }]);
  const snapshot = sent(await session.snapshot());
  const restored = runtime.session("r", { from: snapshot });
  expect([restored.state("default", "constructor"), restored.history[1]?.result?.output]).toEqual([hostile, hostile]);
  expect(Object.getPrototypeOf(restored.state("default", "constructor"))).toBe(Object.prototype);
  expect({}).not.toHaveProperty("polluted");
  let deep: unknown = 1;
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  for (const where of ["engines", "state"]) {
    expect(() => runtime.session("deep", { from: { ...snapshot, [where]: { deep } } as unknown as SessionSnapshot })).toThrowError(
      expect.objectContaining({ code: "corrupt_record" }),
    );
  }
});

test("C09 a snapshot's engine states of unknown toolsets are ignored", async () => {
  const snapshot = sent(await taken());
  const { runtime } = testRuntime({ tools: [echo] });
  const engines = parseJson('{ "gone": 1, "default": [1], "constructor": 2 }') as SessionSnapshot["engines"];
  const session = runtime.session("s", { from: { ...snapshot, engines } });
  expect((await session.execute({ name: "echo", input: { n: 1 } })).output).toEqual({ n: 1 });
});

test("F0.31 a snapshot of ten thousand calls round-trips", async () => {
  const { runtime } = testRuntime({ tools: [set] });
  const session = runtime.session();
  for (let round = 0; round < 100; round++) await session.execute(Array.from({ length: 100 }, (_, at) => put(`k${at}`, round)));
  const restored = runtime.session("r", { from: sent(await session.snapshot()) });
  expect([restored.history.length, restored.state("default", "k99"), restored.length]).toEqual([10_000, 99, session.length]);
});

test("the record of any thrown or returned value can be read again", async () => {
  const odd = fc.oneof(fc.string(), fc.constantFrom("", "a".repeat(5_000), "\ud800", "data:,x"));
  const texts = fc.array(odd, { maxLength: 30 });
  const code = fc.constantFrom(...(Object.keys(ERROR_CODES) as (keyof typeof ERROR_CODES)[]));
  const options = fc.record(
    { hint: odd, operatorHint: odd, details: texts, toolNames: texts, retryAfterMs: fc.double() },
    { requiredKeys: [] },
  );
  const thrown = fc.tuple(code, odd, options).map(([given, message, more]) => new ToolError(given, message, { ...more, retryable: false }));
  const answered = fc.tuple(odd, odd).map(([output, sameAs]) => new ToolOutput({ output, sameAs, metadata: { [output]: sameAs } }));
  await fc.assert(
    fc.asyncProperty(fc.oneof(thrown, answered), async (end) => {
      const tells = tool("end", () => {
        if (end instanceof ToolError) throw end;
        return end;
      });
      const { runtime } = testRuntime({ tools: [tells] });
      const session = runtime.session("s");
      const result = await session.execute({ name: "end", input: {} });
      expect(runtime.session("t", { from: sent(await session.snapshot()) }).history[0]?.result).toEqual(sent(result)); // JSON has no -0
    }),
    { numRuns: 200 },
  );
});

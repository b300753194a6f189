/** Calls that handlers of early reads make in their session: what becomes of the message becomes of them. */
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { Round } from "../../src/runtime/round.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import type { RuntimeSession, SessionTurn } from "../../src/runtime/runtime-session.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import type { Store } from "../../src/core/store/store.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

const USAGE = { inputTokens: 1, outputTokens: 1 };
const WELL = { content: "Well.", finish: "calls", usage: USAGE } as const;
const READS = { effects: { reads: [], writes: [] } };
const never = (): Promise<never> => new Promise(() => {});

interface World {
  /** What `outer` does. */
  readonly work: (session: RuntimeSession) => unknown;
  session: RuntimeSession | undefined;
  /** The calls of `count` that ran. */
  readonly ran: string[];
  /** What `slow` and `outer` may wait for. */
  readonly gate: PromiseWithResolvers<void>;
}

function toolsOf(world: World): readonly Tool[] {
  const add = (count: JsonValue | undefined): number => (typeof count === "number" ? count : 0) + 1;
  return [
    tool("outer", async () => world.session !== undefined && (await world.work(world.session), "done"), READS),
    tool("middle", async () => (await world.session?.execute({ name: "count" }))?.status, READS),
    tool("count", (_, { state, callId }) => (state.update("n", add), world.ran.push(callId), "counted"), {
      effects: { writes: ["session:n"] },
    }),
    tool("slow", async (_, { state }) => (state.update("n", add), await world.gate.promise, "slow is over"), {
      effects: { writes: ["session:slow"] },
    }),
    tool("fails", () => Promise.reject(new Error("no")), READS),
    tool("shown", ({ id }, { isShown }) => isShown(String(id)), {
      ...READS,
      inputSchema: { type: "object", properties: { id: { type: "string" } } },
    }),
  ];
}

/** A session whose early read `outer` does what each test says. */
function setUp(work: (session: RuntimeSession) => unknown, options: RuntimeOptions = {}) {
  const world: World = { work, session: undefined, ran: [], gate: Promise.withResolvers<void>() };
  const { runtime } = testRuntime({ tools: toolsOf(world), ...options });
  return { ...world, runtime, session: (world.session = runtime.session("s")) };
}

/** The session as another process finds it in the store. */
function resumeSession(store: Store): Promise<RuntimeSession> {
  const world: World = { work: () => "not again", session: undefined, ran: [], gate: Promise.withResolvers<void>() };
  return testRuntime({ tools: toolsOf(world), store }).runtime.resume("s", { takeOver: true });
}

/** Plays a message that calls `outer`, and voids it. */
async function voided(session: RuntimeSession, before: (round: Round, turn: SessionTurn) => unknown = settle): Promise<void> {
  await session.turn(async (turn) => {
    const round = turn.round();
    round.add({ name: "outer", input: {} });
    await before(round, turn);
    await round.void("taken back");
  });
}

const ends = ({ log }: RuntimeSession): readonly (readonly unknown[])[] =>
  log.flatMap((event) => (event.type === "call-end" ? [[event.result.name.replace("default::", ""), event.result.status]] : []));

/** Each call with the one it was made in, by their tools. */
function parents({ log }: RuntimeSession): readonly (readonly unknown[])[] {
  const names = new Map(log.flatMap((event) => (event.type === "call-start" ? [[event.callId, event.call.name]] : [])));
  return log.flatMap((event) => (event.type === "call-start" ? [[event.call.name, names.get(event.parentCallId ?? "")]] : []));
}

describe("F1.33 F1.44 nested calls of a voided message", () => {
  test("are voided with it, at any depth: their state is rolled back, and models do not see them", async () => {
    const { session, ran } = setUp(async (own) => {
      await own.execute([{ name: "middle" }, { name: "count" }]);
      await own.execute({ name: "count" });
    });
    await session.execute({ name: "count" });
    await voided(session);
    expect(session.state("default", "n")).toBe(1);
    expect(session.messages().map(({ role }) => role)).toEqual(["call", "result"]);
    expect(ran).toHaveLength(4);
    expect(ends(session).map(([, status]) => status)).toEqual(["ok", "ok", "ok", "ok", "ok", "ok"]);
    expect(parents(session)).toEqual([
      ["count", undefined],
      ["outer", undefined],
      ["middle", "outer"],
      ["count", "outer"],
      ["count", "middle"],
      ["count", "outer"],
    ]);
    const shown = await session.execute(ran.map((id) => ({ name: "shown", input: { id } })));
    expect(shown.map(({ output }) => output)).toEqual([true, false, false, false]);
  });

  test("count once the message has ended normally", async () => {
    const { session, ran } = setUp((own) => own.execute([{ name: "middle" }, { name: "count" }]));
    await session.turn(async (turn) => {
      const round = turn.round();
      round.add({ name: "outer", input: {} });
      await round.end(WELL);
    });
    expect([session.state("default", "n"), ran.length]).toEqual([2, 2]);
    expect(session.messages().filter(({ role }) => role === "result")).toHaveLength(4);
    expect(ran.map((id) => session.wasRevoked(id))).toEqual([false, false]);
  });

  test("are cancelled while they run, and end once", async () => {
    const { session, gate } = setUp((own) => own.execute([{ name: "slow" }, { name: "count" }]));
    await voided(session);
    gate.resolve();
    await settle();
    expect(session.state("default", "n")).toBeUndefined();
    expect(ends(session)).toEqual(
      expect.arrayContaining([
        ["outer", "cancelled"],
        ["slow", "cancelled"],
        ["count", "ok"],
      ]),
    );
    expect(ends(session)).toHaveLength(3);
    expect(session.messages()).toEqual([]);
  });

  test.each(["in the turn", "after the turn"])("do not run if the handler goes on after its message is voided, %s", async (when) => {
    const { session, gate, ran } = setUp(async (own) => {
      await gate.promise;
      await own.execute([{ name: "middle" }, { name: "count" }]);
      await own.addMessage({ role: "user", content: "Said too late." });
    });
    await session.turn(async (turn) => {
      const round = turn.round();
      round.add({ name: "outer", input: {} });
      await settle();
      await round.void("taken back");
      if (when === "in the turn") gate.resolve();
      await settle();
    });
    gate.resolve();
    await settle();
    expect([ran, session.messages(), session.state("default", "n")]).toEqual([[], [], undefined]);
    expect(ends(session)).toEqual([
      ["outer", "cancelled"],
      ["middle", "cancelled"],
      ["count", "cancelled"],
    ]);
    expect(parents(session)).toEqual([
      ["outer", undefined],
      ["middle", "outer"],
      ["count", "outer"],
    ]);
  });

  test("are voided without affecting other calls of the same turn", async () => {
    const { session } = setUp((own) => own.execute({ name: "count" }));
    await voided(session, async () => {
      await settle();
      await session.execute({ name: "count" });
    });
    expect(session.messages().map(({ role }) => role)).toEqual(["call", "result"]);
    expect(session.state("default", "n")).toBe(2); // as with the message's own calls: a later call has changed it since
  });

  test("are voided together with the rounds, messages and batches that their handlers started", async () => {
    const { session } = setUp((own) =>
      own.turn(async (turn) => {
        turn.addMessage({ role: "user", content: "In a tool?" });
        const round = turn.round();
        round.add({ name: "middle", input: {} });
        round.add({ name: "count", input: {} });
        await round.end({ ...WELL, content: "In a tool." });
        await own.execute([{ name: "count" }], { onError: "throw" });
        await own.addMessage({ role: "user", content: "Still in a tool." });
      }),
    );
    await voided(session);
    expect([session.messages(), session.state("default", "n")]).toEqual([[], undefined]);
    expect(ends(session)).toHaveLength(5);
  });

  test("a round voided inside a call does not affect the call's other changes, which are voided with the call's own message", async () => {
    const plays = async (isWell: boolean): Promise<unknown> => {
      const { session } = setUp((own) =>
        own.turn(async (turn) => {
          await own.execute({ name: "count" });
          const round = turn.round();
          round.add({ name: "middle", input: {} });
          await settle();
          await round.void("inside");
        }),
      );
      await session.turn(async (turn) => {
        const round = turn.round();
        round.add({ name: "outer", input: {} });
        await settle();
        await settle();
        await (isWell ? round.end(WELL) : round.void("outside"));
      });
      return [session.state("default", "n"), session.messages().filter(({ role }) => role === "result").length];
    };
    expect([await plays(true), await plays(false)]).toEqual([
      [1, 2],
      [undefined, 0],
    ]);
  });

  test("are voided even if the message itself is not recorded", async () => {
    const { session } = setUp((own) => own.execute({ name: "count" }));
    await session.turn(async (turn) => {
      const round = turn.round({ recordHistory: false });
      round.add({ name: "outer", input: {} });
      await settle();
      await round.void("taken back", { content: "secret" });
    });
    expect([session.messages(), session.state("default", "n")]).toEqual([[], undefined]);
    expect(JSON.stringify(session.log)).not.toContain("secret");
  });

  test("invalidate cached reads of the state that they changed", async () => {
    let own: RuntimeSession | undefined;
    const tools = [
      tool("outer", () => own?.execute([{ name: "count" }, { name: "read" }]), READS),
      tool("count", (_, { state }) => state.update("n", () => 1), { effects: { writes: ["session:n"] } }),
      tool("read", (_, { state }) => state.get("n") ?? "nothing", { effects: { reads: ["session:n"], writes: [] }, cache: "session" }),
    ];
    own = testRuntime({ tools }).runtime.session("s");
    await voided(own);
    expect((await own.execute({ name: "read" })).output).toBe("nothing");
  });

  test("made by a handler of another session are voided as well", async () => {
    let other: RuntimeSession | undefined;
    let own: RuntimeSession | undefined;
    const tools = [
      tool("outer", () => other?.execute([{ name: "through" }]), READS),
      tool("through", () => own?.execute({ name: "count" }), READS),
      tool("count", (_, { state }) => state.update("n", () => 1), { effects: { writes: ["session:n"] } }),
    ];
    const { runtime } = testRuntime({ tools });
    own = runtime.session("own");
    other = runtime.session("other");
    await voided(own);
    expect([own.state("default", "n"), own.messages(), other.messages().length]).toEqual([undefined, [], 2]);
  });

  test("made by a hook are voided with the call that the hook was run for", async () => {
    let own: RuntimeSession | undefined;
    const { runtime } = testRuntime({
      tools: [tool("outer", () => 1, READS), tool("count", (_, { state }) => state.update("n", () => 1))],
      hooks: [{ name: "h", inSimulation: "skip", beforeCall: ({ name }) => void (name === "outer" ? own?.execute({ name: "count" }) : 0) }],
    });
    own = runtime.session("s");
    await voided(own);
    expect([own.state("default", "n"), own.messages()]).toEqual([undefined, []]);
  });
});

describe("F1.33 nested calls of a message that a crash cut off", () => {
  /** Ends the process while a message that called `outer` is written, or has just been voided. */
  async function crash(work: (session: RuntimeSession) => unknown, isVoided: boolean) {
    const store = memoryStore();
    const { session, ran } = setUp(work, { store });
    const crashed = session.turn(async (turn) => {
      const round = turn.round();
      round.add({ name: "outer", input: {} });
      await settle();
      if (isVoided) void round.void("taken back");
      await never();
    });
    crashed.catch(() => {});
    await settle();
    return { store, ran };
  }

  test.each([false, true])("are voided by a resume, the log says so once, and none runs again (voided before: %s)", async (isVoided) => {
    const { store, ran } = await crash((own) => own.execute([{ name: "middle" }, { name: "slow" }, { name: "count" }]), isVoided);
    const resumed = await resumeSession(store);
    expect([resumed.state("default", "n"), resumed.messages(), ran.length]).toEqual([undefined, [], 2]);
    expect(ends(resumed)).toHaveLength(5);
    expect(resumed.log.filter(({ type }) => type === "round-end")).toHaveLength(1);
    const fork = resumed.fork();
    expect([fork.messages(), fork.state("default", "n"), ran.every((id) => fork.wasRevoked(id))]).toEqual([[], undefined, true]);
    const { log } = await resumeSession(store);
    expect(log.filter(({ type }) => type === "round-end" || type === "call-end")).toHaveLength(6);
  });

  test("are voided with it even if only a round inside it was voided", async () => {
    const { store } = await crash(async (own) => {
      await own.execute({ name: "count" });
      await own.turn(async (turn) => {
        const round = turn.round();
        round.add({ name: "middle", input: {} });
        await settle();
        await round.void("inside");
      });
    }, false);
    expect((await resumeSession(store)).state("default", "n")).toBeUndefined();
  });

  test("count after a resume where the end of the message was stored", async () => {
    const store = memoryStore();
    const { session } = setUp((own) => own.execute([{ name: "middle" }, { name: "count" }]), { store });
    await session.turn(async (turn) => {
      const round = turn.round();
      round.add({ name: "outer", input: {} });
      await round.end(WELL);
    });
    const resumed = await resumeSession(store);
    expect([resumed.state("default", "n"), resumed.messages()]).toEqual([2, session.messages()]);
  });
});

test("F1.44 a snapshot, a fork and a recording of a session with voided calls show the same as the session", async () => {
  const { session, runtime, ran } = setUp((own) => own.execute([{ name: "middle" }, { name: "count" }]));
  await voided(session);
  const restored = runtime.session("restored", { from: await session.snapshot() });
  for (const one of [restored, session.fork(), session.fork({ simulated: true })])
    expect([one.messages(), one.state("default", "n"), ran.map((id) => one.wasRevoked(id))]).toEqual([[], undefined, [true, true]]);
});

test("F3.8 a failed batch rolls back nested calls at any depth, also when it is nested itself", async () => {
  const { session } = setUp((own) => own.execute([{ name: "middle" }, { name: "fails" }], { onError: "throw" }).catch(() => {}));
  const { output } = await session.execute({ name: "outer" });
  expect([output, session.state("default", "n")]).toEqual(["done", undefined]);
});

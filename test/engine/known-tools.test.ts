import { describe, expect, test } from "vitest";
import type { Engine, EngineContext } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import { RemoteJob } from "../../src/core/jobs/remote-job.ts";
import type { Tool } from "../../src/core/tool.ts";
import { knownTools, serverStateOf, type KnownToolsOptions } from "../../src/engine/known-tools.ts";
import { MCP_PEER, mcpPeerOf, type McpPeer } from "../../src/engine/mcp/peer.ts";
import { FakeClock, MemoryLog, settle } from "../../src/testing/fake-ports.ts";
import { engineContext, requestOf, toolContext } from "./engine-contexts.ts";
import { rejection } from "./mcp-engine.ts";
import { FakeMemory, FakeServer, toolNamed } from "./remembered-server.ts";

const A = toolNamed("a");
const B = toolNamed("b");
const IDENTITY = { command: "srv" };
const KEY = '{"command":"srv"}';

interface Known {
  readonly server: FakeServer;
  readonly memory: FakeMemory;
  readonly engine: Engine;
  readonly clock: FakeClock;
  readonly log: MemoryLog;
  readonly changes: string[];
  readonly context: EngineContext;
}

/** A wrapped server, not opened, whose memory has these tools. */
function known(remembered: readonly Tool[] | undefined, server = new FakeServer(A, B), options: Partial<KnownToolsOptions> = {}): Known {
  const memory = new FakeMemory();
  if (remembered !== undefined) memory.lists.set(KEY, remembered);
  const [clock, log, changes] = [new FakeClock(), new MemoryLog(), new Array<string>()];
  const engine = knownTools(server, { memory, identity: IDENTITY, ...options });
  return {
    server,
    memory,
    engine,
    clock,
    log,
    changes,
    context: engineContext({ toolset: "srv", clock, log, changed: () => void changes.push("changed") }),
  };
}

async function opened(...args: Parameters<typeof known>): Promise<Known> {
  const made = known(...args);
  await made.engine.open?.(made.context);
  return made;
}

const call = (engine: Engine, tool: Tool = A, signal = new AbortController().signal): unknown =>
  engine.call(requestOf(tool), toolContext({ signal }));

describe("the stored tool list", () => {
  test("F4.9 an unknown server is started by open, and its tools are stored", async () => {
    const { server, memory, engine, context } = known(undefined);
    const before = serverStateOf(engine);
    const tools = await engine.open?.(context);
    expect([before, serverStateOf(engine), tools, memory.lists.get(KEY), server.seen]).toEqual([
      "configured",
      "started",
      [A, B],
      [A, B],
      ["open"],
    ]);
  });

  test("F4.9 a known server is not started by open; the first call starts it", async () => {
    const { server, engine, context, changes } = known([A, B]);
    const tools = await engine.open?.(context);
    const states = [serverStateOf(engine), [...server.seen]];
    const output = await call(engine);
    expect([tools, states, output, serverStateOf(engine), server.seen, changes]).toEqual([
      [A, B],
      ["known", []],
      "done",
      "used",
      ["open", "call a"],
      [],
    ]);
  });

  test("L22 concurrent first calls share one start", async () => {
    const { server, engine } = await opened([A, B]);
    await Promise.all([call(engine), call(engine, B), engine.list?.(new AbortController().signal)]);
    expect(server.seen.filter((event) => event === "open")).toEqual(["open"]);
  });

  test("D20 the tools stored for one identity are not used for another", async () => {
    const { memory } = await opened([A]);
    const other = new FakeServer(B);
    const engine = knownTools(other, { memory, identity: { command: "srv", headers: { authorization: "Bearer x" } } });
    expect([await engine.open?.(engineContext()), other.seen]).toEqual([[B], ["open"]]);
  });

  test("F4.9 a cache that cannot be read or written only causes a warning", async () => {
    const { engine, context, memory, log } = known([A]);
    memory.broken = true;
    expect(await engine.open?.(context)).toEqual([A, B]);
    expect(log.lines.map(({ message }) => message)).toEqual([
      'The cached tools of "srv" cannot be used: the disk is full',
      'The tools of "srv" could not be cached: the disk is full',
    ]);
  });
});

describe("changes since the list was stored", () => {
  test("D02 a call whose tool definition changed is not sent; the tools are listed again and the next call succeeds", async () => {
    const { server, engine, changes, memory } = await opened([A, toolNamed("b", "Used to be harmless.")]);
    const error = await rejection(call(engine, toolNamed("b", "Used to be harmless.")));
    expect(error).toEqual({
      code: "definition_changed",
      message: 'The server has changed the definition of the tool "b" since it was last running; the call was not sent.',
      retryable: false,
      outcome: "not_started",
      hint: "The tools are listed again: look at its definition, then call again.",
    });
    expect([changes, server.seen, memory.lists.get(KEY)]).toEqual([["changed"], ["open"], [A, B]]);
    expect(await engine.list?.(new AbortController().signal)).toEqual([A, B]);
    expect(await call(engine, B)).toBe("done");
  });

  test("D02 a call whose own tool is unchanged is sent, even if other tools changed", async () => {
    const { engine, changes } = await opened([A, toolNamed("gone")]);
    expect([await call(engine, A), changes]).toEqual(["done", ["changed"]]);
    expect(await rejection(call(engine, toolNamed("gone")))).toMatchObject({
      code: "definition_changed",
      message: 'The server no longer has the tool "gone" since it was last running; the call was not sent.',
    });
  });

  test("F4.9 list starts the server and does not request a list that the server has just sent", async () => {
    const { server, engine, changes } = await opened([toolNamed("old")]);
    const signal = new AbortController().signal;
    const lists = [await engine.list?.(signal), await engine.list?.(signal)];
    expect([lists, server.seen, changes]).toEqual([
      [
        [A, B],
        [A, B],
      ],
      ["open", "list"],
      ["changed"],
    ]);
  });

  test("F4.9 a list change reported by the running server is passed on, and the new list is stored", async () => {
    const { server, engine, changes, memory } = await opened(undefined);
    server.tools = [B];
    server.context?.changed();
    const tools = await engine.list?.(new AbortController().signal);
    expect([changes, tools, memory.lists.get(KEY), server.seen]).toEqual([["changed"], [B], [B], ["open", "list"]]);
  });
});

describe("a failed start", () => {
  test("L22 ends the waiting calls as not_started; the next call tries again", async () => {
    const { server, engine } = await opened([A, B]);
    server.failure = new ToolError("network_error", "it hung up", { hint: "Try later." });
    const errors = await Promise.all([rejection(call(engine)), rejection(call(engine, B))]);
    const expected = {
      code: "network_error",
      message: 'The server of "srv" could not be started: it hung up',
      retryable: true,
      outcome: "not_started",
      hint: "Try later.",
    };
    expect([errors, serverStateOf(engine), await call(engine), server.seen]).toEqual([
      [expected, expected],
      "known",
      "done",
      ["open", "open", "call a"],
    ]);
  });

  test("F4.9 for any other reason reports the tool as unavailable", async () => {
    const { server, engine } = await opened([A]);
    server.failure = new Error("no such file");
    expect(await rejection(call(engine))).toEqual({
      code: "unavailable",
      message: 'The server of "srv" could not be started: no such file',
      retryable: false,
      outcome: "not_started",
    });
  });

  test("D08 that takes too long is aborted, and the server is closed if it opens later", async () => {
    const { server, engine, clock } = await opened([A], new FakeServer(A), { openTimeoutMs: 500 });
    const gate = Promise.withResolvers<void>();
    server.gate = gate.promise;
    const failing = rejection(call(engine));
    await clock.advance(500);
    expect(await failing).toMatchObject({
      code: "unavailable",
      message: 'The server of "srv" could not be started: It did not open within 500 ms.',
      operatorHint: "Allow more time with openTimeoutMs.",
    });
    const aborted = server.context?.signal.aborted;
    gate.resolve();
    await settle();
    expect([aborted, server.seen, clock.pending]).toEqual([true, ["open", "close"], 0]);
  });

  test("D08 that was given up is waited for by the next start, so that neither closes the other", async () => {
    const { server, engine, clock } = await opened([A], new FakeServer(A), { openTimeoutMs: 500 });
    const gate = Promise.withResolvers<void>();
    server.gate = gate.promise;
    const failing = rejection(call(engine));
    await clock.advance(500);
    await failing;
    server.gate = Promise.resolve();
    const next = call(engine);
    await settle();
    const before = [...server.seen];
    gate.resolve();
    expect([before, await next, server.seen]).toEqual([["open"], "done", ["open", "close", "open", "call a"]]);
  });

  test("D08 that never ends delays later calls by at most openTimeoutMs", async () => {
    const { server, engine, clock } = await opened([A], new FakeServer(A), { openTimeoutMs: 500 });
    server.gate = new Promise(() => {});
    const errors = [rejection(call(engine))];
    await clock.advance(500);
    errors.push(rejection(call(engine)));
    await clock.advance(500);
    expect([await Promise.all(errors), server.seen, clock.pending]).toEqual([
      [expect.objectContaining({ code: "unavailable" }), expect.objectContaining({ code: "unavailable", outcome: "not_started" })],
      ["open"],
      0,
    ]);
  });

  test("F4.9 a cancelled call stops waiting; the start continues for the other calls", async () => {
    const { server, engine } = await opened([A, B]);
    const gate = Promise.withResolvers<void>();
    server.gate = gate.promise;
    const controller = new AbortController();
    const calls = [rejection(call(engine, A, controller.signal)), call(engine, B)];
    controller.abort();
    expect(await calls[0]).toMatchObject({ code: "cancelled", outcome: "not_started" });
    gate.resolve();
    expect([await calls[1], server.seen]).toEqual(["done", ["open", "call b"]]);
  });
});

describe("an idle server", () => {
  test("F4.9 is closed after idleMs and is known again; the next call starts it", async () => {
    const { server, engine, clock } = await opened([A], new FakeServer(A), { idleMs: 60_000 });
    await call(engine);
    await clock.advance(59_999);
    await call(engine);
    await clock.advance(60_000);
    const state = serverStateOf(engine);
    await call(engine);
    expect([state, serverStateOf(engine), server.seen]).toEqual(["known", "used", ["open", "call a", "call a", "close", "open", "call a"]]);
  });

  test("F4.9 is left running during a call, a job or a session", async () => {
    const inner: Engine & FakeServer = new FakeServer(A);
    const begun: string[] = [];
    inner.openSession = ({ sessionId }) => void begun.push(sessionId);
    inner.closeSession = (sessionId) => void begun.push(`-${sessionId}`);
    const { engine, clock } = await opened([A], inner, { idleMs: 1_000 });
    await engine.openSession?.({ sessionId: "s", setup: {}, signal: new AbortController().signal });
    await clock.advance(5_000);
    const withSession = serverStateOf(engine);
    const work = Promise.withResolvers<string>();
    inner.answer = new RemoteJob({ id: "1", result: work.promise });
    await call(engine);
    await engine.closeSession?.("s");
    await clock.advance(5_000);
    const withJob = serverStateOf(engine);
    work.resolve("at last");
    await settle();
    await clock.advance(1_000);
    expect([withSession, withJob, serverStateOf(engine), begun]).toEqual(["started", "used", "known", ["s", "-s"]]);
  });

  test("F4.9 is never closed if it has remote state, or if idleMs is 0", async () => {
    const remote: Engine = Object.assign(new FakeServer(A), { state: "remote" as const });
    for (const [inner, options] of [
      [remote, {}],
      [new FakeServer(A), { idleMs: 0 }],
    ] as const) {
      const memory = new FakeMemory();
      const clock = new FakeClock();
      const engine = knownTools(inner, { memory, identity: IDENTITY, ...options });
      await engine.open?.(engineContext({ clock }));
      await call(engine);
      expect([clock.pending, serverStateOf(engine)]).toEqual([0, "used"]);
    }
  });

  test("D10 close ends a running server, aborts a start, and is idempotent", async () => {
    const { server, engine, clock } = await opened([A]);
    await call(engine);
    await engine.close?.();
    await engine.close?.();
    expect([server.seen, serverStateOf(engine), clock.pending, await rejection(call(engine))]).toEqual([
      ["open", "call a", "close"],
      "configured",
      0,
      { code: "unavailable", message: "The server is not open.", retryable: false, outcome: "not_started" },
    ]);
    const starting = await opened([A]);
    starting.server.gate = new Promise(() => {});
    const waiting = rejection(call(starting.engine));
    await settle();
    await starting.engine.close?.();
    expect([await waiting, starting.server.context?.signal.aborted, starting.server.seen]).toEqual([
      expect.objectContaining({ code: "unavailable", outcome: "not_started" }),
      true,
      ["open", "close"],
    ]);
  });

  test("F4.9 a server that was never used is neither started nor closed", async () => {
    const { server, engine } = await opened([A]);
    await engine.close?.();
    expect(server.seen).toEqual([]);
  });
});

describe("the wrapping engine", () => {
  test("F4.9 has exactly the members of the wrapped engine", () => {
    const inner: Engine = Object.assign(new FakeServer(A), {
      order: "sequential" as const,
      state: "remote" as const,
      effectFree: false,
      origin: "live" as const,
      simulate: () => "pretended",
      openSession: () => undefined,
      closeSession: () => undefined,
      forkSession: () => undefined,
      snapshotSession: () => 1,
    });
    const keysOf = (engine: Engine): readonly string[] =>
      Object.keys(knownTools(engine, { memory: new FakeMemory(), identity: {} })).toSorted();
    expect([keysOf(inner), keysOf(new FakeServer(A))]).toEqual([
      [
        "call",
        "close",
        "closeSession",
        "effectFree",
        "forkSession",
        "kind",
        "list",
        "open",
        "openSession",
        "order",
        "origin",
        "simulate",
        "snapshotSession",
        "state",
      ],
      ["call", "close", "kind", "list", "open"],
    ]);
  });

  test("F4.9 cannot wrap an engine that provides no tools, and engines of other kinds have no state", () => {
    const plain: Engine = { kind: "local", call: () => 1 };
    expect(serverStateOf(plain)).toBeUndefined();
    expect(() => knownTools(plain, { memory: new FakeMemory(), identity: {} })).toThrow('An engine of kind "local" provides no tools');
  });

  test("F4.9 starts the server for requests other than tool calls, and then leaves it running", async () => {
    const asked: string[] = [];
    const peer = new Proxy({ name: "srv" } as unknown as McpPeer, {
      get: (target, method) =>
        method === "name" || method === "identity"
          ? Reflect.get(target, method)
          : async () => (asked.push(String(method)), { method: String(method) }),
    });
    const inner: Engine & FakeServer = Object.assign(new FakeServer(A), { [MCP_PEER]: peer });
    const { server, engine, clock } = await opened([A], inner, { idleMs: 1_000 });
    const lazy = mcpPeerOf(engine);
    const options = { signal: new AbortController().signal };
    const before = [lazy?.name, lazy?.identity, server.seen.length];
    const answer = await lazy?.readResource({ uri: "x:y" }, options);
    await clock.advance(10_000);
    expect([before, answer, asked, server.seen, serverStateOf(engine)]).toEqual([
      ["srv", undefined, 0],
      { method: "readResource" },
      ["readResource"],
      ["open"],
      "started",
    ]);
  });
});

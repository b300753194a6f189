import { InMemoryTransport as OlderPair } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as OlderServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import type { Engine, EngineContext } from "../../../src/core/engine.ts";
import { ToolError } from "../../../src/core/error.ts";
import { isJsonObject, type JsonObject } from "../../../src/core/base/json.ts";
import { mcpEngine, mcpToolset, type McpTransport } from "../../../src/engine/mcp.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { engineContract } from "../../../src/testing/engine-contract.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { engineContext, request, toolContext } from "../engine-contexts.ts";
import { rejection } from "../mcp-engine.ts";

/** What the servers of both generations of the SDK give to a handler, in one form. */
interface Asked {
  readonly signal: AbortSignal;
  progress(done: number): Promise<void>;
}

/** A server in this process, and how often it was connected to. */
interface Garden {
  readonly transport: () => McpTransport;
  readonly connections: { readonly closed: boolean; close(): Promise<void>; rename(): void }[];
  /** Calls of `wait` that were cancelled. */
  cancelled: number;
}

/** A result as both generations of the SDK type it. */
type Said = { content: { type: "text"; text: string }[] };

const text = (said: string): Said => ({ content: [{ type: "text", text: said }] });

function gardenOf(connect: (garden: Garden) => McpTransport): Garden {
  const garden: Garden = { transport: () => connect(garden), connections: [], cancelled: 0 };
  return garden;
}

async function plant(count: number, { progress }: Asked): Promise<Said> {
  for (let done = 1; done <= count; done++) await progress(done);
  return text(`planted ${count}`);
}

function waitFor(garden: Garden, { signal }: Asked): Promise<Said> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      garden.cancelled++;
      reject(new Error("cancelled"));
    });
  });
}

/** Version 1 of the SDK. */
const older = (): Garden =>
  gardenOf((garden) => {
    const server = new OlderServer({ name: "garden", version: "1.0.0" });
    const [ours, theirs] = OlderPair.createLinkedPair();
    server.registerTool(
      "plant",
      { description: "Plants.", inputSchema: { count: z.number().int() } },
      async ({ count }, { sendNotification, signal, _meta }) =>
        await plant(count, {
          signal,
          progress: async (progress) => {
            const progressToken = _meta?.progressToken;
            if (progressToken !== undefined)
              await sendNotification({ method: "notifications/progress", params: { progressToken, progress } });
          },
        }),
    );
    server.registerTool("ask", { description: "Asks." }, async () => {
      const answer = await server.server.elicitInput({ message: "Which flower?", requestedSchema: SCHEMA });
      return text(String(answer.content?.["flower"]));
    });
    server.registerTool(
      "wait",
      { description: "Waits." },
      async ({ signal }) => await waitFor(garden, { signal, progress: async () => undefined }),
    );
    const echo = server.registerTool("echo", { description: "Says it again.", inputSchema: { said: z.string() } }, async ({ said }) =>
      text(said),
    );
    keep(garden, server, () => echo.update({ description: "Says it once more." }));
    void server.connect(theirs);
    return ours;
  });

const SCHEMA = { type: "object" as const, properties: { flower: { type: "string" as const } }, required: ["flower"] };

function keep(garden: Garden, server: OlderServer | McpServer, rename: () => void): void {
  let closed = false;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
  server.server.onclose = () => {
    closed = true;
  };
  garden.connections.push({
    get closed() {
      return closed;
    },
    close: () => server.close(),
    rename,
  });
}

/** Version 2 of the SDK. */
function newServer(garden: Garden): McpServer {
  const server = new McpServer({ name: "garden", version: "2.0.0" });
  server.registerTool(
    "plant",
    { description: "Plants.", inputSchema: z.object({ count: z.number().int() }) },
    async ({ count }, { mcpReq }) =>
      await plant(count, {
        signal: mcpReq.signal,
        progress: async (progress) => {
          const { _meta: meta } = mcpReq;
          const progressToken = meta?.progressToken;
          if (progressToken !== undefined) await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress } });
        },
      }),
  );
  server.registerTool(
    "wait",
    { description: "Waits." },
    async ({ mcpReq }) => await waitFor(garden, { signal: mcpReq.signal, progress: async () => undefined }),
  );
  const echo = server.registerTool(
    "echo",
    { description: "Says it again.", inputSchema: z.object({ said: z.string() }) },
    async ({ said }) => text(said),
  );
  keep(garden, server, () => echo.update({ description: "Says it once more." }));
  return server;
}

const newer = (): Garden =>
  gardenOf((garden) => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    void newServer(garden).connect(theirs);
    return ours;
  });

/** Of the revision 2026-07-28. */
const modern = (): Garden =>
  gardenOf((garden) => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    serveStdio(() => newServer(garden), { transport: theirs });
    return ours;
  });

const SERVERS = [
  ["version 1 of the SDK", older, "2025-11-25"],
  ["version 2 of the SDK", newer, "2025-11-25"],
  ["version 2 of the SDK, of the newer era", modern, "2026-07-28"],
] as const;

async function opened(transport: () => McpTransport | Promise<McpTransport>, context: Partial<EngineContext> = {}): Promise<Engine> {
  const engine = mcpEngine({ transport });
  onTestFinished(() => engine.close?.());
  await engine.open?.(engineContext({ toolset: "garden", ...context }));
  return engine;
}

describe.each(SERVERS)("an in-process server with %s", (_name, makeGarden, version) => {
  test("its tools are listed and called, with progress", async () => {
    const garden = makeGarden();
    const engine = mcpEngine({ transport: garden.transport });
    onTestFinished(() => engine.close?.());
    const tools = (await engine.open?.(engineContext({ toolset: "garden" }))) ?? [];
    const updates: unknown[] = [];

    const answer = await engine.call(request("plant", { count: 2 }), toolContext({ progress: (update) => updates.push(update) }));

    expect(answer).toMatchObject({ content: [{ type: "text", text: "planted 2" }] });
    expect(updates).toEqual([{ done: 1 }, { done: 2 }]);
    expect(tools.find(({ name }) => name === "plant")?.metadata).toMatchObject({
      server: { transport: "custom", name: "garden", protocolVersion: version },
    });
  });

  test("a cancelled call is cancelled on the server", async () => {
    const garden = makeGarden();
    const engine = await opened(garden.transport);
    const controller = new AbortController();

    const call = rejection(engine.call(request("wait"), toolContext({ signal: controller.signal })));
    await engine.call(request("echo", { said: "a" }), toolContext());
    controller.abort();

    expect(await call).toMatchObject({ code: "cancelled" });
    await vi.waitFor(() => expect(garden.cancelled).toBe(1));
  });

  test("a changed list is reported", async () => {
    const garden = makeGarden();
    const changed = vi.fn<() => void>();
    await opened(garden.transport, { changed });

    await vi.waitFor(() => {
      for (const connection of garden.connections) connection.rename();
      expect(changed).toHaveBeenCalled();
    });
  });

  test("a closed connection is opened again by the transport function for the next call", async () => {
    const garden = makeGarden();
    const engine = await opened(garden.transport);
    const before = garden.connections.length;
    const call = rejection(engine.call(request("wait"), toolContext()));
    await engine.call(request("echo", { said: "a" }), toolContext());

    for (const connection of garden.connections) await connection.close();

    expect(await call).toMatchObject({ code: "network_error", outcome: "unknown" });
    expect(await engine.call(request("echo", { said: "b" }), toolContext())).toMatchObject({ content: [{ type: "text", text: "b" }] });
    expect(garden.connections.length).toBeGreaterThan(before);
  });

  test("closing the engine closes the server's side, and the engine can be opened again", async () => {
    const garden = makeGarden();
    const engine = await opened(garden.transport);

    await engine.close?.();

    await vi.waitFor(() => expect(garden.connections.map(({ closed }) => closed)).not.toContain(false));
    await engine.open?.(engineContext({ toolset: "garden" }));
    expect(await engine.call(request("echo", { said: "c" }), toolContext())).toMatchObject({ content: [{ type: "text", text: "c" }] });
  });
});

test("a question of the server is passed to its call", async () => {
  const engine = await opened(older().transport);

  const answer = await engine.call(
    request("ask"),
    toolContext({ ask: (question) => Promise.resolve({ action: "accept", content: { flower: question.message } }) }),
  );

  expect(answer).toMatchObject({ content: [{ type: "text", text: "Which flower?" }] });
});

test("a runtime can call the tools of an in-process server", async () => {
  await using runtime = createRuntime({ toolsets: [mcpToolset("garden", { transport: older().transport })] });
  await runtime.open();

  expect(await runtime.execute({ name: "garden::plant", input: { count: "3" } })).toMatchObject({
    content: [{ type: "text", text: "planted 3" }],
  });
});

describe("a transport function", () => {
  test("that throws or returns no transport prevents the toolset from opening", async () => {
    const broken = (): McpTransport => {
      throw new Error("no garden here");
    };
    const promised = Promise.resolve() as unknown as McpTransport;

    expect(await rejection(opened(broken))).toMatchObject({
      code: "unavailable",
      message: 'MCP server "garden" could not be opened: no garden here.',
    });
    expect(await rejection(opened(() => promised))).toMatchObject({
      message: expect.stringContaining("must return a transport: an object with start, send and close, not undefined"),
    });
  });

  test("that resolves after opening was aborted has its transport closed", async () => {
    const { promise, resolve } = Promise.withResolvers<McpTransport>();
    const controller = new AbortController();
    const make = vi.fn<() => Promise<McpTransport>>(() => promise);
    const opening = rejection(opened(make, { signal: controller.signal }));
    await vi.waitFor(() => expect(make).toHaveBeenCalledOnce());
    controller.abort();
    expect(await opening).toMatchObject({
      code: "unavailable",
      message: 'MCP server "garden" could not be opened: it did not answer in time.',
    });

    const close = vi.fn<() => Promise<void>>(async () => undefined);
    resolve({ start: async () => undefined, send: async () => undefined, close });

    await vi.waitFor(() => expect(close).toHaveBeenCalledOnce());
  });

  test.each([
    [{ transport: "http" }, 'transport must be a function that makes a transport of the MCP SDK; it is "http", which needs a url.'],
    [{ transport: {} }, "transport must be a function that makes a transport of the MCP SDK; it is an object."],
    [{ transport: () => ({}), command: "node" }, "An MCP server has either a command or a transport, not both."],
    [
      { transport: () => ({}), url: "http://localhost" },
      "An MCP server has either a url or a function that makes its transport, not both.",
    ],
  ])("%j throws at once", (options, message) => {
    expect(() => mcpEngine(options as never)).toThrow(new ToolError("invalid_argument", message));
  });
});

/** A server on bare messages, which are sent as they are. */
function bareServer(answer: (method: string, params: JsonObject) => unknown): {
  transport: () => McpTransport;
  sent: unknown[];
  send(message: unknown): void;
} {
  const sent: unknown[] = [];
  let made: McpTransport | undefined;
  const send = (message: unknown): void => made?.onmessage?.(message as never);
  const transport = (): McpTransport => {
    made = {
      start: async () => undefined,
      close: async () => made?.onclose?.(),
      send: async (message: unknown) => {
        if (!isJsonObject(message)) return;
        sent.push(message);
        const { id, method, params } = message;
        if (id !== undefined && typeof method === "string")
          send({ jsonrpc: "2.0", id, ...answerTo(method, isJsonObject(params) ? params : {}) });
      },
    };
    return made;
  };
  const answerTo = (method: string, params: JsonObject): object => {
    if (method === "server/discover") return { error: { code: -32_601, message: "Method not found" } };
    if (method === "initialize")
      return { result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "bare", version: "1" } } };
    if (method === "tools/list") return { result: { tools: [{ name: "echo", inputSchema: { type: "object" } }] } };
    return { result: answer(method, params) };
  };
  return { transport, sent, send };
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

const refuse = (): never => {
  throw new Error("not to be read");
};
const throwing = new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse });
const revoked = Proxy.revocable({}, {});
revoked.revoke();

describe("a server that sends something other than JSON of the protocol", () => {
  const circle: Record<string, unknown> = { content: [] };
  circle["structuredContent"] = circle;
  test.each([
    ["a circle", circle, "its answer is not JSON"],
    ["a BigInt", { content: [], structuredContent: { n: 1n } }, "its answer is not JSON"],
    ["what nests too deep for a text", { structuredContent: nested(100_000) }, "its answer is not JSON"],
    ["what nests too deep", { structuredContent: nested(1_000) }, "nests deeper than 256 levels"],
    ["what is too long", { content: [{ type: "text", text: "x".repeat(33 * 1024 * 1024) }] }, "more than 33554432 bytes"],
  ])("%s fails the call but not the connection", async (_what, result, message) => {
    let isFirst = true;
    const bare = bareServer(() => {
      const given = isFirst ? result : text("well");
      isFirst = false;
      return given;
    });
    const engine = await opened(bare.transport);

    expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({ message: expect.stringContaining(message) });
    expect(await engine.call(request("echo"), toolContext())).toMatchObject({ content: [{ type: "text", text: "well" }] });
  });

  test.each([
    ["undefined", undefined],
    ["null", null],
    ["a string", "text"],
    ["an array", []],
    ["an empty object", {}],
    ["an answer to a request never sent", { jsonrpc: "2.0", id: 77, result: {} }],
    ["a request with a BigInt", { jsonrpc: "2.0", method: "ping", id: 1n }],
    ["a request that is malformed", { jsonrpc: "2.0", method: 1, id: 1 }],
    ["an id that throws", Object.defineProperty({}, "id", { enumerable: true, get: refuse })],
    ["a proxy that throws", throwing],
    ["a proxy that was revoked", revoked.proxy],
  ])("%s in place of a message is ignored", async (_what, message) => {
    const bare = bareServer(() => text("well"));
    const engine = await opened(bare.transport);

    bare.send(message);

    expect(await engine.call(request("echo"), toolContext())).toMatchObject({ content: [{ type: "text", text: "well" }] });
  });

  test("neither side can change the other side's objects", async () => {
    const result = { content: [{ type: "text", text: "well" }] };
    const bare = bareServer((_, params) => {
      Object.assign(params["arguments"] ?? {}, { said: "changed" });
      return result;
    });
    const engine = await opened(bare.transport);
    const input = { said: "kept" };

    const answer = await engine.call(request("echo", input), toolContext());
    for (const part of result.content) part.text = "changed";

    expect(answer).toMatchObject({ content: [{ text: "well" }] });
    expect(input).toEqual({ said: "kept" });
  });
});

test.each([
  ["throws", refuse],
  ["rejects", () => Promise.reject(new Error("not to be read"))],
])("a transport whose send %s fails that call with outcome unknown, and the next call succeeds", async (_how, fail) => {
  const bare = bareServer(() => text("well"));
  let fails = true;
  const transport = (): McpTransport => {
    const made = bare.transport();
    const { send } = made;
    made.send = async (message, options) => {
      if (!fails || !("method" in message) || message.method !== "tools/call") return await send(message, options);
      fails = false;
      return await fail();
    };
    return made;
  };
  const engine = await opened(transport);

  expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({
    code: "network_error",
    outcome: "unknown",
    message: 'The transport of MCP server "garden" failed: not to be read',
  });
  expect(await engine.call(request("echo"), toolContext())).toMatchObject({ content: [{ text: "well" }] });
});

test("a transport in use by another connection is rejected and stays open; one that has ended may be started again", async () => {
  const bare = bareServer(() => text("well"));
  const one = bare.transport();
  const first = await opened(() => one);
  const close = vi.spyOn(one, "close");

  expect(await rejection(opened(() => one))).toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("returned the transport of another connection; it must make a new one each time it is called"),
  });
  expect(close).not.toHaveBeenCalled();
  expect(await first.call(request("echo"), toolContext())).toMatchObject({ content: [{ text: "well" }] });

  await first.close?.();
  const second = await opened(() => one);
  expect(await second.call(request("echo"), toolContext())).toMatchObject({ content: [{ text: "well" }] });
});

test("closing the engine does not wait for a transport that never closes", async () => {
  const bare = bareServer(() => text("well"));
  const clock = new FakeClock();
  const transport = (): McpTransport => {
    const made = bare.transport();
    made.close = () => new Promise<void>(() => undefined);
    return made;
  };
  const engine = await opened(transport, { clock });

  const closing = engine.close?.();
  await clock.advance(2_000);
  await closing;
});

const subject = {
  engine: () =>
    mcpEngine({
      transport: () => {
        const [ours, theirs] = InMemoryTransport.createLinkedPair();
        void newServer(gardenOf(() => ours)).connect(theirs);
        return ours;
      },
    }),
  calls: [
    { name: "echo", input: { said: "Å" } },
    { name: "plant", input: { count: 1 } },
  ],
  endless: { name: "wait", input: {} },
};

test.each(engineContract.filter((one) => one.appliesTo(subject)))("the engine satisfies its contract: $title", async ({ run }) => {
  await run(subject);
});

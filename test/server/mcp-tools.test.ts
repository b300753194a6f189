import { describe, expect, test, vi } from "vitest";
import { programToolset } from "../../src/compose/program/program-toolset.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { pure, readOnly } from "../../src/core/resources/effects.ts";
import type { RuntimeEvent } from "../../src/core/event.ts";
import { ToolError } from "../../src/core/error.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { FakeClock, MemoryLog } from "../../src/testing/fake-ports.ts";
import { ERAS, listening, openRuntime, overHttp, overStdio, type Era } from "./mcp-clients.ts";

const add = defineTool({
  name: "add",
  title: "Add",
  description: "Adds two numbers.",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
  effects: pure,
  execute: ({ a, b }) => ({ sum: a + b }),
});

describe.each(ERAS)("a client of the %s era", (era) => {
  test("F2.29 sees the real tools, sorted, with reversible names, schemas, and effects as annotations", async () => {
    const { runtime } = await openRuntime({
      tools: [add, defineTool({ name: "anything", description: "Takes anything.", inputSchema: true })],
      toolsets: [
        {
          name: "mail",
          tools: [
            { name: "send", description: "Sends.", inputSchema: {}, effects: { external: true, destructive: true, writes: ["mail"] } },
            {
              name: "get",
              description: "Reads.",
              inputSchema: { type: ["object", "null"], properties: { all: true } },
              effects: readOnly("mail"),
            },
            { name: "größe", description: "Odd name.", inputSchema: { $ref: "#/$defs/a", $defs: { a: { type: "object" } } } },
          ],
        },
      ],
    });
    const { client } = await overStdio(runtime, { era, session: "none" });
    const { tools } = await client.listTools();
    const tasks = era === "legacy" ? { execution: { taskSupport: "optional" } } : {};
    expect(tools).toEqual([
      {
        name: "add",
        title: "Add",
        description: "Adds two numbers.",
        inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
        outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
        annotations: { title: "Add", readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
        ...tasks,
      },
      {
        name: "anything",
        description: "Takes anything.",
        inputSchema: { type: "object", properties: {} },
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
        ...tasks,
      },
      {
        name: "mail__get",
        description: "Reads.",
        inputSchema: { type: "object", properties: { all: {} } },
        annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
        ...tasks,
      },
      {
        name: expect.stringMatching(/^mail__gr__e__[0-9a-f]{16}$/u),
        description: "Odd name.",
        inputSchema: { type: "object", properties: {} },
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
        ...tasks,
      },
      {
        name: "mail__send",
        description: "Sends.",
        inputSchema: { type: "object", properties: {} },
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
        ...tasks,
      },
    ]);
  });

  test("gets structured content and its text as the answer to a call", async () => {
    const { runtime } = await openRuntime({ tools: [add] });
    const { client } = await overStdio(runtime, { era });
    expect(await client.callTool({ name: "add", arguments: { a: 2, b: 3 } })).toMatchObject({
      content: [{ type: "text", text: '{"sum":5}' }],
      structuredContent: { sum: 5 },
    });
  });

  test("gets -32602 for an unknown or unserved tool, and an error result for an invalid input", async () => {
    const { runtime } = await openRuntime({ tools: [add], toolsets: [{ name: "secret", tools: [{ ...add, name: "read" }] }] });
    const { client } = await overStdio(runtime, { era, toolsets: ["default"] });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["add"]);
    for (const name of ["nothing", "secret__read", "secret::read", "__proto__"])
      await expect(client.callTool({ name })).rejects.toMatchObject({ code: -32_602, message: expect.stringContaining(name) });
    const refused = await client.callTool({ name: "add", arguments: { a: "x", b: 1 } });
    expect(refused).toMatchObject({ isError: true, content: [{ type: "text", text: expect.stringContaining("Error (invalid_input)") }] });
  });

  test("gets an answer to a call that ends because the server stops", async () => {
    const { promise: started, resolve: begin } = Promise.withResolvers<void>();
    const deaf = defineTool({ name: "deaf", description: "", effects: pure, execute: () => (begin(), new Promise(() => {})) });
    const { runtime } = await openRuntime({ tools: [deaf] });
    const { client, server } = await overStdio(runtime, { era });
    const call = client.callTool({ name: "deaf" });
    await started;
    await server.close();
    expect(await call).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("deaf was cancelled") }] });
  });

  test("receives images, audio, files and links as their own block types, with the metadata", async () => {
    const content = [
      { type: "image", mediaType: "image/png", data: "AAAA" },
      { type: "audio", mediaType: "audio/wav", data: "BBBB" },
      { type: "file", uri: "file:///a", mediaType: "text/plain", text: "hello" },
      { type: "file", uri: "data:application/zip;base64,CCCC", mediaType: "application/zip", name: "a.zip" },
      { type: "file", uri: "https://example.org/b", name: "b" },
      { type: "file", uri: "https://example.org/c", name: "c", description: "The terms.", bytes: 12 },
    ] as const;
    const tool = defineTool({
      name: "media",
      description: "",
      effects: pure,
      execute: () => new ToolOutput({ content, metadata: { "a/b": 1 } }),
    });
    const { runtime } = await openRuntime({ tools: [tool] });
    const { client } = await overStdio(runtime, { era });
    const { content: blocks, _meta: meta } = await client.callTool({ name: "media" });
    expect(blocks).toEqual([
      { type: "image", mimeType: "image/png", data: "AAAA" },
      { type: "audio", mimeType: "audio/wav", data: "BBBB" },
      { type: "resource", resource: { uri: "file:///a", mimeType: "text/plain", text: "hello" } },
      { type: "resource", resource: { uri: "attachment:a.zip", mimeType: "application/zip", blob: "CCCC" } },
      { type: "resource_link", uri: "https://example.org/b", name: "b" },
      { type: "resource_link", uri: "https://example.org/c", name: "c", description: "The terms.", size: 12 },
    ]);
    expect(meta).toMatchObject({ "a/b": 1 });
  });

  test("gets an output that breaks its schema, and a failure, as error results with readable text", async () => {
    const partial = { ...add, name: "partial", inputSchema: true, execute: () => ({ other: 1 }) };
    const failing = defineTool({
      name: "failing",
      description: "",
      effects: pure,
      execute: () => {
        throw new ToolError("permission_denied", "Not you.", { hint: "Ask somebody else." });
      },
    });
    const { runtime } = await openRuntime({ tools: [partial, failing] });
    const { client } = await overStdio(runtime, { era });
    expect(await client.callTool({ name: "partial" })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: expect.stringMatching(/invalid_output[^]*\{"other":1\}$/u) }],
    });
    expect(await client.callTool({ name: "failing" })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "Error (permission_denied): Not you.\nHint: Ask somebody else." }],
    });
  });

  test("gets progress for the token of its call, and only increasing values", async () => {
    const tool = defineTool({
      name: "slow",
      description: "",
      effects: pure,
      execute: (_input, { progress }) => {
        for (const done of [1, 3, 2, 4]) progress({ done, total: 4, message: `step ${done}` });
        progress({ message: "nearly" });
        return "done";
      },
    });
    const { runtime } = await openRuntime({ tools: [tool] });
    const { client } = await overStdio(runtime, { era });
    const seen: unknown[] = [];
    await client.callTool({ name: "slow" }, { onprogress: (progress) => void seen.push(progress) });
    await vi.waitFor(() => expect(seen).toHaveLength(4));
    expect(seen).toEqual([
      { progress: 1, total: 4, message: "step 1" },
      { progress: 3, total: 4, message: "step 3" },
      { progress: 4, total: 4, message: "step 4" },
      { progress: 5, message: "nearly" },
    ]);
  });

  test("aborts the handler by cancelling its call, which has one recorded result", async () => {
    const events: RuntimeEvent[] = [];
    const started = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<unknown>();
    const tool = defineTool({
      name: "endless",
      description: "",
      effects: pure,
      execute: (_input, { signal }) => {
        signal.addEventListener("abort", () => aborted.resolve(signal.reason));
        started.resolve();
        return new Promise(() => {});
      },
    });
    const { runtime } = await openRuntime({ tools: [tool], onEvent: (event) => void events.push(event) });
    const { client } = await overStdio(runtime, { era });
    const stop = new AbortController();
    const call = client.callTool({ name: "endless" }, { signal: stop.signal });
    call.catch(() => {});
    await started.promise;
    stop.abort();
    await aborted.promise;
    await vi.waitFor(() => expect(events.filter((event) => event.type === "call-end")).toHaveLength(1));
    expect(events.find((event) => event.type === "call-end")).toMatchObject({ result: { name: "default::endless", status: "cancelled" } });
  });

  test("E15 that closes its input gets answers for a minute; then its calls are cancelled, and handlers that ignore it are not waited for", async () => {
    const events: RuntimeEvent[] = [];
    const deaf = defineTool({ name: "deaf", description: "", effects: pure, execute: () => new Promise(() => {}) });
    const { runtime } = await openRuntime({ tools: [deaf], onEvent: (event) => void events.push(event) });
    const clock = new FakeClock();
    const provider = { listPrompts: () => new Promise<never>(() => {}) };
    const { client, server, hangUp } = await overStdio(runtime, { era, providers: [provider], ports: { clock, log: new MemoryLog() } });
    for (const call of [client.callTool({ name: "deaf" }), client.listPrompts()]) call.catch(() => {});
    await vi.waitFor(() => expect(runtime.running).toHaveLength(1));
    hangUp();
    await vi.waitFor(() => expect(clock.pending).toBe(1));
    await clock.advance(59_999);
    expect(runtime.running).toHaveLength(1);
    await clock.advance(1);
    await vi.waitFor(() => expect(runtime.running).toEqual([]));
    await server.closed;
    expect(events.filter((event) => event.type === "call-end")).toMatchObject([{ result: { status: "cancelled" } }]);
  });

  test("shares one session between the calls of a connection; without a session the calls share nothing", async () => {
    const tool = defineTool({
      name: "count",
      description: "",
      effects: { reads: ["session:count"], writes: ["session:count"] },
      execute: (_input, { state }) => {
        state.update("count", (before) => Number(before ?? 0) + 1);
        return state.get("count");
      },
    });
    const { runtime } = await openRuntime({ tools: [tool] });
    const text = async (pair: Awaited<ReturnType<typeof overStdio>>): Promise<unknown> => {
      await pair.client.callTool({ name: "count" });
      return (await pair.client.callTool({ name: "count" })).content;
    };
    expect(await text(await overStdio(runtime, { era }))).toEqual([{ type: "text", text: "2" }]);
    expect(await text(await overStdio(runtime, { era }))).toEqual([{ type: "text", text: "2" }]);
    expect(await text(await overStdio(runtime, { era, session: "none" }))).toEqual([{ type: "text", text: "1" }]);
  });

  test("is notified when the tools change, and pages through long lists without a gap", async () => {
    const tools = Array.from({ length: 7 }, (_, index) => ({ ...add, name: `tool_${index}` }));
    const { runtime } = await openRuntime({ tools });
    const { client } = await overStdio(runtime, { era, pageSize: 3, toolsets: ["default"] });
    const told = Promise.withResolvers<void>();
    client.setNotificationHandler("notifications/tools/list_changed", () => told.resolve());
    if (era === "modern") await client.listen({ toolsListChanged: true });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    runtime.registry.register({ ...add, name: "tool_7" });
    await client.callTool({ name: "tool_7", arguments: { a: 1, b: 2 } });
    await told.promise;
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([...tools.map(({ name }) => name), "tool_7"]);
    await expect(client.request({ method: "tools/list", params: { cursor: "forged" } })).rejects.toMatchObject({ code: -32_602 });
  });

  test("F2.29 validates inputs with the validate tool, which exists only if it is enabled", async () => {
    const { runtime } = await openRuntime({ tools: [add] });
    const { client } = await overStdio(runtime, { era, tools: { validate: true } });
    const validate = (args: Record<string, unknown>): Promise<unknown> => client.callTool({ name: "haft_validate_input", arguments: args });
    expect(await validate({ name: "add", input: { a: 1, b: 2 } })).toMatchObject({ structuredContent: { valid: true, errors: [] } });
    expect(await validate({ name: "add", input: { a: "1" } })).toMatchObject({
      structuredContent: { valid: false, errors: ["$.b: required field missing", "$.a: expected type number, got string"] },
    });
    expect(await validate({ name: "ad", input: {} })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: 'No tool "ad". Did you mean "add"?' }],
    });
    const { client: without } = await overStdio(runtime, { era });
    expect((await without.listTools()).tools.map(({ name }) => name)).toEqual(["add", "haft__read_result"]);
  });
});

test("read_result for truncated results is offered to clients whose calls share a session, and to no others", async () => {
  const { runtime } = await openRuntime({ tools: [add] });
  const { url } = await listening(runtime);
  const named = async (era: Era): Promise<readonly string[]> =>
    (await (await overHttp(url, { era })).listTools()).tools.map(({ name }) => name);
  expect({ legacy: await named("legacy"), modern: await named("modern") }).toEqual({
    legacy: ["add", "haft__read_result"],
    modern: ["add"],
  });
});

describe.each(ERAS)("issue 18 a program in place of other tools, for a client of the %s era,", (era) => {
  test("is listed alone with their declarations, and calls them; a denied tool is not declared", async () => {
    const hidden = defineTool({ name: "hidden", description: "Is denied.", inputSchema: {}, effects: pure, execute: () => 1 });
    const { runtime } = await openRuntime({
      tools: [add, hidden],
      toolsets: [programToolset({ mode: "only" })],
      permission: { deny: ["hidden"] },
    });
    const { client } = await overStdio(runtime, { era });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["haft__read_result", "program__run_program"]);
    expect(tools[1]?.description).toContain("add(input: { a: number; b: number }): Promise<{ sum: number }>;");
    expect(tools[1]?.description).not.toContain("hidden");

    const code = "return (await tools.add({ a: 1, b: 2 })).sum + (await tools.add({ a: 3, b: 4 })).sum;";
    const result = await client.callTool({ name: "program__run_program", arguments: { code } });
    expect(result.structuredContent ?? JSON.parse(JSON.stringify(result.content))).toMatchObject(
      result.structuredContent === undefined ? [{ text: '{"returned":10}' }] : { returned: 10 },
    );
  });

  test("in addition to the others is one of the listed tools", async () => {
    const { runtime } = await openRuntime({ tools: [add], toolsets: [programToolset()] });
    const { client } = await overStdio(runtime, { era, session: "none" });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["add", "program__run_program"]);
  });
});

describe.each(ERAS)("F1.19 a client of the %s era", (era) => {
  test("receives an image itself, although the runtime stores it as an artifact", async () => {
    const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const image = { type: "image", mediaType: "image/png", data } as const;
    const plot = defineTool({
      name: "plot",
      description: "Plots.",
      inputSchema: {},
      effects: pure,
      execute: () => new ToolOutput({ content: [image] }),
    });
    const { runtime } = await openRuntime({ tools: [plot], artifacts: memoryStore().artifacts });
    const { client } = await overStdio(runtime, { era });
    const { content } = await client.callTool({ name: "plot", arguments: {} });
    expect(content).toEqual([
      { type: "resource_link", uri: expect.stringMatching(/^artifact:/u), name: expect.any(String), mimeType: "image/png", size: 70 },
      { type: "image", data, mimeType: "image/png" },
    ]);
  });

  test("receives a file without a text form, and the output that the schema promises", async () => {
    const blob = Buffer.alloc(300, 9).toString("base64");
    const url = `data:application/zip;base64,${blob}`;
    const pack = defineTool({
      name: "pack",
      description: "Packs.",
      inputSchema: {},
      outputSchema: { type: "object", properties: { url: { type: "string", pattern: "^data:" } }, required: ["url"] },
      effects: pure,
      execute: () =>
        new ToolOutput({ output: { url }, content: [{ type: "file", uri: url, mediaType: "application/zip", name: "a.zip" }] }),
    });
    const { runtime } = await openRuntime({ tools: [pack], artifacts: memoryStore().artifacts });
    const { client } = await overStdio(runtime, { era });
    const { content, structuredContent } = await client.callTool({ name: "pack", arguments: {} });
    expect(content).toContainEqual({ type: "resource", resource: { uri: "attachment:a.zip", mimeType: "application/zip", blob } });
    expect(structuredContent).toEqual({ url });
  });
});

import { describe, expect, test, vi } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import { pure } from "../../src/core/resources/effects.ts";
import type { RuntimeEvent } from "../../src/core/event.ts";
import type { Tool } from "../../src/core/tool.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { mcpApprover, mcpClientOf, type McpClient } from "../../src/server/mcp.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { ERAS, listening, openRuntime, overHttp, overStdio } from "./mcp-clients.ts";

const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

const greet = defineTool({
  name: "greet",
  description: "Asks for a name.",
  effects: pure,
  timeoutMs: 0,
  execute: async (_input, { ask }) => JSON.stringify(await ask({ message: "Your name?", schema: NAME })),
});

function clientBehind(context: ToolContext): McpClient {
  const client = mcpClientOf(context);
  if (client === undefined) throw new Error("there is no client");
  return client;
}

function using(name: string, use: (client: McpClient) => unknown): Tool {
  return defineTool({
    name,
    description: "",
    effects: pure,
    execute: async (_input, context) => JSON.stringify(await use(clientBehind(context))),
  });
}

function textOf(result: { readonly content: readonly unknown[] }): unknown {
  return Reflect.get(Object(result.content[0]), "text");
}

describe.each(ERAS)("a handler whose client is of the %s era", (era) => {
  test("gets an answer to each of its questions, even if they share a key", async () => {
    const answers: unknown[] = [];
    const tool = using("confirm", async (client) => {
      for (const message of ["The first?", "The second?"]) answers.push((await client.elicit({ message }, { key: "confirm" })).action);
    });
    const { runtime } = await openRuntime({ tools: [tool] });
    const { client } = await overStdio(runtime, { era });
    client.setRequestHandler("elicitation/create", ({ params }) => ({ action: params.message === "The first?" ? "accept" : "decline" }));
    await client.callTool({ name: "confirm" });
    expect(answers).toEqual(["accept", "decline"]);
  });

  test("asks a person through the client, and asks again after an answer that does not match the schema", async () => {
    const { runtime } = await openRuntime({ tools: [greet] });
    const { client } = await overStdio(runtime, { era });
    const asked: unknown[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params);
      return { action: "accept", content: era === "modern" && asked.length === 1 ? { name: 7 } : { name: "Ada" } };
    });
    expect(textOf(await client.callTool({ name: "greet" }))).toBe('{"action":"accept","content":{"name":"Ada"}}');
    expect(asked).toHaveLength(era === "modern" ? 2 : 1);
    expect(asked[0]).toMatchObject({ message: "Your name?", requestedSchema: NAME });
  });

  test("reports its progress before a question, and after it to the request that brought the answer", async () => {
    const dig = defineTool({
      name: "dig",
      description: "Digs.",
      effects: pure,
      timeoutMs: 0,
      execute: async (_input, { ask, progress }) => {
        progress({ done: 1, total: 3 });
        await ask({ message: "Your name?", schema: NAME });
        progress({ done: 2, total: 3 });
        await ask({ message: "Your name?", schema: NAME });
        progress({ done: 3, total: 3 });
        return "dug";
      },
    });
    const { runtime } = await openRuntime({ tools: [dig] });
    const { client } = await overStdio(runtime, { era });
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
    const seen = new Set<number>(); // the client itself reports as well that a question was answered
    await client.callTool({ name: "dig" }, { onprogress: ({ progress }) => void seen.add(progress) });
    await vi.waitFor(() => expect(seen).toEqual(new Set([1, 2, 3])));
  });

  test("receives decline and cancel as different answers", async () => {
    const { runtime } = await openRuntime({ tools: [greet] });
    const { client } = await overStdio(runtime, { era });
    const answers = ["decline", "cancel"] as const;
    let turn = 0;
    client.setRequestHandler("elicitation/create", () => ({ action: answers[turn++] ?? "cancel" }));
    expect(textOf(await client.callTool({ name: "greet" }))).toBe('{"action":"decline"}');
    expect(textOf(await client.callTool({ name: "greet" }))).toBe('{"action":"cancel"}');
  });

  test("gets cancel from a client without elicitation", async () => {
    const { runtime } = await openRuntime({ tools: [greet] });
    const { client } = await overStdio(runtime, { era, capabilities: {} });
    expect(textOf(await client.callTool({ name: "greet" }))).toBe('{"action":"cancel"}');
  });

  test("D11 sends a person to a URL only if the client supports it, and never to one that is not http or https", async () => {
    const pay = using("pay", (client) => client.elicit({ message: "Pay here", url: "https://pay.example/1" }));
    const odd = defineTool({
      name: "odd",
      description: "",
      effects: pure,
      execute: async (_input, { ask }) => JSON.stringify(await ask({ message: "Open", url: "javascript:alert(1)" })),
    });
    const { runtime } = await openRuntime({ tools: [pay, odd] });
    const { client } = await overStdio(runtime, { era });
    const asked: unknown[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params.mode);
      return { action: "accept" };
    });
    expect(textOf(await client.callTool({ name: "pay" }))).toBe('{"action":"accept"}');
    expect(textOf(await client.callTool({ name: "odd" }))).toBe('{"action":"cancel"}');
    const { client: formsOnly } = await overStdio(runtime, { era, capabilities: { elicitation: { form: {} } } });
    expect(textOf(await formsOnly.callTool({ name: "pay" }))).toBe('{"action":"cancel"}');
    expect(asked).toEqual(["url"]);
  });

  test("can sample the client's model and list its roots", async () => {
    const both = using("both", async (client) => [
      await client.sample({ messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 5 }),
      await client.listRoots(),
    ]);
    const { runtime } = await openRuntime({ tools: [both] });
    const { client } = await overStdio(runtime, { era });
    client.setRequestHandler("sampling/createMessage", () => ({ role: "assistant", content: { type: "text", text: "Ho" }, model: "m" }));
    client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///work" }] }));
    expect(JSON.parse(String(textOf(await client.callTool({ name: "both" }))))).toMatchObject([
      { role: "assistant", content: { text: "Ho" } },
      { roots: [{ uri: "file:///work" }] },
    ]);
  });

  test("cannot use a capability that the client does not declare", async () => {
    const sample = using("sample", (client) => client.sample({ messages: [], maxTokens: 5 }));
    const { runtime } = await openRuntime({ tools: [sample] });
    const { client } = await overStdio(runtime, { era, capabilities: {} });
    const call = client.callTool({ name: "sample" });
    if (era === "modern") await expect(call).rejects.toMatchObject({ code: -32_021, data: { requiredCapabilities: { sampling: {} } } });
    else
      expect(await call).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining("The client does not support sampling.") }],
      });
  });

  test("sees the era of its client, and has no client when the runtime is called directly", async () => {
    const peek = defineTool({
      name: "peek",
      description: "",
      effects: pure,
      execute: (_input, context) => mcpClientOf(context)?.era ?? "none",
    });
    const rehearse = defineTool({
      name: "rehearse",
      description: "",
      effects: pure,
      execute: async () =>
        (await runtime.session().simulate(["peek", "greet"].map((name) => ({ name })))).results.map(({ output }) => output),
    });
    const { runtime } = await openRuntime({ tools: [peek, greet, rehearse] });
    const { client } = await overStdio(runtime, { era });
    const asked = vi.fn();
    client.setRequestHandler("elicitation/create", () => (asked(), { action: "accept", content: { name: "Ada" } }));
    expect(textOf(await client.callTool({ name: "peek" }))).toBe(era);
    expect(JSON.parse(String(textOf(await client.callTool({ name: "rehearse" }))))).toEqual(["none", '{"action":"cancel"}']);
    expect(asked).not.toHaveBeenCalled();
    expect((await runtime.execute({ name: "peek" })).output).toBe("none");
  });
});

describe("a call that waits for its client between two requests (2026-07-28)", () => {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, sampling: {}, roots: {} },
  };
  interface Answer {
    readonly result?: {
      readonly resultType: string;
      readonly requestState: string;
      readonly inputRequests: object;
      readonly content?: unknown;
    };
    readonly error?: { readonly code: number };
  }

  async function post(url: string, params: Record<string, unknown>): Promise<Answer> {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": String(params["name"]),
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta: meta } });
    const response = await fetch(url, { method: "POST", headers, body });
    return JSON.parse(await response.text());
  }

  const answers = { question_1: { action: "accept", content: { name: "Ada" } } };

  test("asks all concurrent questions in one response, and later ones in the next", async () => {
    const tool = using("all", async (client) => {
      const first = await Promise.all([
        client.elicit({ message: "A?", schema: NAME }, { key: "a" }),
        client.sample({ messages: [], maxTokens: 1 }, { key: "b" }),
        client.listRoots({ key: "c" }),
      ]);
      return [...first, await client.elicit({ message: "D?", schema: NAME }, { key: "d" })].length;
    });
    const { runtime } = await openRuntime({ tools: [tool] });
    const { url } = await listening(runtime);
    const first = await post(url, { name: "all", arguments: {} });
    expect(Object.keys(first.result?.inputRequests ?? {})).toEqual(["a", "b", "c"]);
    const accept = { action: "accept", content: { name: "x" } };
    const second = await post(url, {
      name: "all",
      arguments: {},
      requestState: first.result?.requestState,
      inputResponses: { a: accept, b: { role: "assistant", content: { type: "text", text: "" }, model: "m" } },
    });
    expect(Object.keys(second.result?.inputRequests ?? {})).toEqual(["c"]);
    const third = await post(url, {
      name: "all",
      arguments: {},
      requestState: second.result?.requestState,
      inputResponses: { c: { roots: [] } },
    });
    expect(Object.keys(third.result?.inputRequests ?? {})).toEqual(["d"]);
    const last = await post(url, { name: "all", arguments: {}, requestState: third.result?.requestState, inputResponses: { d: accept } });
    expect(last.result).toMatchObject({ resultType: "complete", content: [{ type: "text", text: "4" }] });
  });

  test("a requestState that was changed, was already used, or comes with another request is rejected", async () => {
    const { runtime } = await openRuntime({ tools: [greet, { ...greet, name: "other" }] });
    const { url } = await listening(runtime);
    const first = await post(url, { name: "greet", arguments: {} });
    const requestState = first.result?.requestState;
    const refused = { error: { code: -32_602 } };
    for (const forged of [`${requestState}x`, `x${requestState}`, "", requestState?.replace(/\.[^.]*$/u, ".AAAA")])
      expect(await post(url, { name: "greet", arguments: {}, requestState: forged, inputResponses: answers })).toMatchObject(refused);
    expect(await post(url, { name: "other", arguments: {}, requestState, inputResponses: answers })).toMatchObject(refused);
    expect(await post(url, { name: "greet", arguments: { a: 1 }, requestState, inputResponses: answers })).toMatchObject(refused);
    expect(await post(url, { name: "greet", arguments: {}, requestState, inputResponses: answers })).toMatchObject({
      result: { resultType: "complete" },
    });
    expect(await post(url, { name: "greet", arguments: {}, requestState, inputResponses: answers })).toMatchObject(refused);
  });

  test("a requestState of one server is rejected by another", async () => {
    const { runtime } = await openRuntime({ tools: [greet] });
    const one = await listening(runtime);
    const other = await listening(runtime);
    const { result } = await post(one.url, { name: "greet", arguments: {} });
    expect(
      await post(other.url, { name: "greet", arguments: {}, requestState: result?.requestState, inputResponses: answers }),
    ).toMatchObject({
      error: { code: -32_602 },
    });
  });

  test("is cancelled when the client does not return in time, and its result is recorded", async () => {
    const events: RuntimeEvent[] = [];
    const { runtime } = await openRuntime({ tools: [greet], onEvent: (event) => void events.push(event) });
    const clock = new FakeClock();
    const { url } = await listening(runtime, { suspendedTtlMs: 5_000, ports: { clock } });
    const { result } = await post(url, { name: "greet", arguments: {} });
    await clock.advance(5_000);
    await vi.waitFor(() =>
      expect(events.filter((event) => event.type === "call-end")).toMatchObject([
        { result: { status: "cancelled", name: "default::greet" } },
      ]),
    );
    expect(await post(url, { name: "greet", arguments: {}, requestState: result?.requestState, inputResponses: answers })).toMatchObject({
      error: { code: -32_602 },
    });
  });

  test("a question beyond maxSuspended gets cancel as its answer", async () => {
    const { runtime } = await openRuntime({ tools: [greet] });
    const { url } = await listening(runtime, { maxSuspended: 1 });
    const first = await post(url, { name: "greet", arguments: {} });
    expect(first.result?.resultType).toBe("input_required");
    expect(await post(url, { name: "greet", arguments: {} })).toMatchObject({ result: { content: [{ text: '{"action":"cancel"}' }] } });
    expect(
      await post(url, { name: "greet", arguments: {}, requestState: first.result?.requestState, inputResponses: answers }),
    ).toMatchObject({ result: { content: [{ text: expect.stringContaining("Ada") }] } });
  });

  test("is cancelled when its server closes", async () => {
    const events: RuntimeEvent[] = [];
    const { runtime } = await openRuntime({ tools: [greet], onEvent: (event) => void events.push(event) });
    const listener = await listening(runtime);
    await post(listener.url, { name: "greet", arguments: {} });
    await listener.close();
    await vi.waitFor(() =>
      expect(events.filter((event) => event.type === "call-end")).toMatchObject([{ result: { status: "cancelled" } }]),
    );
  });

  test("a client over HTTP is asked the same way as one over stdio", async () => {
    const { runtime } = await openRuntime({ tools: [greet] });
    const { url } = await listening(runtime);
    for (const era of ERAS) {
      const client = await overHttp(url, { era });
      client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: era } }));
      expect(textOf(await client.callTool({ name: "greet" }))).toBe(`{"action":"accept","content":{"name":"${era}"}}`);
    }
  });
});

describe.each(ERAS)("a question whose call has ended (%s)", (era) => {
  const patient = defineTool({
    name: "patient",
    description: "",
    effects: { external: true, writes: ["x"] },
    timeoutMs: 1_000,
    execute: async (_input, { ask }) => (await ask({ message: "Still there?" })).action,
  });

  test("D13 is withdrawn, so that the person no longer sees it", async () => {
    const clock = new FakeClock();
    const { runtime } = await openRuntime({ tools: [patient], ports: { clock } });
    const { client } = await overStdio(runtime, { era });
    const withdrawn = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    client.setRequestHandler("elicitation/create", (_request, { mcpReq }) => {
      mcpReq.signal.addEventListener("abort", () => withdrawn.resolve());
      asked.resolve();
      return era === "legacy" ? new Promise(() => {}) : withdrawn.promise.then(() => ({ action: "cancel" as const }));
    });
    const call = client.callTool({ name: "patient" });
    await asked.promise;
    await clock.advance(1_000);
    if (era === "legacy") await withdrawn.promise;
    else withdrawn.resolve(); // its client holds the request itself, and finds the result when it comes back
    expect(await call).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("did not answer within 1000 ms") }] });
    expect(runtime.running).toEqual([]);
  });
});

test("D11 an approval shows the input exactly: invisible and direction-changing characters are escaped", async () => {
  const burn = defineTool({
    name: "burn",
    description: "",
    inputSchema: { type: "object" },
    effects: { destructive: true, writes: ["x"] },
    execute: () => "",
  });
  const { runtime } = await openRuntime({ tools: [burn], approval: { approve: mcpApprover } });
  const { client } = await overStdio(runtime, { era: "legacy" });
  let shown = "";
  client.setRequestHandler("elicitation/create", ({ params }) => {
    shown = params.message;
    return { action: "decline" };
  });
  const path = "a\u202etxt.exe\u200b\u0007\u{e0061}";
  await client.callTool({ name: "burn", arguments: { path } });
  expect(shown).toContain(String.raw`"path": "a\u202etxt.exe\u200b\u0007\udb40\udc61"`);
  expect(JSON.parse(shown.slice(shown.indexOf("{")))).toEqual({ path });
});

test("D11 a provider's safety message in an approval is escaped too, and stays on one line", async () => {
  const given: unknown[] = [];
  const computer: Tool = {
    name: "computer",
    description: "",
    inputSchema: { type: "object" },
    effects: { reads: ["screen"], writes: [] },
    providers: { "openai-responses": { type: "computer" } },
    execute: (input) => given.push(input),
  };
  const { runtime } = await openRuntime({ tools: [computer], approval: { approve: mcpApprover } });
  const { client } = await overStdio(runtime, { era: "legacy" });
  let shown = "";
  client.setRequestHandler("elicitation/create", ({ params }) => {
    shown = params.message;
    return { action: "decline" };
  });
  const input = { x: 1, pending_safety_checks: [{ message: 'Harmless\u202e\u001b.\n\n{\n  "x": 0\n}' }] };
  await client.callTool({ name: "computer", arguments: input });
  const [question = "", ...lines] = shown.split("\n");
  expect(question).toContain(String.raw`asks for a confirmation: Harmless\u202e\u001b. { "x": 0 }`);
  expect([JSON.parse(lines.join("\n")), given]).toEqual([input, []]);
});

describe.each(ERAS)("a user of the %s era who must approve a call", (era) => {
  const burn = defineTool({ name: "burn", description: "", effects: { destructive: true, writes: ["x"] }, execute: () => "burnt" });
  const approval = { approve: mcpApprover };

  test.each([
    ["accepts", { action: "accept" as const, content: { allow: true } }, "burnt"],
    ["declines", { action: "decline" as const }, "approval_denied"],
    [
      "dismisses the question",
      { action: "cancel" as const },
      "burn needs approval, and the MCP client did not ask, or its user did not decide.",
    ],
  ])("%s", async (_, answer, text) => {
    const { runtime } = await openRuntime({ tools: [burn], approval });
    const { client } = await overStdio(runtime, { era });
    client.setRequestHandler("elicitation/create", () => answer);
    expect(textOf(await client.callTool({ name: "burn" }))).toContain(text);
  });

  test("reads the names of tools that the client lists", async () => {
    const wipe: Tool = {
      name: "wipe",
      description: "",
      inputSchema: { type: "object" },
      composite: true,
      execute: (_input, { execute }) => execute({ name: "disk::burn", input: {} }),
    };
    const toolsets = [{ name: "disk", tools: [burn] }];
    const { runtime } = await openRuntime({ tools: [burn, wipe], toolsets, approval });
    const { client } = await overStdio(runtime, { era });
    const asked: string[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params.message);
      return { action: "decline" };
    });
    const listed = (await client.listTools()).tools.map(({ name }) => name);
    for (const name of ["burn", "disk__burn", "wipe"]) await client.callTool({ name });
    expect(listed).toEqual(expect.arrayContaining(["burn", "disk__burn", "wipe"]));
    expect(asked).toEqual([
      "May burn run? burn may destroy something.\n{}",
      "May disk__burn run? disk__burn may destroy something.\n{}",
      "May disk__burn run? disk__burn may destroy something.\n{}\n\nIt is made in wipe:\n{}",
    ]);
  });

  test("is asked about each nested call: approving one does not approve the next", async () => {
    const burnt: unknown[] = [];
    const burnOne: Tool = { ...burn, inputSchema: { type: "object" }, execute: (input) => void burnt.push(input) };
    const burnAll: Tool = {
      name: "burn_all",
      description: "",
      inputSchema: { type: "object" },
      composite: true,
      execute: async (_input, { execute }) => {
        for (const n of [1, 1, 2]) await execute({ name: "burn", input: { n } });
      },
    };
    const { runtime } = await openRuntime({ tools: [burnOne, burnAll], approval });
    const { client } = await overStdio(runtime, { era });
    let asked = 0;
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { allow: ++asked === 1 } }));
    await client.callTool({ name: "burn_all" });
    expect([asked, burnt]).toEqual([3, [{ n: 1 }]]);
  });

  test("is asked for a boolean without a default, so a form submitted unchanged is not an approval", async () => {
    const { runtime } = await openRuntime({ tools: [burn], approval });
    const { client } = await overStdio(runtime, { era });
    const shown: unknown[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      shown.push("requestedSchema" in params ? params.requestedSchema : undefined);
      return { action: "cancel" };
    });
    await client.callTool({ name: "burn" });
    expect(shown).toEqual([{ type: "object", properties: { allow: { type: "boolean", title: "Let it run" } }, required: ["allow"] }]);
  });

  test("cannot be asked by a client without elicitation: the result says that nobody decided", async () => {
    const { runtime } = await openRuntime({ tools: [burn], approval });
    const { client } = await overStdio(runtime, { era, capabilities: {} });
    const result = await client.callTool({ name: "burn" });
    expect(textOf(result)).toContain("Error (approval_required): burn needs approval, and the MCP client did not ask");
  });

  test("is not asked about a call that did not come over MCP, or whose input is too long to show", async () => {
    const { runtime } = await openRuntime({ tools: [burn], approval });
    const { error } = await runtime.execute({ name: "burn" });
    expect(error).toMatchObject({ code: "approval_required", message: expect.stringContaining("the call did not come over MCP") });
    const { client } = await overStdio(runtime, { era });
    const long = await client.callTool({ name: "burn", arguments: { text: "x".repeat(5_000) } });
    expect(textOf(long)).toContain("approval_required");
    expect(textOf(long)).toContain("too long to be shown");
  });
});

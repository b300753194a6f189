/** The toolset with which a model finds tools, and calls them where its list of tools cannot grow. */
import { describe, expect, onTestFinished, test } from "vitest";
import { createRuntime, ToolError, ToolOutput, type Runtime, type RuntimeOptions, type Tool } from "haft";
import { findToolsToolset } from "haft/find-tools";
import { toAiSdkTools, toLangChainTools } from "haft/adapters";
import { tool } from "../runtime/bench-runtime.ts";
import { ERAS, openRuntime, overStdio } from "../server/mcp-clients.ts";

const paid: unknown[] = [];
const SHOP: readonly Tool[] = [
  tool("pay", (input) => (paid.push(input), { paid: true }), {
    description: "Pays a bill.",
    inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
    effects: { writes: ["money"] },
  }),
  tool("picture", () => new ToolOutput({ content: [{ type: "image", mediaType: "image/png", data: "AAAA" }] }), {
    description: "Paints a cat.",
  }),
  tool("burn", () => {
    throw new Error("The oven is off.");
  }),
  tool("half", () => ({ done: "no" }), { outputSchema: { type: "object", properties: { done: { type: "boolean" } } } }),
  tool("slow", async () => await Promise.resolve("built"), { mode: "background", description: "Builds a house." }),
];

function runtimeOf(options: Partial<RuntimeOptions> = {}): Runtime {
  const runtime = createRuntime({
    toolsets: [{ name: "shop", tools: SHOP }, findToolsToolset({ callTool: true })],
    maxAttempts: 1,
    ...options,
  });
  onTestFinished(async () => void (await runtime.close()));
  return runtime;
}

const find = (query: string) => ({ name: "catalog::find_tools", input: { query } });
const call = (name: string, input?: object) => ({ name: "catalog::call_tool", input: { name, ...(input === undefined ? {} : { input }) } });

test("call_tool calls other tools after a tool that it called was down, and the circuit of that tool is its own", async () => {
  const down = tool("down", () => Promise.reject(new ToolError("unavailable", "It is down.")));
  const runtime = runtimeOf({ toolsets: [{ name: "shop", tools: [down, ...SHOP] }, findToolsToolset({ callTool: true })] });
  const messages = new Set<string | undefined>();
  for (let n = 0; n < 8; n++) messages.add((await runtime.execute(call("shop::down"))).error?.message.replace(/\d+ ms/u, "… ms"));
  expect([...messages]).toEqual(["It is down.", "shop::down has failed repeatedly: calls are refused for another … ms."]);
  expect((await runtime.execute(call("shop::pay", { amount: 1 }))).output).toEqual({ paid: true });
});

describe("find_tools", () => {
  test("returns the tools it finds with their input schemas, where the list of tools cannot grow", async () => {
    const { output, content } = await runtimeOf().execute(find("pay a bill"));
    expect(output).toEqual({ tools: [{ name: "shop::pay", description: "Pays a bill." }] });
    expect(content).toEqual([
      {
        type: "text",
        text: 'Call these with call_tool, as {"name": …, "input": {…}}:\n- shop__pay: Pays a bill.\n  input: {"type":"object","properties":{"amount":{"type":"number"}},"required":["amount"]}',
      },
    ]);
  });

  test("finds neither itself nor the runtime's own tools, and cuts a long description", async () => {
    const long = tool("long", () => 1, { description: `zebra ${"x".repeat(10_000)}` });
    const runtime = runtimeOf({ toolsets: [{ name: "shop", tools: [long] }, findToolsToolset()] });
    expect((await runtime.execute(find("find tools call read result"))).output).toEqual({ tools: [] });
    const { content } = await runtime.execute(find("zebra"));
    expect(JSON.stringify(content).length).toBeLessThan(800);
  });

  test("without a match lists the toolsets, or says that there are no other tools", async () => {
    const texts = [];
    for (const runtime of [runtimeOf(), runtimeOf({ toolsets: [findToolsToolset()] })])
      texts.push((await runtime.execute(find("xyzzy"))).content?.[0]);
    expect(texts).toMatchObject([
      { text: 'No tool fits "xyzzy". Try other words. There are tools in shop (5).' },
      { text: 'No tool fits "xyzzy". There are no other tools.' },
    ]);
  });

  test.each([0, 21, 1.5, "5"])("throws for the limit %j", (limit) => {
    expect(() => findToolsToolset({ limit: limit as number })).toThrow(/limit of findToolsToolset\(\)/u);
  });
});

describe("call_tool", () => {
  test.each(["shop::pay", "shop__pay", "pay"])("calls a tool by the name %s, as a nested call", async (name) => {
    paid.length = 0;
    const session = runtimeOf().session();
    expect(await session.execute(call(name, { amount: "5" }))).toMatchObject({ status: "ok", output: { paid: true } });
    expect(paid).toEqual([{ amount: 5 }]);
    expect(session.history.map((entry) => entry.call.name)).toEqual(["catalog::call_tool", "shop::pay"]);
  });

  test("returns what the tool returns: images, errors, outputs that break their schema, and results of background tools", async () => {
    const session = runtimeOf().session();
    const results = await session.execute(["picture", "burn", "half", "slow", "nowhere"].map((name) => call(`shop::${name}`)));
    expect(results.map(({ status, error, output, content }) => [status, error?.code, output ?? content?.[0]?.type])).toEqual([
      ["ok", undefined, "image"],
      ["error", "execution_failed", undefined],
      ["ok", undefined, { done: "no" }],
      ["ok", undefined, "built"],
      ["error", "not_found", undefined],
    ]);
    expect(results[1]?.error?.message).toBe("The oven is off.");
  });

  test("grants no right that its caller lacks, and requests approval for the called tool", async () => {
    paid.length = 0;
    const asked: unknown[] = [];
    const runtime = runtimeOf({
      permission: { deny: ["shop::burn"] },
      approval: { always: ["shop::pay"], approve: ({ toolName, input }) => (asked.push([toolName, input]), "deny") },
    });
    const session = runtime.session();
    const codes = [
      await session.execute(call("shop::burn")),
      await session.execute(call("shop::picture"), { allow: { deny: ["shop::picture"] } }),
      await session.execute(call("shop::pay", { amount: 5 })),
      await session.execute(
        call("catalog::call_tool", { name: "catalog::call_tool", input: { name: "catalog::call_tool", input: { name: "shop::half" } } }),
      ),
    ].map(({ error }) => error?.code);
    expect(codes).toEqual(["permission_denied", "permission_denied", "approval_denied", "limit_exceeded"]);
    expect([asked, paid]).toEqual([[["shop::pay", { amount: 5 }]], []]);
  });
});

describe.each(ERAS)("an MCP client of the %s era", (era) => {
  test("lists the pinned tools and the two catalog tools, and calls found tools with all checks and progress", async () => {
    paid.length = 0;
    const slow = tool("count", (_input, { progress }) => (progress({ done: 1, total: 2 }), "counted"), { description: "Counts sheep." });
    const { runtime } = await openRuntime({
      toolsets: [{ name: "shop", tools: [...SHOP, slow] }, findToolsToolset({ callTool: true })],
      permission: { deny: ["shop::burn"] },
    });
    const { client } = await overStdio(runtime, { era, only: ["catalog::*", "shop::picture"] });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      "catalog__call_tool",
      "catalog__find_tools",
      "shop__picture",
    ]);
    const found = await client.callTool({ name: "catalog__find_tools", arguments: { query: "pay the bill" } });
    expect(found.content).toMatchObject([{ text: expect.stringContaining("shop__pay: Pays a bill.") }]);
    const answer = await client.callTool({ name: "catalog__call_tool", arguments: { name: "shop__pay", input: { amount: 5 } } });
    expect([answer.isError ?? false, paid]).toEqual([false, [{ amount: 5 }]]);
    const denied = await client.callTool({ name: "catalog__call_tool", arguments: { name: "shop__burn" } });
    expect(denied).toMatchObject({ isError: true });
    const seen: unknown[] = [];
    await client.callTool(
      { name: "catalog__call_tool", arguments: { name: "shop__count" } },
      { onprogress: (update) => seen.push(update) },
    );
    expect(seen).toMatchObject([{ progress: 1, total: 2 }]);
    await expect(client.callTool({ name: "shop__pay", arguments: { amount: 1 } })).rejects.toThrow(/Unknown tool/u);
  });
});

test("adapters offer the pinned tools and the two catalog tools, and call_tool reaches every other tool", async () => {
  const runtime = runtimeOf();
  const tools = toAiSdkTools(runtime, { session: runtime.session(), only: ["catalog::*", "shop::picture"] });
  expect(Object.keys(tools)).toEqual(["catalog__call_tool", "catalog__find_tools", "shop__picture"]);
  expect(await tools["catalog__call_tool"]?.execute({ name: "shop__pay", input: { amount: 5 } }, {})).toEqual({ paid: true });
  const chain = toLangChainTools(
    runtime,
    (execute: unknown, fields: { readonly name: string }) => ({ name: fields.name, execute }) as never,
    { only: ["catalog::*"] },
  );
  expect(chain).toHaveLength(2);
});

/** With the real package `@mastra/core` where the benchmark's packages are installed (`npm ci` in bench/): it brings 386 others. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { fromMastraTools, toMastraTools, type MastraFields, type MastraToolLike } from "../../src/adapters/mastra.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { adapterRuntime, askedRuntime } from "./adapter-world.ts";

const PACKAGE = new URL("../../bench/node_modules/@mastra/core/dist/tools/index.js", import.meta.url);

interface MastraTool extends MastraToolLike {
  readonly execute: (input: unknown, context: object) => Promise<unknown>;
}
type CreateTool = (
  fields:
    | MastraFields
    | { readonly id: string; readonly description: string; readonly inputSchema: unknown; readonly execute: (input: never) => unknown },
) => MastraTool;

async function mastra(): Promise<CreateTool> {
  const { createTool } = (await import(PACKAGE.href)) as { readonly createTool: CreateTool };
  return createTool;
}

test.skipIf(!existsSync(PACKAGE))("Haft's tools run in Mastra through the runtime, and Mastra's tools run in Haft", async () => {
  const createTool = await mastra();
  const runtime = adapterRuntime();
  const session = runtime.session();
  const { math__add: add, fail } = toMastraTools(runtime, createTool, { session });
  expect(await add?.execute({ a: "2" }, { agent: { toolCallId: "m1", messages: [] } })).toEqual({ sum: 3 });
  expect(session.history.map(({ call }) => call.id)).toEqual(["m1"]);
  await expect(fail?.execute({}, {})).rejects.toThrow("the disk is full");
  const greet = createTool({
    id: "greet",
    description: "Greets.",
    inputSchema: z.object({ name: z.string().min(2) }),
    execute: ({ name }: { readonly name: string }) => `Hello ${name}`,
  });
  const ours = createRuntime({ tools: fromMastraTools([greet]) });
  const results = await ours.execute([
    { name: "greet", input: { name: "Ada" } },
    { name: "greet", input: {} },
  ]);
  expect(results.map(({ output, error }) => output ?? error?.code)).toEqual(["Hello Ada", "invalid_input"]);
});

test("Haft's calls have the ids of the agent's calls, and a call without an agent gets its id from the session", async () => {
  const runtime = adapterRuntime();
  const session = runtime.session();
  const { math__add: add } = toMastraTools(runtime, (fields) => fields, { session });
  await add?.execute({ a: 2 }, { agent: { toolCallId: "call-7" } });
  await add?.execute({ a: 2 }, {});
  expect(session.history.map(({ call }) => call.id)).toEqual(["call-7", undefined]);
});

test.skipIf(!existsSync(PACKAGE))("a tool that ran but whose output Mastra rejects may have had its effect", async () => {
  const createTool = await mastra();
  const tools = ["post", "strict"].map((id) =>
    createTool({
      id,
      description: "Posts.",
      inputSchema: z.object({ text: z.string() }),
      outputSchema: z.object({ id: z.number() }),
      execute: () => ({ id: "seven" }),
    } as Parameters<CreateTool>[0]),
  );
  const runtime = createRuntime({ tools: fromMastraTools(tools), maxAttempts: 1 });
  const results = await runtime.execute([
    { name: "post", input: { text: "a" } },
    { name: "strict", input: {} },
  ]);
  expect(results.map(({ error }) => [error?.code, error?.outcome])).toEqual([
    ["invalid_output", "unknown"],
    ["invalid_input", "not_started"],
  ]);
});

test("Mastra's answer to input that it rejects is an error in Haft", async () => {
  const [tool] = fromMastraTools([
    { id: "picky", description: "", execute: () => ({ error: true, message: "name is too short", validationErrors: {} }) },
  ]);
  const runtime = createRuntime({ tools: tool === undefined ? [] : [tool] });
  const { error } = await runtime.execute({ name: "picky", input: {} });
  expect(error).toMatchObject({ code: "invalid_input", message: "picky: name is too short" });
});

test("a tool that requires approval runs only if approved", async () => {
  const risky = { description: "", execute: () => "done" };
  const tools = fromMastraTools([
    { ...risky, id: "always", requireApproval: true },
    { ...risky, id: "sometimes", requireApproval: async ({ dry }: { readonly dry?: boolean }) => dry !== true },
  ]);
  const calls = [
    { name: "always", input: {} },
    { name: "sometimes", input: {} },
    { name: "sometimes", input: { dry: true } },
  ];
  const accepted = await askedRuntime(tools, "accept").runtime.execute(calls);
  expect(accepted.map(({ output }) => output)).toEqual(["done", "done", "done"]);
  const unasked = await askedRuntime(tools).runtime.execute(calls);
  expect(unasked.map(({ output, error }) => output ?? error?.code)).toEqual(["approval_required", "approval_required", "done"]);
});

test("the model is shown what toModelOutput returns", async () => {
  const media = { type: "media", mediaType: "image/png", data: "iVBORw==" };
  const tools = fromMastraTools([
    {
      id: "shot",
      description: "",
      execute: () => ({ at: 1 }),
      toModelOutput: ({ at }: { readonly at: number }) => ({ type: "content", value: [{ type: "text", text: `at ${at}` }, media] }),
    },
  ]);
  expect(await createRuntime({ tools }).execute({ name: "shot", input: {} })).toMatchObject({
    output: { at: 1 },
    content: [
      { type: "text", text: "at 1" },
      { type: "image", mediaType: "image/png", data: "iVBORw==" },
    ],
  });
});

test("an approval predicate of the MCP client or a workspace overrides requireApproval", async () => {
  const made = (needsApproval: boolean, requireApproval?: boolean): MastraToolLike => ({
    id: needsApproval ? "drop" : "read",
    description: "",
    execute: () => "done",
    requireApproval,
    needsApprovalFn: () => needsApproval,
  });
  const { runtime, asked } = askedRuntime(fromMastraTools([made(true), made(false, true)]), "decline");
  const results = await runtime.execute([
    { name: "drop", input: {} },
    { name: "read", input: {} },
  ]);
  expect(results.map(({ output, error }) => output ?? error?.code)).toEqual(["approval_denied", "done"]);
  expect(asked).toHaveLength(1);
});

test("Mastra 0, which passes its context in place of the input, is refused with the required version", async () => {
  const runtime = adapterRuntime();
  const session = runtime.session();
  const { math__add: add } = toMastraTools(runtime, (fields) => fields, { session });
  const context = { context: { a: 2 }, runtimeContext: new Map() };
  await expect(add?.execute(context, { toolCallId: "c1" } as object)).rejects.toThrow("toMastraTools() needs Mastra 1");
  expect(session.history).toEqual([]);
});

test("an error that an MCP server reports through Mastra's MCP client is an error", async () => {
  const [tool] = fromMastraTools([
    { id: "write", description: "", execute: () => ({ isError: true, content: [{ type: "text", text: "disk full" }] }) },
  ]);
  const runtime = createRuntime({ tools: tool === undefined ? [] : [tool], maxAttempts: 1 });
  const { error } = await runtime.execute({ name: "write", input: {} });
  expect([error?.code, error?.message, error?.outcome]).toEqual(["execution_failed", "disk full", "failed"]);
});

test.skipIf(!existsSync(PACKAGE))(
  "Mastra's tools can use observe, and a call without the request context that a tool requires has not started",
  async () => {
    const createTool = await mastra();
    const tools = [
      createTool({
        id: "traced",
        description: "Traces.",
        inputSchema: z.object({}),
        execute: (_input: unknown, { observe }: ObservedContext) => {
          observe.log("info", "begun");
          return observe.span("work", () => "done");
        },
      } as unknown as Parameters<CreateTool>[0]),
      createTool({
        id: "tenant",
        description: "Needs a tenant.",
        inputSchema: z.object({}),
        requestContextSchema: z.object({ tenant: z.string() }),
        execute: () => "done",
      } as Parameters<CreateTool>[0]),
    ];
    const runtime = createRuntime({ tools: fromMastraTools(tools), maxAttempts: 1 });
    const [traced, tenant] = await runtime.execute([
      { name: "traced", input: {} },
      { name: "tenant", input: {} },
    ]);
    expect([traced?.output, tenant?.error?.code, tenant?.error?.outcome]).toEqual(["done", "not_executable", "not_started"]);
    expect(tenant?.error?.message).toContain("tenant needs a request context");
  },
);

interface ObservedContext {
  readonly observe: {
    span(name: string, work: () => unknown): Promise<unknown>;
    log(level: string, message: string): void;
  };
}

/** What a framework's tool decides before its handler runs: approval, context, and whether it is enabled. */
import { RunContext, tool as agentsTool } from "@openai/agents";
import { jsonSchema, tool as aiSdkTool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { fromAiSdkTools, fromMastraTools, fromOpenAiAgentsTools } from "../../src/adapters/adapters.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { askedRuntime } from "./adapter-world.ts";

const ANY = { type: "object" } as const;

/** A tool of each framework that needs approval as `needs` says. Programs without types give other values than booleans. */
const made: Readonly<Record<string, (needs: unknown, execute: () => string) => Promise<readonly Tool[]>>> = {
  "AI SDK": (needs, execute) => fromAiSdkTools({ wipe: { inputSchema: jsonSchema(ANY), execute, needsApproval: needs } }),
  Mastra: async (needs, execute) => fromMastraTools([{ id: "wipe", description: "", execute, requireApproval: needs }]),
  "OpenAI Agents": async (needs, execute) =>
    fromOpenAiAgentsTools(
      [
        agentsTool({
          name: "wipe",
          description: "Wipes.",
          parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
          strict: false,
          needsApproval: (typeof needs === "function" ? needs : () => needs) as () => Promise<boolean>,
          execute,
        }),
      ],
      () => new RunContext(),
    ),
};

const cases = Object.entries(made).flatMap(([framework, make]) =>
  ([1, "always", /a/u.exec("a"), () => 1, async () => "yes"] as const).map((needs) => [framework, needs, make] as const),
);

test.for(cases)("%s: a tool whose approval rule says %o, which counts as true there, asks here too", async ([, needs, make]) => {
  const ran: unknown[] = [];
  const { runtime, asked } = askedRuntime(await make(needs, () => String(ran.push("wipe"))), "decline");
  const { error } = await runtime.execute({ name: "wipe", input: {} });
  expect([error?.code, error?.outcome, asked.length, ran]).toEqual(["approval_denied", "not_started", 1, []]);
});

test.for(Object.entries(made))("%s: a call whose approval rule throws has not started", async ([, make]) => {
  const ran: unknown[] = [];
  const broken = (): never => {
    throw new Error("no rules are loaded");
  };
  const { runtime, asked } = askedRuntime(await make(broken, () => String(ran.push("wipe"))), "accept");
  const { error } = await runtime.execute({ name: "wipe", input: {} });
  expect([error?.code, error?.message, error?.outcome, asked, ran]).toEqual([
    "execution_failed",
    "no rules are loaded",
    "not_started",
    [],
    [],
  ]);
});

test("OpenAI Agents: a tool without a yes to isEnabled is disabled, and a call whose context cannot be made has not started", async () => {
  const fields = { description: "", parameters: ANY, invoke: async () => "done" };
  const tools = [
    { ...fields, name: "off", isEnabled: (async () => undefined) as unknown as () => Promise<boolean> },
    { ...fields, name: "on", isEnabled: async () => true },
    { ...fields, name: "plain" },
  ];
  const calls = tools.map(({ name }) => ({ name, input: {} }));
  const runtime = createRuntime({ tools: fromOpenAiAgentsTools(tools, () => undefined), maxAttempts: 1 });
  expect((await runtime.execute(calls)).map(({ output, error }) => output ?? error?.code)).toEqual(["unavailable", "done", "done"]);
  const contextless = fromOpenAiAgentsTools(tools, () => {
    throw new Error("no tenant");
  });
  const { error } = await createRuntime({ tools: contextless, maxAttempts: 1 }).execute({ name: "on", input: {} });
  expect([error?.message, error?.outcome]).toEqual(["no tenant", "not_started"]);
});

test("AI SDK: the data of a call is checked and transformed by the tool's contextSchema before approval and handler", async () => {
  const seen: unknown[] = [];
  const contextSchema = z.object({ tenant: z.string().transform((text) => text.toUpperCase()) });
  const note = (_input: unknown, { context }: { readonly context: unknown }) => seen.push(context) > 9;
  const common = { description: "", inputSchema: z.object({}), needsApproval: note, execute: note };
  const tools = await fromAiSdkTools({
    checked: aiSdkTool({ ...common, contextSchema }),
    lazy: { ...common, contextSchema: () => contextSchema },
    wrapped: {
      ...common,
      contextSchema: jsonSchema(ANY, {
        validate: (value) =>
          "tenant" in Object(value) ? { success: true, value: "own" } : { success: false, error: new Error("no tenant") },
      }),
    },
    unchecked: { ...common, contextSchema: jsonSchema(ANY) },
  });
  const calls = tools.map(({ name }) => ({ name, input: {} }));
  await createRuntime({ tools, data: { tenant: "a", key: 1 } }).execute(calls);
  expect(seen.splice(0)).toEqual([
    { tenant: "A" },
    { tenant: "A" },
    { tenant: "A" },
    { tenant: "A" },
    "own",
    "own",
    { tenant: "a", key: 1 },
    { tenant: "a", key: 1 },
  ]);
  const refused = await createRuntime({ tools, maxAttempts: 1 }).execute(calls.slice(0, 3));
  expect(refused.map(({ error }) => [error?.code, error?.outcome, error?.details])).toEqual([
    ["invalid_argument", "not_started", ["$.tenant: Invalid input: expected string, received undefined"]],
    ["invalid_argument", "not_started", ["$.tenant: Invalid input: expected string, received undefined"]],
    ["invalid_argument", "not_started", ["no tenant"]],
  ]);
  expect(seen).toEqual([]);
});

test("methods of a tool that is an object of a class find their object", async () => {
  class Counter {
    readonly id = "count";
    readonly description = "Counts.";
    readonly inputSchema = z.object({});
    readonly contextSchema = undefined;
    readonly first = 5;
    needsApproval(): boolean {
      return this.first > 5;
    }
    needsApprovalFn(): boolean {
      return this.first > 5;
    }
    execute(): number {
      return this.first;
    }
    toModelOutput(): object {
      return { type: "text", value: `first: ${this.first}` };
    }
  }
  const tools = [...(await fromAiSdkTools({ count: new Counter() })), ...fromMastraTools([new Counter()])];
  for (const tool of tools)
    expect(await createRuntime({ tools: [tool] }).execute({ name: "count", input: {} })).toMatchObject({
      output: 5,
      content: [{ type: "text", text: "first: 5" }],
    });
});

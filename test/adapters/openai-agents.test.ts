/** With the real package `@openai/agents`. */
import {
  Agent,
  defineToolInputGuardrail,
  defineToolOutputGuardrail,
  RunContext,
  RunToolApprovalItem,
  tool,
  ToolGuardrailFunctionOutputFactory,
  toolNamespace,
} from "@openai/agents";
import { expect, test } from "vitest";
import { z } from "zod";
import { fromOpenAiAgentsTools, toOpenAiAgentsTools } from "../../src/adapters/openai-agents.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { adapterRuntime, askedRuntime } from "./adapter-world.ts";

test("Haft's tools run in the Agents SDK through the runtime, and report failures as text", async () => {
  const runtime = adapterRuntime();
  const session = runtime.session();
  const [fail, add] = toOpenAiAgentsTools(runtime, (fields) => tool(fields), { session, only: ["math::*", "default::fail"] });
  expect(add?.parameters).toMatchObject({ type: "object", required: ["a"], properties: { a: { type: "integer" } } });
  expect(await add?.invoke(new RunContext(), '{"a": 2}')).toBe('{"sum":3}');
  expect(await add?.invoke(new RunContext(), '{"a": "many"}')).toContain("Error (invalid_input)");
  expect(await fail?.invoke(new RunContext(), "{}")).toContain("the disk is full");
  expect(session.history.map(({ result }) => result?.status)).toEqual(["ok", "error", "error"]);
});

test("the SDK's tools run in Haft: input checked, thrown errors as errors, and approval when they require it", async () => {
  const greet = tool({
    name: "greet",
    description: "Greets.",
    parameters: z.object({ name: z.string() }),
    execute: ({ name }) => `Hello ${name}`,
  });
  const fail = tool({
    name: "fail",
    description: "Fails.",
    parameters: z.object({}),
    errorFunction: null,
    execute: () => {
      throw new Error("no luck");
    },
  });
  const risky = tool({ name: "risky", description: "Risky.", parameters: z.object({}), needsApproval: true, execute: () => "boom" });
  const runtime = createRuntime({ tools: fromOpenAiAgentsTools([greet, fail, risky], () => new RunContext()), maxAttempts: 1 });
  const results = await runtime.execute([
    { name: "greet", input: { name: "Ada" } },
    { name: "greet", input: {} },
    { name: "fail", input: {} },
    { name: "risky", input: {} },
  ]);
  expect(results.map(({ output, error }) => output ?? error?.code)).toEqual([
    "Hello Ada",
    "invalid_input",
    "execution_failed",
    "approval_required",
  ]);
});

test("the SDK's tools run if a person approves, and not if they are disabled", async () => {
  const fields = { description: "Risky.", parameters: z.object({}) };
  const tools = fromOpenAiAgentsTools(
    [
      tool({ ...fields, name: "risky", needsApproval: true, execute: () => "done" }),
      tool({ ...fields, name: "off", isEnabled: false, execute: () => "done" }),
      tool({ ...fields, name: "agents", isEnabled: ({ agent }) => agent.name === "trusted", execute: () => "done" }),
    ],
    () => new RunContext(),
  );
  const { runtime, asked } = askedRuntime(tools, "accept");
  const results = await runtime.execute(["risky", "off", "agents"].map((name) => ({ name, input: {} })));
  expect(results.map(({ output, error }) => output ?? error?.code)).toEqual(["done", "unavailable", "execution_failed"]);
  expect(asked).toEqual(["default::risky asks for approval to run with {}."]);
});

test("Haft's destructive tools interrupt the SDK's run, and run only with the approval in its context", async () => {
  const wiped: unknown[] = [];
  const wipe: Tool = {
    name: "wipe",
    description: "Wipes.",
    inputSchema: { type: "object" },
    effects: { writes: ["disk"], destructive: true },
    execute: () => wiped.push("sda"),
  };
  const runtime = createRuntime({ tools: [wipe] });
  const [made] = toOpenAiAgentsTools(runtime, (fields) => tool(fields));
  const item = { type: "function_call", name: "wipe", callId: "c1", arguments: "{}" } as const;
  const context = new RunContext();
  expect(await made?.needsApproval(context, {}, "c1")).toBe(true);
  expect(await made?.invoke(context, "{}", { toolCall: item })).toContain("Error (approval_required)");
  const agent = new Agent({ name: "a", tools: toOpenAiAgentsTools(runtime, (fields) => tool(fields)) });
  context.approveTool(new RunToolApprovalItem(item, agent));
  expect([await made?.invoke(context, "{}", { toolCall: item }), wiped]).toEqual(["1", ["sda"]]);
});

test("the SDK's tools with guardrails are refused, because Haft would not run the guardrails", () => {
  const run = async () => ToolGuardrailFunctionOutputFactory.rejectContent("blocked");
  const fields = { name: "danger", description: "Risky.", parameters: z.object({}), execute: () => "done" };
  const guarded = [
    tool({ ...fields, inputGuardrails: [defineToolInputGuardrail({ name: "no", run })] }),
    tool({ ...fields, outputGuardrails: [defineToolOutputGuardrail({ name: "no", run })] }),
  ];
  for (const one of guarded)
    expect(() => fromOpenAiAgentsTools([one], () => new RunContext())).toThrow(
      expect.objectContaining({ code: "not_executable", message: expect.stringContaining('"danger"') }),
    );
  expect(fromOpenAiAgentsTools([tool({ ...fields, inputGuardrails: [] })], () => new RunContext())).toHaveLength(1);
});

test("Haft's tools that the program renamed run with an approval given under the new name", async () => {
  const wipe: Tool = {
    name: "wipe",
    description: "Wipes.",
    inputSchema: { type: "object" },
    effects: { destructive: true },
    execute: () => 1,
  };
  const make = () => toOpenAiAgentsTools(createRuntime({ tools: [wipe] }), (fields) => tool({ ...fields, name: `disk_${fields.name}` }));
  const item = { type: "function_call", name: "disk_wipe", callId: "c1", arguments: "{}" } as const;
  const context = new RunContext();
  expect(await make()[0]?.invoke(context, "{}", { toolCall: item })).toContain("Error (approval_required)");
  context.approveTool(new RunToolApprovalItem(item, new Agent({ name: "a", tools: make() })));
  expect(await make()[0]?.invoke(context, "{}", { toolCall: item })).toBe("1");
});

test("Haft's tools in a namespace, and deferred ones, run with an approval given for them, and not with one for another namespace", async () => {
  const wipe: Tool = {
    name: "wipe",
    description: "Wipes.",
    inputSchema: { type: "object" },
    effects: { destructive: true },
    execute: () => 1,
  };
  const make = (deferLoading = false) =>
    toOpenAiAgentsTools(createRuntime({ tools: [wipe] }), (fields) => tool({ ...fields, deferLoading }));
  const inNamespace = (name: string) => toolNamespace({ name, description: "Tools.", tools: make() });
  const itemOf = (namespace?: string) =>
    ({ type: "function_call", name: "wipe", callId: "c1", arguments: "{}", ...(namespace === undefined ? {} : { namespace }) }) as const;
  const cases = [
    [inNamespace("disk"), itemOf("disk"), inNamespace("tape"), itemOf("tape")],
    [make(true), itemOf("wipe"), inNamespace("tape"), itemOf("tape")],
    [make(true), itemOf(), inNamespace("tape"), itemOf("tape")],
  ] as const;
  for (const [tools, item, otherTools, otherItem] of cases) {
    const context = new RunContext();
    context.approveTool(new RunToolApprovalItem(otherItem, new Agent({ name: "other", tools: otherTools })));
    expect(await tools[0]?.invoke(context, "{}", { toolCall: item })).toContain("Error (approval_required)");
    context.approveTool(new RunToolApprovalItem(item, new Agent({ name: "own", tools })));
    expect(await tools[0]?.invoke(context, "{}", { toolCall: item })).toBe("1");
  }
});

test("the SDK's tools get the id of their call, and an agent without an answer has failed", async () => {
  const knows = tool({
    name: "knows",
    description: "Knows its call.",
    parameters: z.object({}),
    execute: (_input, _context, details) => `${details?.toolCall?.name} ${details?.toolCall?.callId}`,
  });
  const invoke = () => Promise.resolve("");
  const agent = { ...knows, name: "agent", invoke, on: () => agent };
  const silent = { ...knows, name: "silent", invoke };
  const runtime = createRuntime({ tools: fromOpenAiAgentsTools([knows, agent, silent], () => new RunContext()), maxAttempts: 1 });
  const results = await runtime.execute([
    { id: "c7", name: "knows", input: {} },
    { name: "agent", input: {} },
    { name: "silent", input: {} },
  ]);
  expect(results.map(({ output, error }) => output ?? error?.code)).toEqual([`knows ${results[0]?.callId}`, "execution_failed", ""]);
});

test("content parts in answers of the SDK's tools become content, and provider-specific parts stay JSON", async () => {
  const png = { data: "iVBORw0KGgo=", mediaType: "image/png" };
  const answers = {
    text: { type: "text", text: "hello" },
    image: { type: "image", image: png },
    bytes: { type: "image", image: { ...png, data: new Uint8Array([1, 2, 3]) } },
    address: { type: "image", image: "data:image/png;base64,iVBORw0KGgo=" },
    link: [
      { type: "text", text: "see" },
      { type: "image", image: "https://example.com/a.png" },
    ],
    file: { type: "file", file: { data: "JVBERg==", mediaType: "application/pdf", filename: "a.pdf" } },
    uploaded: { type: "image", image: { fileId: "file-1" } },
    ofMcp: { type: "image", data: png.data, mimeType: png.mediaType },
    older: { type: "image", imageUrl: "https://example.com/a.png" },
    mixed: [{ type: "text", text: "hello" }, { kind: "row" }],
    none: [],
  } as const;
  const tools = Object.entries(answers).map(([name, answer]) =>
    tool({ name, description: "Answers.", parameters: z.object({}), execute: async () => answer }),
  );
  const runtime = createRuntime({ tools: fromOpenAiAgentsTools(tools, () => new RunContext()) });
  const results = await runtime.execute(Object.keys(answers).map((name) => ({ name, input: {} })));
  const image = { type: "image", ...png };
  expect(results.map(({ content, output }) => content ?? output)).toEqual([
    [{ type: "text", text: "hello" }],
    [image],
    [{ ...image, data: "AQID" }],
    [image],
    [
      { type: "text", text: "see" },
      { type: "file", uri: "https://example.com/a.png" },
    ],
    [{ type: "file", mediaType: "application/pdf", uri: "data:application/pdf;base64,JVBERg==" }],
    answers.uploaded,
    [image],
    [{ type: "file", uri: "https://example.com/a.png" }],
    answers.mixed,
    answers.none,
  ]);
});

test("the content of an MCP server that is marked as an error is an error", async () => {
  const parts = ["disk full", "retry later"].map((text) => ({ type: "text", text }));
  const content = Object.defineProperty(parts, "isError", { value: true }); // as the SDK's MCP servers return it
  const write = tool({ name: "write", description: "Writes.", parameters: z.object({}), execute: async () => content });
  const runtime = createRuntime({ tools: fromOpenAiAgentsTools([write], () => new RunContext()), maxAttempts: 1 });
  const { error } = await runtime.execute({ name: "write", input: {} });
  expect([error?.code, error?.message, error?.outcome]).toEqual(["execution_failed", "disk full\nretry later", "failed"]);
});

test("Haft's tools whose names differ in hyphens, which the SDK replaces, keep different names, and texts have the names of the SDK", async () => {
  const ran: string[] = [];
  const make = (name: string): Tool => ({ name, description: name, inputSchema: { type: "object" }, execute: () => ran.push(name) });
  const names = ["list-notes", "list_notes", "list-no_tes", "list_no-tes", "get-user"];
  const failing: Tool = {
    ...make("find"),
    execute: () => {
      throw new ToolError("execution_failed", "There is none.", { hint: 'Use "default::get-user".', toolNames: ["default::get-user"] });
    },
  };
  const runtime = createRuntime({ tools: [...names.map(make), failing], maxAttempts: 1 });
  const made = toOpenAiAgentsTools(runtime, (fields) => tool(fields));
  const namesOf = new Map(made.map(({ description, name }) => [description, name]));
  expect(new Set(namesOf.values()).size).toBe(6);
  expect(Object.fromEntries(namesOf)).toEqual({
    "list-notes": expect.stringMatching(/^list_notes__[0-9a-f]{16}$/u),
    list_notes: "list_notes",
    "list-no_tes": expect.stringMatching(/^list_no_tes__[0-9a-f]{16}$/u),
    "list_no-tes": expect.stringMatching(/^list_no_tes__[0-9a-f]{16}$/u),
    "get-user": "get_user",
    find: "find",
  });
  for (const one of made.filter(({ name }) => name !== "find")) await one.invoke(new RunContext(), "{}");
  expect(ran).toEqual(made.map(({ description }) => description).filter((name) => name !== "find"));
  expect(await made.find(({ name }) => name === "find")?.invoke(new RunContext(), "{}")).toContain("get_user");
});

/** Conversations whose calls continue in the background. */
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { readTemplates } from "../../../src/generate/conversations/read-templates.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../src/runtime/runtime.ts";
import { fakePorts } from "../../../src/testing/fake-ports.ts";
import { generated } from "./generated.ts";

const ID = { type: "object", properties: { id: { type: "string" } }, required: ["id"] } as const;

const TOOLS: readonly Tool[] = [
  {
    name: "order_report",
    description: "Order a report.",
    mode: "background",
    effects: { reads: [], writes: [] },
    inputSchema: { type: "object", properties: { topic: { type: "string" } }, required: ["topic"] },
    outputSchema: ID,
    async execute({ topic }: { readonly topic: string }) {
      for (let turns = topic.length % 7; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
      return { id: `R-${topic.length}` };
    },
  },
  {
    name: "get_report",
    description: "Look a report up.",
    inputSchema: { type: "object", properties: { report_id: { type: "string" } }, required: ["report_id"] },
    outputSchema: { type: "object", properties: { title: { type: "string" } } },
    execute: ({ report_id }: { readonly report_id: string }) => ({ title: `Report ${report_id}` }),
  },
  {
    name: "ask_expert",
    description: "Ask an expert.",
    mode: "stateful",
    inputSchema: { type: "object" },
    async *execute(): AsyncGenerator<string, string, unknown> {
      return `You said ${String(yield "Which one?")}.`;
    },
  },
  {
    name: "name_call",
    description: "Names its call.",
    inputSchema: { type: "object", properties: { fails: { type: "boolean" } } },
    execute({ fails }: { readonly fails?: boolean }, { callId }) {
      if (fails === true) throw new ToolError("unavailable", `${callId} is closed.`, { hint: `Not ${callId}.`, retryable: false });
      return { [callId]: [callId, `job:${callId}, not _${callId}`] };
    },
  },
];

function desk(options: RuntimeOptions = {}): Runtime {
  return createRuntime({
    toolsets: [{ name: "desk", tools: TOOLS }],
    circuit: false,
    ports: { log: { debug() {}, warn() {} } },
    ...options,
  });
}

/** The messages of a conversation with these calls, one in each message. */
async function messagesOf(...calls: readonly { readonly name: string; readonly input: object }[]) {
  const messages = [{ role: "user", content: "Go on." }, ...calls.map((call) => ({ role: "assistant", calls: [call] }))];
  const plan = { kind: "scripted", templates: readTemplates(JSON.stringify({ messages }), "calls") } as const;
  const { lines } = await generated({ runtime: desk(), plan });
  return JSON.parse(lines[0] ?? "").messages.slice(1);
}

test("a background call is answered from the result of its job, and later calls can refer to it", async () => {
  const order = { name: "desk::order_report", input: { topic: "bees" } };
  expect(await messagesOf(order, { name: "desk::get_report", input: { report_id: "$1.id" } })).toEqual([
    expect.objectContaining({ calls: [{ id: "call_1", ...order }] }),
    expect.objectContaining({
      status: "pending",
      content: [{ type: "text", text: "This call continues in the background as the job call_1. Its result comes in a later message." }],
    }),
    { role: "user", content: 'The background job call_1 (desk::order_report) has succeeded:\n{"id":"R-4"}' },
    expect.objectContaining({ calls: [{ id: "call_2", name: "desk::get_report", input: { report_id: "R-4" } }] }),
    expect.objectContaining({ output: { title: "Report R-4" } }),
    { role: "assistant", content: expect.stringMatching(/R-4.*Report R-4/u) },
  ]);
});

test("a job that asks something is not waited for, and the answer does not call it a failure", async () => {
  const messages = await messagesOf({ name: "desk::ask_expert", input: {} });
  expect(messages.at(-1).content).toMatch(/still running|not done yet|continues/u);
});

test("a job that never ends is waited for a minute, and cancelled at the end of its conversation", async () => {
  const ports = fakePorts();
  let cancelled = 0;
  const watch: Tool = {
    name: "watch",
    description: "Watches for changes.",
    mode: "background",
    effects: { reads: [], writes: [] },
    inputSchema: { type: "object" },
    execute: (_input, { signal }) =>
      new Promise<string>((resolve) => signal.addEventListener("abort", () => (cancelled++, resolve("stopped")), { once: true })),
  };
  const messages = [
    { role: "user", content: "Go on." },
    { role: "assistant", calls: [{ name: "desk::watch", input: {} }] },
  ];
  const plan = { kind: "scripted", templates: readTemplates(JSON.stringify({ messages }), "calls") } as const;
  const runtime = createRuntime({ toolsets: [{ name: "desk", tools: [watch] }], ports });
  const began = ports.clock.now();
  const { lines } = await ports.clock.run(() => generated({ runtime, plan }));
  expect(JSON.parse(lines[0] ?? "").messages.at(-1).content).toMatch(/still running|not done yet|continues/u);
  expect([ports.clock.now() - began, cancelled]).toEqual([60_000, 1]);
});

test("results of jobs are found if the runtime no longer keeps the jobs that ended", async () => {
  const calls = ["flower", "b", "ox"].map((topic) => ({ name: "desk::order_report", input: { topic } }));
  const messages = [
    { role: "user", content: "Go on." },
    { role: "assistant", calls },
    { role: "assistant", calls: [{ name: "desk::get_report", input: { report_id: "$2.id" } }] },
  ];
  const plan = { kind: "scripted", templates: readTemplates(JSON.stringify({ messages }), "calls") } as const;
  const { lines } = await generated({ runtime: desk({ jobs: { keepEnded: 1 } }), plan });
  const line = JSON.parse(lines[0] ?? "");
  expect([line.error, line.messages.at(-2).output]).toEqual([undefined, { title: "Report R-1" }]);
});

test.each([1, 16])("the same seed generates the same lines with background calls, %d at a time", async (concurrency) => {
  const plan = { kind: "sampled", count: 20, calls: 4 } as const;
  const options = { plan, allow: { deny: ["desk::ask_expert", "desk::name_call"] }, concurrency };
  const { text, summary } = await generated({ ...options, runtime: desk() });
  expect(summary.statuses["pending"]).toBeGreaterThan(10);
  const other = await generated({ ...options, runtime: desk(), concurrency: 4 });
  expect(text === other.text).toBe(true); // no report of two long texts
  expect(text).not.toContain("couldn't order");
});

test("ids of calls in keys, values and errors are those of the line, and longer words that contain them are kept", async () => {
  const messages = await messagesOf({ name: "desk::name_call", input: {} }, { name: "desk::name_call", input: { fails: true } });
  expect(messages[1].output).toEqual({ call_1: ["call_1", expect.stringMatching(/^job:call_1, not _call_.{20,}$/u)] });
  expect(messages[3].error).toMatchObject({ message: "call_2 is closed.", hint: "Not call_2." });
});

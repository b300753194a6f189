/** `agUiHandler` with the client of AG-UI itself, over HTTP. */
import { HttpAgent } from "@ag-ui/client";
import { EventType, type BaseEvent, type Interrupt } from "@ag-ui/core";
import { afterEach, expect, test } from "vitest";
import { agUiHandler } from "../../src/adapters/ag-ui.ts";
import { createChain } from "haft/chain";
import { ToolError } from "../../src/core/error.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { gate, tool } from "../runtime/bench-runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { agUiClient } from "./chat-clients.ts";
import { chatWorld } from "./chat-world.ts";
import { serveChat } from "./chat-server.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function world(calls: readonly { readonly name: string; readonly input?: object }[]) {
  const { runtime, session, deleted } = chatWorld();
  closing.push(() => runtime.close());
  const handler = agUiHandler(runtime, {
    session,
    run: async (one) => {
      for (const call of calls) await one.execute({ ...call, input: { ...call.input } });
    },
  });
  const server = await serveChat(handler);
  closing.push(() => server.close());
  return { agent: new HttpAgent({ url: server.url, threadId: "thread" }), deleted, url: server.url, runtime };
}

async function events(agent: HttpAgent, parameters: Parameters<HttpAgent["runAgent"]>[0] = {}): Promise<readonly BaseEvent[]> {
  const seen: BaseEvent[] = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => void seen.push(event) });
  return seen;
}

test("issue 19.3 a run is streamed as AG-UI events that AG-UI's own client accepts", async () => {
  const { agent } = await world([{ name: "look" }]);
  const seen = await events(agent);
  expect(seen.map(({ type }) => type).filter((type) => type !== EventType.CUSTOM)).toEqual([
    "RUN_STARTED",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
    "RUN_FINISHED",
  ]);
  expect(agent.messages.map(({ role, content }) => [role, content])).toEqual([
    ["assistant", undefined],
    ["tool", '{"found":2}'],
  ]);
});

test.each([
  [true, ["a.txt"], "removed"],
  [false, [], "approval_denied"],
])("issue 19.3 a call that waits for approval is an interrupt, answered %s by the next run", async (approved, removed, said) => {
  const { agent, deleted } = await world([{ name: "look" }, { name: "remove", input: { path: "a.txt" } }]);
  const first = await events(agent);
  const end: unknown = first.at(-1);
  const { interrupts } = (end as { outcome: { interrupts: Interrupt[] } }).outcome;
  expect(interrupts.map(({ reason, metadata }) => [reason, metadata?.["input"]])).toEqual([["tool_approval", { path: "a.txt" }]]);
  expect(deleted).toEqual([]);
  const [interrupt] = interrupts;
  const second = await events(agent, { resume: [{ interruptId: interrupt?.id ?? "", status: "resolved", payload: { approved } }] });
  expect(second.map(({ type }) => type).filter((type) => type !== EventType.CUSTOM)).toEqual([
    "RUN_STARTED",
    "TOOL_CALL_RESULT",
    "RUN_FINISHED",
  ]);
  expect(deleted).toEqual(removed);
  expect(String(agent.messages.at(-1)?.content)).toContain(said);
});

test("issue 19.3 unknown interrupts and malformed requests are rejected, and a run beside a waiting one repeats its interrupts", async () => {
  const { agent, url } = await world([{ name: "remove", input: { path: "a.txt" } }]);
  await events(agent);
  const post = async (body: unknown) => {
    const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
    return [response.status, await response.text()] as const;
  };
  const [, unknown] = await post({ threadId: "thread", runId: "r2", resume: [{ interruptId: "nobody", status: "resolved" }] });
  expect(unknown).toContain('"type":"RUN_ERROR"');
  const [, beside] = await post({ threadId: "thread", runId: "r3" });
  expect(beside).toContain('"outcome":{"type":"interrupt","interrupts":[{"id":"approval_');
  expect((await post({ threadId: 1 }))[0]).toBe(400);
});

test("if one of several answers is to an unknown interrupt, none is applied", async () => {
  const { agent, url, deleted, runtime } = await world([{ name: "remove", input: { path: "a.txt" } }]);
  const { outcome } = (await events(agent)).at(-1) as unknown as { readonly outcome: { readonly interrupts: readonly Interrupt[] } };
  const resume = [outcome.interrupts[0]?.id, "nobody"].map((interruptId) => ({ interruptId, status: "resolved", payload: true }));
  await (await fetch(url, { method: "POST", body: JSON.stringify({ threadId: "thread", runId: "r2", resume }) })).text();
  expect([deleted, (await runtime.approvals.pending()).length]).toEqual([[], 1]);
});

test("a stream that its client closes ends at once, even without an event", async () => {
  const { runtime, session } = chatWorld();
  const waits = gate();
  closing.push(() => runtime.close());
  const handler = agUiHandler(runtime, { session, run: () => waits.promise });
  const body = JSON.stringify({ threadId: "quiet", runId: "r1" });
  const reader = (await handler(new Request("http://agent/", { method: "POST", body }))).body?.getReader();
  await reader?.read();
  const next = reader?.read();
  await reader?.cancel();
  expect(await next).toMatchObject({ done: true });
  waits.open();
});

test("an error of session that is not a ToolError is logged, and not sent to the client", async () => {
  const { log } = fakePorts();
  const { runtime } = chatWorld({ log });
  closing.push(() => runtime.close());
  const fails = () => {
    throw new Error("password hunter2");
  };
  const { events: seen, say } = agUiClient(agUiHandler(runtime, { session: fails, run: async () => {} }));
  await say(() => true);
  expect(seen.at(-1)).toMatchObject({ type: "RUN_ERROR", message: "The run failed.", code: "execution_failed" });
  expect(log.lines.map(({ message }) => message)).toEqual(["A run of a chat failed: password hunter2"]);
});

test("a client receives no state, no keys, and nothing of calls that are hidden from it", async () => {
  const keep = tool("keep", (_input, { state, progress }) => {
    state.update("token", () => "secret");
    progress({ message: "keeping" });
    return "kept";
  });
  const steps = createChain().addStep({ tool: "vault::keep", inputMapping: {}, outputKey: "seen" });
  const runtime = createRuntime({
    store: memoryStore(),
    toolsets: [{ name: "vault", tools: [keep] }],
    tools: [steps.toTool({ name: "tidy", description: "Tidies.", inputSchema: { type: "object" } })],
  });
  closing.push(() => runtime.close());
  const { say, events: sent } = agUiClient(
    agUiHandler(runtime, {
      session: (id) => runtime.session(id),
      run: async (session) => {
        for (const name of ["tidy", "vault::keep"]) await session.execute({ name, input: {} });
      },
    }),
  );
  await say(() => true);
  const customs = sent.flatMap((event) => (event.type === EventType.CUSTOM ? [event] : []));
  expect(JSON.stringify(customs)).not.toMatch(/secret|idempotencyKey/u);
  expect(JSON.stringify(customs).match(/keeping/gu)).toHaveLength(1);
});

test("session may refuse any request, even beside a run that waits for an answer", async () => {
  const { runtime, session } = chatWorld();
  closing.push(() => runtime.close());
  let isOpen = true;
  const handler = agUiHandler(runtime, {
    session: (id) => {
      if (!isOpen) throw new ToolError("permission_denied", "Not yours.");
      return session(id);
    },
    run: async (one) => one.execute({ name: "remove", input: { path: "a.txt" } }),
  });
  const said = async (runId: string): Promise<string> => {
    const body = JSON.stringify({ threadId: "thread", runId, messages: [] });
    return (await handler(new Request("http://agent/", { method: "POST", body }))).text();
  };
  expect(await said("r1")).toContain('"type":"interrupt"');
  isOpen = false;
  const refused = await said("r2");
  expect(refused).toContain('"message":"Not yours."');
  expect(refused).not.toContain("a.txt");
});

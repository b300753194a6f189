import { expect, onTestFinished, test } from "vitest";
import { defineTool } from "../../src/registry/define-tool.ts";
import { mcpApprover, type McpListenOptions } from "../../src/server/mcp.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { listening, openRuntime } from "./mcp-clients.ts";
import { rawSession } from "./mcp-raw-session.ts";
import { talk } from "./mcp-talking-tool.ts";

const burn = defineTool({ name: "burn", description: "", effects: { destructive: true, writes: ["x"] }, execute: () => "burnt" });

async function serving(options: Partial<McpListenOptions>) {
  const ended: (string | undefined)[] = [];
  const { runtime } = await openRuntime({
    tools: [burn],
    approval: { approve: mcpApprover },
    onEvent: (event) => void (event.type === "call-end" && ended.push(event.result.error?.code)),
  });
  const { url } = await listening(runtime, options);
  const session = await rawSession(url, "2025-11-25", { elicitation: {} });
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  /** Calls the tool, and resolves once the client is asked: to the response, and the id of the question. */
  const asked = async (id: number): Promise<readonly [Response, number]> => {
    const response = await session.post(
      { jsonrpc: "2.0", id, method: "tools/call", params: { name: "burn", arguments: {} } },
      leave.signal,
    );
    return await question(response);
  };
  const until = async (isThere: () => boolean): Promise<void> => {
    while (!isThere()) await new Promise((resolve) => setImmediate(resolve));
  };
  return { session, runtime, ended, asked, leave, until };
}

test("a call whose client disconnects during a question ends after suspendedTtlMs, and its session becomes idle (2025-11-25)", async () => {
  const clock = new FakeClock();
  const times = { suspendedTtlMs: 60_000, sessionIdleMs: 1_000_000 };
  const { session, runtime, ended, asked, leave, until } = await serving({ ports: { clock }, ...times });
  await asked(1);
  leave.abort();
  await clock.advance(59_999);
  expect(runtime.running.length).toBe(1);
  await clock.advance(1);
  await until(() => ended.length === 1);
  expect(ended).toEqual(["approval_required"]);
  await clock.advance(2_000_000);
  const status = async (): Promise<number> => (await session.post({ jsonrpc: "2.0", id: 2, method: "ping" })).status;
  expect(await status()).toBe(404);
});

test("a timely answer frees its place among maxSuspended; a question beyond that limit is not sent to the client (2025-11-25)", async () => {
  const { session, asked, ended, until } = await serving({ maxSuspended: 1 });
  const [first, question] = await asked(1);
  const refused = session.messages(session.post({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "burn", arguments: {} } }));
  expect(JSON.stringify(await refused)).toContain("approval_required");
  const answer = { jsonrpc: "2.0", id: question, result: { action: "accept", content: { allow: true } } };
  expect((await session.post(answer)).status).toBe(202);
  expect(await first.text()).toContain("burnt");
  await asked(3);
  await until(() => ended.length === 2);
  expect(ended).toEqual(["approval_required", undefined]);
});

test("a task keeps a question that its client did not answer in time, and asks it again at the next wait for its result", async () => {
  const clock = new FakeClock();
  const { runtime } = await openRuntime({ tools: [talk] });
  const { url } = await listening(runtime, { ports: { clock }, suspendedTtlMs: 60_000 });
  const { post, messages } = await rawSession(url, "2025-11-25", { elicitation: {} });
  const params = { name: "talk", arguments: {}, task: {} };
  const [begun] = await messages(post({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
  const { taskId } = Reflect.get(Object(Reflect.get(Object(begun), "result")), "task") as { readonly taskId: string };
  const wait = async (id: number): Promise<readonly [Response, number]> =>
    await question(await post({ jsonrpc: "2.0", id, method: "tasks/result", params: { taskId } }));

  const [first] = await wait(2);
  await clock.advance(60_000);
  expect(await first.text()).toContain("The client did not answer the question in time");

  const [second, asked] = await wait(3);
  await post({ jsonrpc: "2.0", id: asked, result: { action: "accept", content: { answer: "red" } } });
  expect(await second.text()).toContain(String.raw`You said \"red\".`);
});

/** A response once the client is asked on it, and the id of the question. */
async function question(response: Response): Promise<readonly [Response, number]> {
  const reader = response.clone().body?.getReader();
  let text = "";
  while (!text.includes("elicitation/create")) text += new TextDecoder().decode((await reader?.read())?.value);
  return [response, Number(/"id":(\d+)/u.exec(text)?.[1])];
}

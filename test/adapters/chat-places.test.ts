/** Which questions a chat is shown: those of its own calls, however long ago they began, and of no session that says that it is a part of it. */
import { expect, test } from "vitest";
import { ChatRuns, type RunUpdate } from "../../src/adapters/chat-runs.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { sessionWithin } from "../../src/runtime/session-within.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { tool } from "../runtime/bench-runtime.ts";
import { temporaryFile } from "../store/temporary-file.ts";

const approval = {
  approve: ({ signal }: { readonly signal: AbortSignal }) =>
    new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("withdrawn")))),
};
const pay = tool("pay", () => "paid", { effects: { writes: ["money"], destructive: true } });

async function lastNews(runs: ChatRuns, id: string): Promise<RunUpdate | undefined> {
  let last: RunUpdate | undefined;
  for await (const news of runs.follow(id)) last = news;
  return last;
}

test("a sub-agent's question is shown even if its session has had more events than are kept in memory", async () => {
  const boss = defineTool({
    name: "boss",
    description: "Has others work.",
    inputSchema: {},
    composite: true,
    async execute(_input, context) {
      const session = await sessionWithin(context);
      for (let at = 0; at < 8; at++) await session.execute({ name: "look", input: {} });
      await session.execute({ name: "pay", input: {} });
      await session.close();
      return "done";
    },
  });
  const tools = [boss, pay, tool("look", () => 1)];
  const runtime = createRuntime({ tools, approval, keepEvents: 5, store: sqliteStore({ path: temporaryFile() }) });
  const runs = new ChatRuns(runtime);
  const session = runtime.session("chat");
  runs.startRun("chat", session, () => session.execute({ name: "boss", input: {} }));
  expect(await lastNews(runs, "chat")).toMatchObject({ type: "approvals", questions: [{ toolName: "default::pay" }] });
  await runtime.close();
});

test("issue 19.5 E05 a snapshot that claims to be started by a chat's call does not make its questions appear in that chat", async () => {
  const gate = Promise.withResolvers<string>();
  const runtime = createRuntime({ tools: [pay, tool("hold", () => gate.promise)], approval });
  const runs = new ChatRuns(runtime);
  const session = runtime.session("chat");
  runs.startRun("chat", session, () => session.execute({ name: "hold", input: {} }));
  await expect.poll(() => runtime.running.length).toBe(1);
  const parentCall = { sessionId: "chat", callId: runtime.running[0]?.callId };
  const events = [{ type: "session-start", sessionId: "eve", at: 1, parentCall }];
  const from = { haft: "snapshot", version: 1, sessionId: "eve", at: 1, state: {}, engines: {}, events };
  const asked = runtime.session("eve", { from }).execute({ name: "pay", input: {} });
  await expect.poll(async () => (await runtime.approvals.pending()).length).toBe(1);
  expect(await runs.listQuestions("chat")).toEqual([]);
  gate.resolve("held");
  await runtime.close();
  await asked;
});

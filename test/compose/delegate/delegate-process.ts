/**
 * A process with one background job, kept in a file: `node delegate-process.ts <store> <tool> <task> [answer]`. It says `asked` when the question of a
 * call is stored, `looks` when a call runs that does not end, and `ended <state>` when the job has ended. With `answer` it allows each call itself.
 */
import { existsSync } from "node:fs";
import { createRuntime, pure, readOnly } from "../../../src/index.ts";
import type { RuntimeEvent } from "../../../src/core/event.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { delegateTool } from "../../../src/compose/delegate/delegate.ts";
import { partText } from "../../../src/core/result.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { storedEvents } from "../../../src/session/read-events.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";

const [path = "", toolName = "", task = "", answer = ""] = process.argv.slice(2);
const inputSchema = { type: "object", properties: { task: { type: "string" } } } as const;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const never = (): Promise<never> => new Promise(() => {});
const dies = (): Promise<never> => (process.kill(process.pid, "SIGKILL"), never());
const isFirst = !existsSync(path);

/** Calls the tools that its task names, and ends with their results. */
const model = scriptedModel(({ messages }) => {
  if (messages.some(({ role }) => role === "result")) return { text: "Done." };
  const text = messages
    .flatMap((message) =>
      message.role !== "user" ? [] : typeof message.content === "string" ? message.content : message.content.map(partText),
    )
    .join("");
  return { calls: text.split(" ").map((name) => ({ name: `default::${name}`, input: { task: "erase" } })) };
});

const composite = (name: string, execute: Tool["execute"]): Tool =>
  ({ name, description: "Works.", inputSchema, composite: true, mode: "background", execute }) as Tool; // with a handler
const tools: readonly Tool[] = [
  {
    name: "erase",
    description: "Erases.",
    inputSchema,
    effects: { writes: ["disk"], destructive: true, idempotent: true },
    execute: () => (task === "die" ? dies() : "erased"),
  },
  { name: "look", description: "Looks.", inputSchema, effects: readOnly("disk"), timeoutMs: 0, execute: () => (say("looks"), never()) },
  { name: "die", description: "Ends its process.", inputSchema, effects: pure, execute: dies },
  delegateTool({ name: "help", description: "Works for others.", model, mode: "background" }),
  delegateTool({ name: "chief", description: "Lets others work.", model, mode: "background" }),
  composite("chained", ({ task: given }, { execute }) => execute({ name: "help", input: { task: given } }, { background: false })),
  composite("hasty", async (_input, context) => {
    if (!isFirst) await dies();
    const session = await sessionWithin(context);
    return await session.execute({ name: "erase", input: {} });
  }),
];

const store = sqliteStore({ path });
const runtime = createRuntime({ store, tools, approval: { approve: "inbox" }, ports: { log: { debug() {}, warn() {} } } });
/** Says that a question is stored, and answers it. */
async function noticeStored({
  sessionId,
  callId,
  at,
  approvalId: id,
  digest,
}: RuntimeEvent & { readonly type: "approval-ask" }): Promise<void> {
  const isStored = async (): Promise<boolean> => {
    for await (const one of storedEvents(store, sessionId))
      if (one.type === "approval-ask" && one.callId === callId && one.at === at) return true;
    return false;
  };
  while (!(await isStored())) await new Promise((resolve) => setTimeout(resolve, 5));
  say("asked");
  if (answer === "answer") await runtime.approvals.answer({ id, digest, answer: "allow-once" });
}

runtime.subscribe((event) => {
  if (event.type === "approval-ask") void noticeStored(event);
});
const session = await runtime.resume("s", { create: true });
if (isFirst) await session.submit({ name: toolName, input: { task: task !== "die" ? task : toolName === "chief" ? "help" : "erase" } });
const [entry] = session.history;
const job = entry === undefined ? undefined : await runtime.jobs.wait(entry.callId).catch(() => undefined);
say(`ended ${job?.state ?? entry?.result?.error?.code ?? entry?.result?.status ?? "never"}`);
await runtime.close();

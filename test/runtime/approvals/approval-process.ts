/** A process that asks before it deletes: `ask` begins a session, `resume` takes it up, `within` has a call of it ask that a session of its own belongs to, and has its result before that session has; `simulate` and `alone` ask for no session that is kept. Prints a line for each event of an approval, and the result. */
import { appendFileSync } from "node:fs";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";

const [action = "", path = "", description = "Deletes a report."] = process.argv.slice(2);

const remove: Tool = {
  name: "remove",
  description,
  inputSchema: { type: "object", properties: { year: { type: "integer" } }, required: ["year"] },
  effects: { writes: ["reports"], destructive: true },
  execute: ({ year }) => {
    appendFileSync(`${path}.done`, `${String(year)}\n`);
    return `removed ${String(year)}`;
  },
};

const leaveRunning: Tool = {
  name: "leave_running",
  description: "Begins a session, and does not wait for what is called in it.",
  inputSchema: true,
  composite: true,
  async execute(_input, context) {
    const session = await sessionWithin(context);
    void session.execute(call);
    await isAsked.promise;
    return "left";
  },
};

const isAsked = Promise.withResolvers<void>();

const runtime = createRuntime({
  tools: [remove, leaveRunning],
  store: sqliteStore({ path }),
  approval: { approve: "inbox" },
  onEvent(event) {
    if (event.type === "approval-ask") isAsked.resolve();
    if (event.type === "approval-ask") say({ asked: event.approvalId, digest: event.digest });
    if (event.type === "approval-answer") say({ answered: event.status, by: event.by });
    if (event.type === "call-end") say({ ended: event.result.status, code: event.result.error?.code });
  },
});

function say(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const call = { name: "remove", input: { year: 2019 } };
if (action === "ask") await runtime.session("trip").execute(call);
else if (action === "within") {
  const session = runtime.session("trip");
  await session.execute({ name: "leave_running" });
  for (let count = 0; count < 20; count++) await session.addMessage({ role: "user", content: "Go on." });
  say({ sessions: runtime.sessions.list().map(({ id }) => id) });
  await new Promise(() => setTimeout(() => {}, 2 ** 30));
} else if (action === "simulate") await runtime.session("trip").simulate(call, { allowSideEffects: true });
else if (action === "alone") await runtime.execute(call);
else await runtime.resume("trip");
await runtime.close();

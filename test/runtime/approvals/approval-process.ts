/** A process that asks before it deletes: `ask` begins a session, `resume` takes it up, `simulate` and `alone` ask for no session that is kept. Prints a line for each event of an approval, and the result. */
import { appendFileSync } from "node:fs";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
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

const runtime = createRuntime({
  tools: [remove],
  store: sqliteStore({ path }),
  approval: { approve: "inbox" },
  onEvent(event) {
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
else if (action === "simulate") await runtime.session("trip").simulate(call, { allowSideEffects: true });
else if (action === "alone") await runtime.execute(call);
else await runtime.resume("trip");
await runtime.close();

/**
 * A process that runs background jobs on a SQLite store: `node job-process.ts <file> <jobs> <end>`. It takes up what an earlier one left,
 * begins jobs until there are so many, and says each that it began, as a line of JSON. With `end` it waits until all have ended. `SIGTERM` ends it in
 * order.
 */
import { appendFileSync } from "node:fs";
import { createRuntime, pure } from "../../../src/index.ts";
import { defineTool } from "../../../src/registry/define-tool.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";

const [path = "", wanted = "0", end = ""] = process.argv.slice(2);
const inputSchema = { type: "object", properties: {} } as const;
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

const look = defineTool({ name: "look", description: "Looks.", inputSchema, effects: pure, execute: () => pause().then(() => "seen") });
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  inputSchema,
  effects: { writes: ["money"], commutative: true },
  execute: async (_input: object, { callId }) => {
    await pause();
    appendFileSync(`${path}.paid`, `${callId}\n`);
    await pause();
    return "paid";
  },
});
const send = defineTool({
  name: "send",
  description: "Sends.",
  inputSchema,
  effects: { reads: [], writes: ["mail"], idempotent: true },
  execute: () => "sent",
});
const tools = [look, pay, send];

const runtime = createRuntime({ tools, store: sqliteStore({ path }), jobs: { maxRunning: 50, maxQueued: 10_000 } });
let isEnding = false;
process.once("SIGTERM", () => {
  isEnding = true;
  void runtime.close();
});
const session = await runtime.resume("drill", { create: true });
let begun = 0;
for await (const event of session.events()) if (event.type === "job-start") begun++;
process.stdout.write(`${JSON.stringify({ begun, taken: session.jobs.length })}\n`);
for (; begun < Number(wanted) && !isEnding; begun += 10) {
  const calls = Array.from({ length: 10 }, (_, n) => ({ name: tools[n % tools.length]?.name ?? "", input: {} }));
  const results = await session.execute(calls, { background: true }).catch((error: unknown) => {
    if (isEnding) return []; // nothing was acknowledged
    throw error;
  });
  for (const { callId } of results) process.stdout.write(`${JSON.stringify(callId)}\n`);
}
if (end === "end") {
  await Promise.all(session.jobs.map(({ id }) => runtime.jobs.wait(id)));
  await runtime.close();
}

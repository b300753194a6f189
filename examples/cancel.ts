/** Cancels a batch: calls that have not started never start, and a handler that passes its signal on stops at once. */
import { setTimeout as pause } from "node:timers/promises";
import { createRuntime, defineTool } from "haft";

const download = defineTool({
  name: "download",
  description: "Fetches a large file.",
  inputSchema: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
  effects: { reads: ["web"], external: true },
  execute: ({ url }, { signal }) => pause(60_000, `all of ${url}`, { signal }),
});

const controller = new AbortController();
const runtime = createRuntime({
  tools: [download],
  maxConcurrent: 1,
  onEvent: (event) => event.type === "call-attempt" && setImmediate(() => controller.abort()), // cancels as soon as a call has started
});
const results = await runtime.execute(
  [
    { name: "download", input: { url: "a.iso" } },
    { name: "download", input: { url: "b.iso" } },
  ],
  { signal: controller.signal },
);
for (const { status, attempts, error } of results) console.log(`${status}; attempts: ${attempts}; what it did: ${error?.outcome}`);
await runtime.close();

/* Prints:
cancelled; attempts: 1; what it did: unknown
cancelled; attempts: 0; what it did: not_started
*/

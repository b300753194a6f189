/** Toolsets: an engine that fails to open does not affect the others, one limit holds for all tools of a toolset, and one switch disables it. */
import { setTimeout as pause } from "node:timers/promises";
import { ToolError, createRuntime, defineTool, readOnly, resultText, type Toolset } from "haft";

let running = 0;
let most = 0;
const query = defineTool({
  name: "query",
  description: "Asks the database.",
  effects: readOnly(),
  async execute() {
    most = Math.max(most, ++running);
    await pause(2);
    running--;
    return "42 rows";
  },
});

const database: Toolset = { name: "database", tools: [query], maxConcurrent: 2, defaults: { timeoutMs: 5_000, maxAttempts: 2 } };
const broken: Toolset = {
  name: "archive",
  tools: [{ name: "search", description: "Searches the archive.", inputSchema: {} }],
  engine: {
    kind: "archive",
    open: () => Promise.reject(new ToolError("unavailable", "The archive is closed on Sundays.")),
    call: () => undefined,
  },
};

const runtime = createRuntime({ toolsets: [database, broken] });
const { failed } = await runtime.open();
for (const { toolset, error } of failed) console.log(`${toolset} did not open: ${error.message}`);

await runtime.execute(Array.from({ length: 6 }, () => ({ name: "database::query" })));
console.log("six queries, at a time:", most);
console.log(resultText(await runtime.execute({ name: "archive::search" })));

runtime.registry.setEnabled("database", false);
console.log(resultText(await runtime.execute({ name: "database::query" })));
await runtime.close();

/* Prints:
archive did not open: The archive is closed on Sundays.
six queries, at a time: 2
Error (unavailable): The toolset "archive" could not be opened: The archive is closed on Sundays.
Error (unavailable): The toolset "database" is disabled.
*/

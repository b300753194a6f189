/**
 * A process that calls `order` of an MCP server, as a background job of a stored session: `node task-client-process.ts <store> <url>`. It takes up
 * what an earlier one left, and begins a job only in a new session. It says the job's id, the server's id of its work once the store has that, and its end.
 */
import { createRuntime } from "../../../src/index.ts";
import { mcpToolset } from "../../../src/engine/mcp.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";

const [path = "", url = ""] = process.argv.slice(2);
const shop = mcpToolset("shop", { url, protocol: "legacy" });
const store = sqliteStore({ path });
const runtime = createRuntime({ toolsets: [shop], store, approval: { never: ["*"] } });
await runtime.open();
const session = await runtime.resume("s", { create: true });
const [job = await session.submit({ name: "order", input: {} })] = session.jobs;
process.stdout.write(`${JSON.stringify({ job: job.id })}\n`);
for (let remote; remote === undefined; await new Promise((resolve) => setTimeout(resolve, 10))) {
  remote = (await store.read("s")).events.find((event) => event.type === "call-remote");
  if (remote !== undefined) process.stdout.write(`${JSON.stringify({ remote: remote.remoteId })}\n`);
}
process.stdout.write(`${JSON.stringify({ end: await runtime.jobs.wait(job.id) })}\n`);
await runtime.close();

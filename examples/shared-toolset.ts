/** Two processes share one resource: the second waits for the first, and the service can detect a late write. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "haft";
import { sqliteStore } from "haft/sqlite";
import { z } from "zod";

/** A service that refuses a write with a fence lower than one it has seen. */
const service = { stock: 10, fence: 0 };

const take = defineTool({
  name: "take",
  description: "Takes one item from the stock.",
  inputSchema: z.object({}),
  effects: { writes: "stock:bolt" },
  async execute(_input, { fence = 0 }) {
    const before = service.stock;
    await new Promise((resolve) => setTimeout(resolve, 5)); // without the lock, another process would read the same stock here
    if (fence < service.fence) throw new Error("This process has lost its lease.");
    service.fence = fence;
    service.stock = before - 1;
    return service.stock;
  },
});

const folder = mkdtempSync(join(tmpdir(), "shared-"));
const toolset = { name: "shop", shared: true, tools: [take] };
const newProcess = () => createRuntime({ store: sqliteStore({ path: `${folder}/shop.db` }), toolsets: [toolset] });
const [one, other] = [newProcess(), newProcess()];
const results = await Promise.all([one, other].map((runtime) => runtime.execute({ name: "shop::take", input: {} })));

console.log(results.map(({ status }) => status).join(", "));
console.log(`left: ${service.stock}`);
assert.ok(service.fence > 0);
await one.close();
await other.close();
rmSync(folder, { recursive: true });

/* Prints:
ok, ok
left: 8
*/

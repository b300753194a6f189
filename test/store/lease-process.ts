/**
 * A process that changes a counter in a file under a lease: `node lease-process.ts <file or url of the store> <counter> <action> <count>`. It says "ready",
 * waits for a line on standard input, and prints a line of JSON for each thing done.
 *
 * The counter is `{ count, fence }`, and it is written as a service would that checks fences: one lower than the last it saw is refused.
 */
import { on } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createRuntime, defineTool } from "../../src/index.ts";
import { isPostgresUrl } from "../../src/store/postgres/postgres-settings.ts";
import { postgresStore } from "../../src/store/postgres-store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";

const [path = "", counter = "", action = "", times = "1"] = process.argv.slice(2);
const store = isPostgresUrl(path) ? postgresStore({ url: path, leaseMs: 1_000 }) : sqliteStore({ path });
const lines = on(process.stdin, "data");

function say(what: unknown): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

function read(): { readonly count: number; readonly fence: number } {
  return JSON.parse(readFileSync(counter, "utf8"));
}

const increment = defineTool({
  name: "increment",
  description: "Adds one to the counter.",
  inputSchema: { type: "object" },
  effects: { writes: "counter:main" },
  async execute(_input, { fence = 0 }) {
    const { count } = read();
    if (action === "hold") {
      say({ holding: fence });
      await lines.next();
    } else await new Promise((resolve) => setImmediate(resolve)); // lets others in, if they are not kept out
    if (fence < read().fence) throw new Error(`The fence ${fence} is older than ${read().fence}.`);
    writeFileSync(counter, JSON.stringify({ count: count + 1, fence }));
    return count + 1;
  },
});

const runtime = createRuntime({
  store,
  toolsets: [{ name: "counters", shared: true, tools: [increment], defaults: { timeoutMs: 0, deadlineMs: 120_000 } }],
});
await store.open();
say("ready");
await lines.next();
for (let done = 0; done < Number(times); done++) {
  const { status, error } = await runtime.execute({ name: "counters::increment", input: {} });
  say({ status, error: error?.message });
}
await runtime.close();
process.exit();

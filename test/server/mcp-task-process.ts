/**
 * A gateway whose sessions are kept in a file: `node mcp-task-process.ts <store> <port> <hold|go>`. It says its address as a line, and ends with its
 * input. Its tool reads, so it may be run again; `hold` keeps it from ending, unless it asks.
 */
import { createRuntime } from "../../src/index.ts";
import { readOnly } from "../../src/core/effects.ts";
import { listenMcp } from "../../src/server/mcp.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";

const [path = "", port = "0", way = "go"] = process.argv.slice(2);
const runtime = createRuntime({
  store: sqliteStore({ path }),
  tools: [
    {
      name: "read",
      description: "Reads.",
      inputSchema: { type: "object", properties: { asks: { type: "boolean" } } },
      effects: readOnly("disk"),
      mode: "background",
      execute: async ({ asks }, { ask, signal }) => {
        if (asks === true) return (await ask({ message: "Which one?", schema: { type: "object", properties: {} } })).action;
        if (way === "hold") await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        return "read";
      },
    },
  ],
});
await runtime.open();
const listener = await listenMcp(runtime, { port: Number(port), tasks: { pollIntervalMs: 5 } });
process.stdout.write(`${listener.url}\n`);
process.stdin.on("end", () => void listener.close().then(() => runtime.close()));
process.stdin.resume();

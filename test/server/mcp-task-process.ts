/**
 * A gateway whose sessions are kept in a file or a database: `node mcp-task-process.ts <store> <port> <hold|hang|go>`. It says its address as a line, and ends with its
 * input. Its tool reads, so it may be run again; `hold` keeps it from ending, unless it asks, and so does `hang`, which cannot be
 * cancelled: such a call is not noticed by the watch over claims.
 */
import { createRuntime } from "../../src/index.ts";
import { readOnly } from "../../src/core/resources/effects.ts";
import { listenMcp } from "../../src/server/mcp.ts";
import { postgresStore } from "../../src/store/postgres-store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";

const [path = "", port = "0", way = "go"] = process.argv.slice(2);
const runtime = createRuntime({
  store: path.startsWith("postgres:") ? postgresStore({ url: path, leaseMs: 2_000 }) : sqliteStore({ path }),
  tools: [
    {
      name: "read",
      description: "Reads.",
      inputSchema: { type: "object", properties: { asks: { type: "boolean" } } },
      effects: readOnly("disk"),
      mode: "background",
      execute: async ({ asks }, context) => {
        if (asks === true) return (await context.ask({ message: "Which one?", schema: { type: "object", properties: {} } })).action;
        if (way === "hang") await new Promise(() => {});
        if (way === "hold") {
          const { signal } = context;
          await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        }
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
